"""A channel, and what this side keeps for it."""

from mcp_runtime.connection.throttle import Gate
from mcp_runtime.connection.transport import Channel


class Line:
    """A channel, and what this side keeps for it.

    Attributes:
        channel: where messages leave.
        owner: the link that it is a line of.
        open: how many requests are open on it; not counted on the main line, which is kept anyway.
        unread: bytes of answers that left at once since it was last drained.
        is_deaf: whether nothing more is read from it until it is drained.
        logs: what log messages go through, None before the first.
    """

    __slots__ = ("channel", "is_deaf", "logs", "open", "owner", "unread")

    def __init__(self, channel: Channel, owner: object) -> None:
        self.channel = channel
        self.owner = owner
        self.open = 0
        self.unread = 0
        self.is_deaf = False
        self.logs: Gate[bytes] | None = None

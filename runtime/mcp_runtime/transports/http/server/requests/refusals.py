"""The refusals of requests that may succeed later: clients are asked for too much, or the server is shutting down."""

from mcp_runtime.transports.http.server.requests.asgi import Refusal


def not_now(reason: str, seconds: int, *, status: int = 503) -> Refusal:
    """Return the refusal of a request that may succeed later.

    Args:
        reason: why it is refused, for people; nothing secret.
        seconds: how long the client should wait before it tries again.
        status: the HTTP status.
    """
    return Refusal(status, reason, [(b"retry-after", b"%d" % seconds)])


def stopping() -> Refusal:
    """Return the refusal of a request to a server that is shutting down."""
    return not_now("the server is shutting down", 5)


def too_many_requests() -> Refusal:
    """Return the refusal of a POST beyond the limit."""
    return not_now("too many requests are open; try again later", 1)


def too_many_of_session() -> Refusal:
    """Return the refusal of a POST beyond the limit of its session."""
    return not_now("too many requests of this session are open; try again later", 1, status=429)


def too_many_sessions() -> Refusal:
    """Return the refusal of a session beyond the limit."""
    return not_now("there are too many sessions; try again later", 30)


def too_many_streams() -> Refusal:
    """Return the refusal of a stream beyond the limit."""
    return not_now("too many streams are open; try again later", 30)

"""Receivers without channels: `message_received(message)`. They are supported for one more release."""

import inspect
import warnings
from functools import lru_cache
from typing import Any, Final, cast

from mcp_runtime.connection.transport import Channel, Receiver, TransportError
from mcp_runtime.protocol.outcome import ACCEPTED, Outcome

_WITHOUT_CHANNEL: Final = len(("self", "message"))


def current_form(receiver: Receiver) -> Receiver:
    """Return a receiver that accepts channels: the same one, or a wrapper, with a warning."""
    if _takes_channel(type(receiver)):
        return receiver
    warnings.warn(
        f"{type(receiver).__name__} takes no channel, which the next release requires: define message_received(self, "
        "message, channel), message_refused(self, reason, channel) and channel_lost(self, channel, reason)",
        DeprecationWarning,
        stacklevel=3,
    )
    return _Older(receiver)


@lru_cache(maxsize=256)
def _takes_channel(type_: type[Any]) -> bool:
    return len(inspect.signature(type_.message_received).parameters) > _WITHOUT_CHANNEL


class _Older:
    """Wraps a receiver without channels, which has only one."""

    def __init__(self, receiver: Any) -> None:
        self._receiver = receiver

    def message_received(self, message: bytes, channel: Channel) -> Outcome:
        return cast("Outcome | None", self._receiver.message_received(message)) or ACCEPTED

    def message_refused(self, reason: str, channel: Channel) -> Outcome:
        return cast("Outcome | None", self._receiver.message_refused(reason)) or ACCEPTED

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:
        """Do nothing: the older interface has no channels that can be lost separately."""

    def connection_lost(self, reason: TransportError | None) -> None:
        self._receiver.connection_lost(reason)

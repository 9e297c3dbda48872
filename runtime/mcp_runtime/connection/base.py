"""What a connection knows of its peer and reports to the program, from the link that all its parts share."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp_runtime.binding import Binding, Wire
from mcp_runtime.connection.link import ErrorHook, Link
from mcp_runtime.connection.requester import Requester
from mcp_runtime.errors import McpError
from mcp_runtime.protocol.dispatch import Side


class KnowsPeer:
    """Has a requester: that of the handshake, in the legacy era."""

    link: Link

    @property
    def requester(self) -> Requester:
        """What is known of the peer: its revision, its capabilities."""
        return self.link.requester

    @property
    def revision(self) -> str:
        """The revision in use; empty until it is agreed on."""
        return self.link.revision

    @property
    def current(self) -> Requester:
        """The requester of the message being handled: in the modern era each request has one."""
        return self.link.requester_for()

    @property
    def binding(self) -> Binding | None:
        """The generated revision that this side is written against; None until it is agreed on."""
        return self.requester.binding

    @property
    def declared(self) -> Mapping[Side, Mapping[str, Any]]:
        """The capabilities of both sides, keyed by wire names."""
        return self.requester.declared

    @property
    def peer_info(self) -> Mapping[str, Any]:
        """The peer's name and version, keyed by wire names (``name``, ``version``, ...); empty until received."""
        return self.requester.info

    @property
    def instructions(self) -> str | None:
        """The server's instructions for use; None if it has none."""
        return self.requester.instructions

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry: none in the legacy era."""
        return self.requester.meta

    def bind(self, binding: Binding, stub: Any, context: Callable[..., Any], wire: Wire | None = None) -> None:
        """Use a revision, or another one over a bridge.

        Args:
            binding: the revision that this side is written against; handlers of any other are removed.
            stub: the peer, as handlers see it.
            context: builds the second argument of handlers from the stub, the id of a request, and its `Exchange`.
            wire: the bridge to the revision in use, or None.
        """
        if self.binding is not None and self.binding is not binding:
            for name in self.binding.methods:
                self.requester.answers.handlers.pop(name, None)
        self.link.bind(binding, wire)
        answers = self.link.requester.answers
        answers.stub, answers.context = stub, context

    def learn(self, own: Mapping[str, Any], peers: Mapping[str, Any], **known: Any) -> None:
        """Set the declared capabilities of both sides, and what else is known of the peer.

        Args:
            own: the capabilities of this side, keyed by wire names.
            peers: the capabilities of the peer.
            known: fields of its `Requester`.
        """
        self.link.requester = self.link.requester.declaring(own, peers, **known)

    def set_log_level(self, level: str) -> None:
        """Send only log messages of at least this level.

        Args:
            level: the RFC 5424 name of the level.
        """
        self.link.requester = self.link.requester._replace(log_level=level)

    @contextmanager
    def set_up_for(self, requester: Requester) -> Generator[None]:
        """Set up handlers and features for a requester other than that of the handshake, within this context.

        Args:
            requester: the requester.
        """
        kept, self.link.requester = self.link.requester, requester
        try:
            yield
        finally:
            self.link.requester = kept

    def on_error(self, hook: ErrorHook) -> None:
        """Register a hook for errors that do not end the conversation: violations, and values that were repaired.

        Args:
            hook: called with each error.
        """
        self.link.error_hooks.append(hook)

    def log_limited(self, level: int, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Write a line to the log, unless there were too many about this connection.

        Args:
            level: a level of Python's `logging`.
            text: the text, with ``%`` placeholders.
            args: the values of the placeholders.
            exc_info: an exception to log with its traceback.
        """
        self.link.log_limited(level, text, *args, exc_info=exc_info)

    def report_error(self, error: McpError) -> None:
        """Pass an error that does not end the conversation to the hooks, or to the log if there are none.

        Args:
            error: the error.
        """
        self.link.report(error)

"""A connection's methods for progress, errors, log lines, and its end."""

from abc import ABC
from collections.abc import Callable

from mcp_runtime.caller import Progress
from mcp_runtime.connection.conversation import CloseHook, Conversation
from mcp_runtime.connection.link import ErrorHook, Link
from mcp_runtime.connection.outbound import Outbound
from mcp_runtime.errors import McpError
from mcp_runtime.protocol.jsonrpc import Id, Key


class Hooks(ABC):
    """Reports progress to the peer, and what happens on a connection to the program."""

    _conversation: Conversation
    _link: Link
    outbound: Outbound

    def on_error(self, hook: ErrorHook) -> None:
        """Register a hook for errors that do not end the conversation: violations, and values that were repaired.

        Args:
            hook: called with each error.
        """
        self._link.error_hooks.append(hook)

    def on_close(self, hook: CloseHook) -> None:
        """Register a hook that is called once when the connection has ended.

        Args:
            hook: called with the reason.
        """
        self._conversation.on_close(hook)

    def before_close(self, hook: Callable[[], None]) -> None:
        """Register a hook that is called once before the connection ends, while messages can still be sent.

        Args:
            hook: the function to call.
        """
        self._conversation.before_close = hook

    async def report_progress(
        self, key: Key, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress on an open request of the peer; does nothing if it did not ask, or is answered.

        Progress that does not increase is dropped and logged.

        Args:
            key: the id of the request; a modern-era request has a key instead (`Exchange.key`).
            progress: how much is done so far.
            total: how much there is to do; None if unknown.
            message: a text to show; None if there is none.
        """
        line = self._conversation.reports.progress(key, progress, total, message)
        if line is not None:
            await line.channel.drain()

    def expect_progress(self, token: Id, listener: Progress) -> Callable[[], None]:
        """Listen to progress reports under a token that outlives its request, as that of a task does.

        Args:
            token: the progress token.
            listener: called with each report.

        Returns:
            A function that stops listening.
        """
        return self.outbound.expect_progress(token, listener)

    def complain(self, level: int, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Write a line to the log, unless there were too many about this connection.

        Args:
            level: a level of Python's `logging`.
            text: the text, with ``%`` placeholders.
            args: the values of the placeholders.
            exc_info: an exception to log with its traceback.
        """
        self._link.complain(level, text, *args, exc_info=exc_info)

    def report_error(self, error: McpError) -> None:
        """Pass an error that does not end the conversation to the hooks, or to the log if there are none.

        Args:
            error: the error.
        """
        self._link.report(error)

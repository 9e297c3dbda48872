"""What goes wrong with decorated functions: as they are defined, and as they run."""

from mcp_runtime.errors import McpError


class DefinitionError(McpError, TypeError):
    """A function cannot be a tool, a resource or a prompt.

    Args:
        where: its file and line.
        what: what it was to be: ``tool add``.
        reason: why it cannot be that, and what to do.
    """

    def __init__(self, where: str, what: str, reason: str) -> None:
        super().__init__(f"{where}: {what}: {reason}")
        self.where, self.what, self.reason = where, what, reason

    def __reduce__(self) -> tuple[type["DefinitionError"], tuple[str, str, str]]:
        return (type(self), (self.where, self.what, self.reason))


class ToolFailure(McpError):
    """A tool raises it to say that it failed, in words for the model: the client gets them as the tool's result.

    Any other exception is logged, and the client is told only that the tool failed.
    """

"""The handlers of our client in the interop tests: written once for four revisions, like our server."""

from typing import Any

from interop.peers import offer
from interop.peers.offer import Json
from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.stub import Handlers


class Host(Handlers):
    """The client's answers to its server."""

    models: Any
    """The package of the revision."""

    def __init__(self) -> None:
        self.asked: list[Json] = []

    async def create_message(self, params: Any, ctx: Any) -> Any:
        self.asked.append(params.model_dump(mode="json"))
        if getattr(params, "tools", None):  # since 2025-11-25
            turn = params.messages[-1].content
            return self._conclude(turn[0]) if isinstance(turn, list) else self._use_tool()
        words = params.messages[0].content.text
        if words == offer.FORBIDDEN:
            raise PeerError(offer.DENIED, "User rejected sampling request")
        return self.models.CreateMessageResult(
            role="assistant",
            content=self.models.TextContent(text=words.upper()),
            model="parrot",
            stop_reason="endTurn",
        )

    def _use_tool(self) -> Any:
        """Return the model's message that asks for a tool call."""
        use = self.models.ToolUseContent.model_validate(offer.TOOL_USE)
        return self.models.CreateMessageResult(role="assistant", content=[use], model="parrot", stop_reason="toolUse")

    def _conclude(self, result: Any) -> Any:
        """Return the model's message after a tool result."""
        words = self.models.TextContent(text=f"It is {result.content[0].text}.")
        return self.models.CreateMessageResult(role="assistant", content=words, model="parrot", stop_reason="endTurn")


class Host20241105(Host, v2024_11_05.ClientHandlers):
    """Answers in 2024-11-05."""

    models = v2024_11_05


class Host20250326(Host, v2025_03_26.ClientHandlers):
    """Answers in 2025-03-26."""

    models = v2025_03_26


class Asked(Host):
    """Also answers the requests that servers can send since 2025-06-18."""

    async def elicit(self, params: Any, ctx: Any) -> Any:
        self.asked.append(params.model_dump(mode="json"))
        return self.models.ElicitResult.model_validate(offer.ANSWERS[params.message])


class Host20250618(Asked, v2025_06_18.ClientHandlers):
    """Answers in 2025-06-18."""

    models = v2025_06_18


class Host20251125(Asked, v2025_11_25.ClientHandlers):
    """Answers in 2025-11-25."""

    models = v2025_11_25


HOSTS: dict[str, type[Host]] = {
    host.models.REVISION: host for host in (Host20241105, Host20250326, Host20250618, Host20251125)
}
"""The host of each revision."""

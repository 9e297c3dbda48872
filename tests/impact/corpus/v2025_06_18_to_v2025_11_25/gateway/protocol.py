"""The names of the protocol that the gateway uses, in one place."""

from typing import TypeAlias

from mcp_bindings import v2025_06_18
from mcp_bindings.v2025_06_18 import (
    METHODS,
    AudioContent,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CancelledNotificationParams,
    Client,
    ClientCapabilities,
    ClientContext,
    ClientHandlers,
    Context,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitResult,
    ImageContent,
    JSONRPCError,  # impact: definition-renamed
    JSONRPCResponse,  # impact: definition-name-reused, definition-renamed
    SamplingMessage,
    Server,
    TextContent,
    Tool,
)

Elicitation = v2025_06_18.ElicitRequestParams  # impact: definition-name-reused, definition-renamed
Answer: TypeAlias = JSONRPCResponse | JSONRPCError  # impact: definition-name-reused, definition-renamed
Spoken: TypeAlias = TextContent | ImageContent | AudioContent

__all__ = [
    "METHODS",
    "Answer",
    "CallToolRequest",
    "CallToolRequestParams",
    "CallToolResult",
    "CancelledNotificationParams",
    "Client",
    "ClientCapabilities",
    "ClientContext",
    "ClientHandlers",
    "Context",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "ElicitResult",
    "Elicitation",  # impact: definition-name-reused, definition-renamed
    "SamplingMessage",
    "Server",
    "Spoken",
    "TextContent",
    "Tool",
]

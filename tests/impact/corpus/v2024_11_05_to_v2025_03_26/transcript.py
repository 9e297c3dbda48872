"""Writes down what models and tools said."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never, cast

from mcp_bindings.v2024_11_05 import (
    BlobResourceContents,
    CallToolResult,
    Client,
    CreateMessageResult,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    JSONRPCMessage,  # impact: jsonrpc-message-form-added
    PromptMessage,
    ReadResourceResult,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

Block = TextContent | ImageContent | EmbeddedResource
Write = Callable[[str], None]


class Transcript:
    """Collects lines."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self.blocks: list[Block] = []

    def tool(self, result: CallToolResult) -> None:
        for i, block in enumerate(result.content):  # impact: union-member-added
            self.write(f"{i}: {describe(block)}")  # follows
        self.blocks += result.content  # impact: union-member-added
        self.blocks.extend(result.content)  # impact: union-member-added
        if result.is_error:
            self.write("that is an error")

    def prompt(self, prompt: GetPromptResult) -> None:
        for message in prompt.messages:
            self.message(message)

    def message(self, message: PromptMessage) -> None:
        self.write(f"{message.role}: {describe(message.content)}")  # impact: union-member-added

    def sampling(self, messages: Sequence[SamplingMessage], reply: CreateMessageResult) -> None:
        for said in (*messages, reply):
            match said.content:  # impact: union-member-added
                case TextContent(text=text):
                    self.write(text)
                case ImageContent(mime_type=kind, data=data):
                    self.write(f"{kind}, {len(data)} characters")

    def resource(self, result: ReadResourceResult) -> None:
        for contents in result.contents:
            match contents:
                case TextResourceContents(text=text, uri=uri) if uri:
                    self.write(text)
                case BlobResourceContents() as blob:
                    self.write(blob.blob)
                case _:
                    self.write("?")

    def texts(self) -> list[str]:
        return [block.text for block in self.blocks if isinstance(block, TextContent)]


def describe(block: Block) -> str:
    match block:
        case TextContent() as text:
            return text.text
        case ImageContent(mime_type=kind):
            return f"an image ({kind})"
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource(resource=resource):
            return resource.uri
        case _:
            assert_never(block)


def first_text(messages: Iterable[PromptMessage]) -> str:
    contents = (message.content for message in messages)  # impact: union-member-added
    return next((c.text for c in contents if isinstance(c, TextContent)), "")


async def run(client: Client) -> None:
    transcript = Transcript(print)
    if (result := await client.call_tool(name="x")).content:  # impact: union-member-added
        transcript.tool(result)
    prompt = await client.get_prompt(name="greeting")
    transcript.prompt(prompt)
    last = prompt.messages[-1].content  # impact: union-member-added
    print(last.type, prompt.description)
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    print([tool.input_schema.required for tool in tools.values()])
    content = cast(Any, result).content
    print(content)


def from_wire(text: str) -> CallToolResult:
    result = CallToolResult.model_validate_json(text)
    copied = result.model_copy(update={"is_error": False})
    return copied if len(copied.content) else result  # impact: union-member-added


def forward(message: JSONRPCMessage) -> JSONRPCMessage:  # impact: jsonrpc-message-form-added
    return message

"""The side that the server sees: a client that passes on what it is asked."""

from collections.abc import Iterator

from .protocol import (
    ClientCapabilities,
    ClientContext,
    ClientHandlers,
    CreateMessageRequestParams,
    CreateMessageResult,
    Elicitation,  # impact: definition-name-reused, definition-renamed
    ElicitResult,
    SamplingMessage,
    Spoken,
    TextContent,
)

CAPABILITIES = ClientCapabilities(
    sampling={},  # impact: object-declared
    elicitation={},  # impact: object-declared
    experimental={"trace": {}},
)


class Back(ClientHandlers):
    async def create_message(self, params: CreateMessageRequestParams, ctx: ClientContext) -> CreateMessageResult:
        words = " ".join(spoken(params.messages))
        for message in params.messages:
            if isinstance(message.content, TextContent):  # impact: union-member-added
                words += message.content.text  # impact: union-member-added
        answer = CreateMessageResult(role="assistant", model="echo", content=TextContent(text=words))
        print(answer.model, answer.stop_reason)
        return answer

    async def elicit(  # impact: union-member-added
        self,
        params: Elicitation,  # impact: definition-name-reused, definition-renamed
        ctx: ClientContext,
    ) -> ElicitResult:
        wanted = params.requested_schema  # follows
        print(params.message, wanted.required)
        for name, schema in wanted.properties.items():  # impact: union-member-added
            print(name, schema.title)
        return ElicitResult(action="accept", content={"name": "x"})


def spoken(messages: list[SamplingMessage]) -> Iterator[str]:
    for message in messages:
        content: Spoken = message.content  # impact: union-member-added
        match content:
            case TextContent(text=text):
                yield text
            case _:
                yield "..."


def roles(messages: list[SamplingMessage]) -> set[str]:
    return {message.role for message in messages if message.role != "assistant"}

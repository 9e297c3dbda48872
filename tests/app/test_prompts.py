"""Functions as prompts, and completions of their arguments and of the variables of templates."""

import asyncio
from typing import Any, Literal

import pytest

from mcp_bindings import v2024_11_05 as first
from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.app import DefinitionError
from mcp_runtime.core.errors import PeerError
from mcp_runtime.memory import connect_memory
from support.apps import opened


async def messages_of(server: mcp.App, name: str, **arguments: str) -> list[tuple[str, Any]]:
    async with opened(server) as client:
        messages = (await client.get_prompt(name=name, arguments=arguments)).messages
        return [(message.role, message.content.model_dump(mode="json")) for message in messages]


def text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def review_app() -> mcp.App:
    app = mcp.App("test")

    @app.prompt(title="Review")
    async def review(code: str, style: Literal["strict", "kind"] = "kind", lines: int = 10) -> str:
        """Review some code.

        Args:
            code: What to review.
        """
        return f"{style} {lines + 1}: {code}"

    return app


def test_a_signature_becomes_the_arguments() -> None:
    async def main() -> None:
        async with opened(review_app()) as client:
            [prompt] = (await client.list_prompts()).prompts
            assert prompt.model_dump(mode="json") == {
                "name": "review",
                "title": "Review",
                "description": "Review some code.",
                "arguments": [
                    {"name": "code", "description": "What to review.", "required": True},
                    {"name": "style"},
                    {"name": "lines"},
                ],
            }

    asyncio.run(main())


def test_arguments_are_converted_from_strings() -> None:
    assert asyncio.run(messages_of(review_app(), "review", code="x", lines="4")) == [("user", text("kind 5: x"))]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "invalid arguments for review: code: missing"),
        ({"code": "x", "style": "rude"}, "style: it should be 'strict' or 'kind', not \"rude\""),
        ({"code": "x", "lines": "many"}, "lines: it should be a valid integer"),
        ({"code": "x", "stile": "kind"}, "stile: no such argument; did you mean style?"),
    ],
)
def test_invalid_arguments_are_protocol_errors(arguments: dict[str, str], expected: str) -> None:
    with pytest.raises(PeerError) as caught:
        asyncio.run(messages_of(review_app(), "review", **arguments))
    assert caught.value.code == -32602 and expected in caught.value.message


def test_an_unknown_prompt_is_a_protocol_error() -> None:
    with pytest.raises(PeerError, match="there is no prompt nothing") as caught:
        asyncio.run(messages_of(review_app(), "nothing"))
    assert caught.value.code == -32602


def test_a_prompt_may_mix_messages_blocks_and_texts() -> None:
    app = mcp.App("test")
    image = mcp.ImageContent(data="AAAA", mime_type="image/png")

    @app.prompt()
    def talk() -> list[str | mcp.PromptMessage | mcp.ImageContent]:
        reply = mcp.PromptMessage(role="assistant", content=mcp.TextContent(text="Hello."))
        return ["Look:", image, reply]

    @app.prompt()
    def whole() -> mcp.GetPromptResult:
        return mcp.GetPromptResult(messages=[], description="Nothing.")

    roles = asyncio.run(messages_of(app, "talk"))
    assert [(role, content["type"]) for role, content in roles] == [
        ("user", "text"),
        ("user", "image"),
        ("assistant", "text"),
    ]
    assert asyncio.run(messages_of(app, "whole")) == []


def test_prompts_can_be_removed_but_not_defined_twice() -> None:
    app = review_app()
    assert app.remove_prompt("review") and not app.remove_prompt("review")
    with pytest.raises(DefinitionError, match="already defined"):
        app.prompt("one")(lambda: "x")
        app.prompt("one")(lambda: "x")


class TestCompletions:
    async def complete(self, app: mcp.App, ref: Any, name: str, value: str, **others: str) -> mcp.CompleteResult:
        async with opened(app) as client:
            argument = mcp.CompleteRequestParamsArgument(name=name, value=value)
            context = mcp.CompleteRequestParamsContext(arguments=others) if others else None
            return await client.complete(ref=ref, argument=argument, context=context)

    def test_an_argument_of_a_prompt_is_completed(self) -> None:
        app = review_app()

        @app.completion("style", prompt="review")
        def styles(value: str, others: dict[str, str]) -> list[str]:
            return [f"{style} {others.get('code', '')}" for style in ("strict", "kind") if style.startswith(value)]

        found = asyncio.run(self.complete(app, mcp.PromptReference(name="review"), "style", "st", code="x"))
        assert found.completion.model_dump(mode="json") == {"values": ["strict x"], "total": 1, "hasMore": False}
        empty = asyncio.run(self.complete(app, mcp.PromptReference(name="review"), "code", "st"))
        assert empty.completion.values == []
        with pytest.raises(PeerError, match="there is no prompt other"):
            asyncio.run(self.complete(app, mcp.PromptReference(name="other"), "code", ""))

    def test_at_most_a_hundred_values_are_sent(self) -> None:
        app = mcp.App("test")

        @app.resource("acme://loaf/{number}")
        def loaf(number: int) -> str:
            return str(number)

        @app.completion("number", resource="acme://loaf/{number}")
        async def numbers(value: str, ctx: mcp.Context) -> list[str]:
            assert ctx.request_id is not None
            return [str(number) for number in range(250) if str(number).startswith(value)]

        ref = mcp.ResourceTemplateReference(uri="acme://loaf/{number}")
        found = asyncio.run(self.complete(app, ref, "number", "")).completion
        assert (len(found.values), found.total, found.has_more) == (100, 250, True)
        assert asyncio.run(self.complete(app, ref, "number", "24")).completion.total == 11

    def test_the_first_revision_has_completions_too(self) -> None:
        app = first.App("test")
        app.prompt("one")(review_app)

        @app.prompt()
        def two(word: str) -> str:
            return word

        @app.completion("word", prompt="two")
        def words(value: str) -> list[str]:
            return [value * 2]

        async def main() -> None:
            async with connect_memory(app) as peer:
                client = await first.Client.open(peer)
                argument = first.CompleteRequestParamsArgument(name="word", value="a")
                found = await client.complete(ref=first.PromptReference(name="two"), argument=argument)
                assert found.completion.values == ["aa"]

        asyncio.run(main())

    def test_invalid_completions_are_refused_at_definition(self) -> None:
        app = review_app()
        for arguments in ({"prompt": "other"}, {"prompt": "review"}, {"resource": "acme://x"}, {}):
            with pytest.raises(TypeError):
                app.completion("nothing", **arguments)

        def three(a: str, b: dict[str, str], c: str) -> list[str]:
            return [a, c, *b]

        with pytest.raises(DefinitionError, match="it must take the partial value"):
            app.completion("code", prompt="review")(three)

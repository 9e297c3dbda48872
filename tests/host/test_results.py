"""Results of calls as models read them: nothing that a tool returned is lost, and no base64 is written as text."""

import base64
import json
import random
from typing import Any, Final

import pytest

from host.serving import InMemory
from mcp_bindings import Client, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.host import Host, HostResult, allow_all
from support.lists import Raw

PNG: Final = base64.b64encode(b"\x89PNG" * 20).decode()
MODERN: Final = {"resultType": "complete"}


async def called(result: dict[str, Any], package: Any = v2025_06_18, client: Any = Client) -> HostResult:
    """Return what a host makes of a result that a server sends as it is."""

    class Server(package.Server):  # type: ignore[misc]
        options = ServerOptions(revisions="own")

        async def list_tools(self, params: Any, ctx: Any) -> Any:
            page = {"ttlMs": 0, "cacheScope": "private", **MODERN} if package is v2026_07_28 else {}
            return Raw({"tools": [{"name": "t", "inputSchema": {"type": "object"}}], **page})

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return Raw({**result, **(MODERN if package is v2026_07_28 else {})})

    async with Host([InMemory(name="s", command=("x",), make=Server)], client, policy=allow_all) as host:
        return await host.view().call("s__t", {})


def texts(result: HostResult) -> list[str]:
    """Return the whole answer for each provider, as JSON."""
    answers = [
        result.for_openai("c"),
        result.for_openai("c", api="chat"),
        result.for_anthropic("c"),
        result.for_gemini(),
    ]
    return [result.text(), *(json.dumps(answer, ensure_ascii=False) for answer in answers)]


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": ""}], [{"type": "text", "text": " \n"}] * 2])
@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("package", [v2025_06_18, v2025_11_25, v2026_07_28], ids=lambda package: package.REVISION)
async def test_structured_content_alone_is_the_text(content: list[Any], is_error: bool, package: Any) -> None:
    for value in ({"answer": 42}, {"é": [None, 1.5]}, {}):
        sent = {"content": content, "structuredContent": value, "isError": is_error}
        for client in (Client, v2025_06_18.Client, v2025_11_25.Client):
            found = await called(sent, package, client)
            assert json.loads(found.text()) == value
            assert found.is_error is is_error
            assert "42" in found.text() or "answer" not in value


@pytest.mark.parametrize("value", [42, "x", [1, "a"], True, 0, "", None])
async def test_structured_content_of_any_type_is_the_text(value: Any) -> None:
    found = await called({"content": [], "structuredContent": value}, v2026_07_28)
    assert json.loads(found.text()) == value


@pytest.mark.parametrize("package", [v2025_06_18, v2026_07_28], ids=lambda package: package.REVISION)
async def test_a_result_without_anything_is_empty(package: Any) -> None:
    assert (await called({"content": []}, package)).text() == ""


async def test_text_of_the_tool_stays_beside_structured_content() -> None:
    found = await called({"content": [{"type": "text", "text": "hi"}], "structuredContent": {"answer": 42}})
    assert found.text() == "hi"


LINK: Final = {
    "type": "resource_link",
    "uri": "r://q/3",
    "name": "q3",
    "title": "Quarterly",
    "description": "Revenue by region",
    "mimeType": "application/pdf",
    "size": 9,
}


@pytest.mark.parametrize("left_out", ["title", "description", "mimeType", "size", "none"])
async def test_a_link_keeps_its_words(left_out: str) -> None:
    link = {name: value for name, value in LINK.items() if name != left_out}
    for text in texts(await called({"content": [link]})):
        for name, value in link.items():
            assert name == "type" or str(value) in text
    assert (await called({"content": [LINK]})).text() == (
        "[resource link: q3 r://q/3 (Quarterly; Revenue by region; application/pdf; 9 bytes)]"
    )


def embedded(media_type: str | None, data: str) -> dict[str, Any]:
    named = {} if media_type is None else {"mimeType": media_type}
    return {"type": "resource", "resource": {"uri": "f://x", "blob": data, **named}}


async def test_images_are_images_where_a_provider_takes_them() -> None:
    for block in ({"type": "image", "data": PNG, "mimeType": "IMAGE/png"}, embedded("image/png", PNG)):
        found = await called({"content": [{"type": "text", "text": "see"}, block]})
        source = {"type": "base64", "media_type": "image/png", "data": PNG}
        assert found.for_anthropic("c")["content"][1] == {"type": "image", "source": source}
        assert found.for_openai("c")["output"] == [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
        ]
        answer = found.for_gemini()["functionResponse"]
        assert answer["response"] == {"output": "see"}
        assert answer["parts"] == [{"inlineData": {"mimeType": "image/png", "data": PNG}}]
        assert "parts" not in found.for_gemini(images=False)["functionResponse"]


NO_IMAGES: Final = (
    {"type": "image", "data": PNG, "mimeType": "image/svg+xml"},
    {"type": "image", "data": f"!{PNG}", "mimeType": "image/png"},
    {"type": "image", "data": PNG + PNG[:5], "mimeType": "image/png"},
    {"type": "audio", "data": PNG, "mimeType": "audio/wav"},
    embedded("application/pdf", PNG),
    embedded("image/tiff", PNG),
    embedded(None, PNG),
)


@pytest.mark.parametrize("block", NO_IMAGES)
async def test_what_is_not_an_image_is_described_without_its_base64(block: dict[str, Any]) -> None:
    for text in texts(await called({"content": [block]})):
        assert PNG not in text
        assert "characters of base64" in text


async def test_an_image_over_the_limit_is_described() -> None:
    found = await called({"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}] * 2})
    answer = found.for_anthropic("c", limit=len(PNG) + 10)["content"]
    assert [block["type"] for block in answer] == ["image", "text"]


@pytest.mark.parametrize(
    "content", [[{"type": "text", "text": "w" * 150_000}], [{"type": "text", "text": "w" * 60_000}] * 3]
)
async def test_a_model_gets_at_most_100_000_characters_unless_its_program_says_otherwise(content: list[Any]) -> None:
    found = await called({"content": content})
    assert [text.count("w") for text in texts(found)] == pytest.approx([100_000] * 5, abs=2)
    assert found.text(limit=1_000_000).count("w") == sum(len(block["text"]) for block in content)


async def test_any_mixture_of_blocks_reaches_each_provider() -> None:
    dice = random.Random(59)
    blocks = [{"type": "text", "text": "words"}, LINK, embedded("image/png", PNG), *NO_IMAGES]
    for _ in range(12):
        chosen = dice.choices(blocks, k=dice.randint(1, 5))
        found = await called({"content": chosen}, dice.choice((v2025_06_18, v2025_11_25)))
        assert len(found.for_anthropic("c")["content"]) == len(chosen)
        described = (
            found.text(),
            found.for_openai("c", api="chat")["content"],
            json.dumps(found.for_gemini(images=False)),
        )
        assert all(PNG not in text for text in described)

"""Images, audio and messages as authors write them."""

import base64
import logging
from pathlib import Path
from types import GenericAlias
from typing import Any

import pytest

from mcp_bindings import AssistantMessage, Audio, Image, UserMessage, testing, v2024_11_05, v2025_11_25, v2026_07_28

VERSIONS = (v2025_11_25, v2026_07_28)
PNG = b"\x89PNG\r\n\x1a\n...."
FORMATS = [
    (Image, PNG, "image/png"),
    (Image, b"\xff\xd8\xff\xe0....", "image/jpeg"),
    (Image, b"GIF89a....", "image/gif"),
    (Image, b"RIFF\x04\x00\x00\x00WEBPVP8 ", "image/webp"),
    (Audio, b"RIFF\x04\x00\x00\x00WAVEfmt ", "audio/wav"),
    (Audio, b"ID3....", "audio/mpeg"),
    (Audio, b"\xff\xfb\x90....", "audio/mpeg"),
    (Audio, b"OggS....", "audio/ogg"),
    (Audio, b"fLaC....", "audio/flac"),
]


@pytest.mark.parametrize("how", ["bytes", "path", "string"])
@pytest.mark.parametrize("given", FORMATS, ids=lambda given: given[2])
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)
async def test_a_tool_returns_a_picture_or_a_sound(
    version: Any, given: tuple[type[Image | Audio], bytes, str], how: str, tmp_path: Path
) -> None:
    kind, data, mime_type = given
    file = tmp_path / "unnamed"
    file.write_bytes(data)
    source: Any = {"bytes": data, "path": file, "string": str(file)}[how]
    app = version.App("x")

    def one() -> Any:
        return kind(source)

    def several() -> Any:
        return ["before", kind(source)]

    one.__annotations__["return"] = kind
    several.__annotations__["return"] = GenericAlias(list, (str | kind,))
    for function in (one, several):
        app.add_tool(function, description="d")
    app.resource("media://one")(one)
    async with testing.connect(app) as client:
        for name in ("one", "several"):
            *_, block = (await client.call_tool(name)).content
            assert (block.type, block.bytes, block.mime_type) == (kind.kind, data, mime_type)
        assert [tool.output_schema for tool in (await client.list_tools()).tools] == [None, None]
        [content] = (await client.read_resource("media://one")).contents
        assert (content.mime_type, base64.b64decode(content.blob)) == (mime_type, data)


def test_the_name_of_a_file_tells_other_formats(tmp_path: Path) -> None:
    file = tmp_path / "drawing.svg"
    file.write_text("<svg/>", "utf-8")
    assert Image(file).mime_type == "image/svg+xml"
    assert Image(b"<svg/>", mime_type="image/svg+xml").data == b"<svg/>"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Image(b"text"), r"Image: the bytes have no known format; pass mime_type='image/\.\.\.'"),
        (lambda: Image(b""), "have no known format"),
        (lambda: Image(b"OggS"), "Image: the bytes are audio/ogg; pass"),
        (lambda: Audio(PNG), "Audio: the bytes are image/png; pass"),
        (lambda: Audio(PNG, mime_type="image/png"), "Audio: the bytes are image/png; pass"),
    ],
)
def test_an_unknown_format_needs_its_media_type(make: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make()


async def test_a_revision_without_sounds_gets_none(caplog: pytest.LogCaptureFixture) -> None:
    app = v2024_11_05.App("x")
    app.add_tool(lambda: Audio(b"OggS"), name="say", description="d")
    async with testing.connect(app) as client:
        assert (await client.call_tool("say")).is_error
    assert "audio" in caplog.text and caplog.records[0].levelno == logging.ERROR


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)
async def test_a_prompt_returns_messages_of_both(version: Any) -> None:
    app = version.App("x")

    @app.prompt()  # type: ignore[untyped-decorator]
    def review() -> Any:
        asked = [UserMessage("Look."), UserMessage(Image(PNG)), UserMessage(version.TextContent(text="there"))]
        return [*asked, AssistantMessage("I see."), "And now?"]

    async with testing.connect(app) as client:
        messages = (await client.get_prompt("review")).messages
    assert [(message.role, message.content.type) for message in messages] == [
        *(("user", "text"), ("user", "image"), ("user", "text"), ("assistant", "text"), ("user", "text"))
    ]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.REVISION)
async def test_a_function_is_added_as_a_tool_without_a_decorator(version: Any) -> None:
    app = version.App("x")

    class Store:
        def price(self, item: str) -> int:
            """Look up a price."""
            return len(item)

    app.add_tool(Store().price)
    app.add_tool(Store().price, name="cost", description="The same.")
    async with testing.connect(app) as client:
        tools = (await client.list_tools()).tools
        assert [(tool.name, tool.description) for tool in tools] == [
            ("price", "Look up a price."),
            ("cost", "The same."),
        ]
        assert (await client.call_tool("cost", {"item": "tea"})).content[0].text == "3"

"""Folders as resources: which files are sent, and which are not."""

import os
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime import testing
from mcp_runtime.core.errors import PeerError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "guides" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "guides" / "start.md").write_text("# Start\n", "utf-8")
    (root / "guides" / "what is it?.txt").write_text("it", "utf-8")
    (root / "a.json").write_text("{}", "utf-8")
    (root / "odd").write_bytes(b"\xff\x00")
    (root / "plain").write_text("text", "utf-8")
    (root / "i.png").write_bytes(b"\x89PNG")
    (root / "big.txt").write_text("x" * 101, "utf-8")
    (root / ".env").write_text("SECRET=1", "utf-8")
    (root / ".git" / "config").write_text("x", "utf-8")
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (root / "out").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "a.json")
    (root / "hidden").symlink_to(root / ".env")
    os.mkfifo(root / "pipe")
    return root


def app_with(folder: Path, **options: Any) -> mcp.App:
    app = mcp.App("test")
    app.files("docs", root=folder, max_bytes=100, **options)
    return app


async def read(app: mcp.App, uri: str) -> Any:
    async with testing.connect(app) as client:
        [item] = (await client.read_resource(uri=uri)).contents
        return item


@pytest.mark.parametrize(
    ("path", "mime_type", "expected"),
    [
        ("guides/start.md", "text/markdown", "# Start\n"),
        ("guides/what%20is%20it%3F.txt", "text/plain", "it"),
        ("a.json", "application/json", "{}"),
        ("in", "application/json", "{}"),
        ("plain", "text/plain", "text"),
        ("odd", "application/octet-stream", b"\xff\x00"),
        ("i.png", "image/png", b"\x89PNG"),
    ],
)
async def test_a_file_is_sent_as_text_or_bytes(folder: Path, path: str, mime_type: str, expected: Any) -> None:
    item = await read(app_with(folder), f"docs:///{path}")
    assert item.mime_type == mime_type
    assert (item.text if isinstance(item, mcp.TextResourceContents) else item.bytes) == expected


async def test_a_folder_lists_what_is_in_it(folder: Path) -> None:
    names = ["a.json", "big.txt", "guides/", "hidden", "i.png", "in", "odd", "out", "pipe", "plain", "up/"]
    item = await read(app_with(folder), "docs:///")
    assert (item.mime_type, item.text.split()) == ("inode/directory", names)
    assert (await read(app_with(folder), "docs:///guides")).text == "deep/\nstart.md\nwhat is it?.txt\n"
    assert ".env" in (await read(app_with(folder, hidden=True), "docs:///")).text


@pytest.mark.parametrize("number", [10_000, 10_001, 10_100])
async def test_at_most_ten_thousand_names_of_a_folder_are_listed(tmp_path: Path, number: int) -> None:
    for each in range(number):
        os.symlink("/dev/null", tmp_path / f"{each}")
    assert len((await read(app_with(tmp_path), "docs:///")).text.split()) == 10_000


@pytest.mark.parametrize(
    "path",
    [
        "nothing",
        "out",
        "up/secret.txt",
        "../secret.txt",
        "guides/../../secret.txt",
        "guides/%2e%2e/%2e%2e/secret.txt",
        "guides%2fstart.md",
        "..%5csecret.txt",
        "/etc/passwd",
        "file:///etc/passwd",
        "c:/windows",
        ".env",
        ".git/config",
        "hidden",
        "pipe",
        "a.json/x",
        "x" * 300,
        "a.json%00",
    ],
)
async def test_hidden_files_and_files_outside_the_folder_are_not_found(folder: Path, path: str) -> None:
    with pytest.raises(PeerError) as caught:
        await read(app_with(folder), f"docs:///{path}")
    assert caught.value.code == -32002
    assert str(folder) not in str(caught.value) and "SECRET" not in str(caught.value)


@pytest.mark.parametrize("path", ["guides/start.md", "guides", "plain"])
async def test_a_path_that_changes_before_it_is_opened_is_not_found(
    folder: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of it is replaced with a link that leads outside, after the path was checked."""
    app = app_with(folder)
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "start.md").write_text("secret", "utf-8")
    swapped, plainly_open = folder / path.partition("/")[0], os.open

    def open_later(*args: Any, **options: Any) -> int:
        if not swapped.is_symlink():
            swapped.rename(folder.parent / "moved")
            swapped.symlink_to(outside if "guides" in path else folder.parent / "secret.txt")
        return plainly_open(*args, **options)

    monkeypatch.setattr(os, "open", open_later)
    with pytest.raises(PeerError) as caught:
        await read(app, f"docs:///{path}")
    assert swapped.is_symlink() and caught.value.code == -32002


async def test_a_link_to_itself_is_left_out(folder: Path) -> None:
    (folder / "guides" / "loop").symlink_to("loop")
    assert (await read(app_with(folder), "docs:///guides")).text == "deep/\nstart.md\nwhat is it?.txt\n"
    with pytest.raises(PeerError):
        await read(app_with(folder), "docs:///guides/loop")


async def test_a_large_file_is_refused(folder: Path) -> None:
    with pytest.raises(PeerError, match="more than 100 bytes"):
        await read(app_with(folder), "docs:///big.txt")


async def test_paths_are_completed(folder: Path) -> None:
    async with testing.connect(app_with(folder)) as client:
        ref = mcp.ResourceTemplateReference(uri="docs:///{+path}")
        completions: dict[str, list[str]] = {}
        for value in ("g", "guides/", "guides/s", ".", "../", "nothing/"):
            argument = mcp.CompleteRequestParamsArgument(name="path", value=value)
            completions[value] = (await client.complete(ref=ref, argument=argument)).completion.values
        assert completions == {
            "g": ["guides/"],
            "guides/": ["guides/deep/", "guides/start.md", "guides/what is it?.txt"],
            "guides/s": ["guides/start.md"],
            ".": [],
            "../": [],
            "nothing/": [],
        }


async def test_the_folder_and_its_template_are_listed(folder: Path) -> None:
    async with testing.connect(app_with(folder)) as client:
        assert [resource.uri async for resource in client.iter_resources()] == ["docs:///"]
        assert [template.uri_template async for template in client.iter_resource_templates()] == ["docs:///{+path}"]
    with pytest.raises(ValueError, match="is not a folder"):
        app_with(folder / "nothing")


def test_binary_content_gives_its_bytes() -> None:
    assert mcp.ImageContent(data="aGk=", mime_type="image/png").bytes == b"hi"
    assert mcp.AudioContent(data="aGk=", mime_type="audio/wav").bytes == b"hi"
    assert mcp.BlobResourceContents(uri="a:", blob="aGk=").bytes == b"hi"
    with pytest.raises(ValueError, match="not base64"):
        assert mcp.ImageContent(data="hi", mime_type="image/png").bytes
    given = b'{"type":"image","data":"aGk=","mimeType":"image/png","bytes":[1]}'
    assert mcp.ImageContent.model_validate_json(given).model_dump(mode="json")["bytes"] == [
        1
    ], "an unknown property named bytes is kept"

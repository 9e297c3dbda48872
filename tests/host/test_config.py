"""The configuration of a host, in every spelling that is in use; what is wrong in it is one line with the place."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import Client
from mcp_runtime.host import ConfigurationError, Host, ServerEntry, allow_all
from mcp_runtime.host.config import parse, read_file


def one(entry: dict[str, Any], **more: Any) -> ServerEntry:
    [found] = parse({"mcpServers": {"s": entry}, **more})
    return found


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"command": "npx", "args": ["-y", "x"]}, {"command": ("npx", "-y", "x")}),
        ({"type": "stdio", "command": "npx", "env": {"A": "b", "N": 1}}, {"env": {"A": "b", "N": "1"}}),
        ({"type": "local", "command": ["npx", "x"]}, {"command": ("npx", "x")}),
        (
            {"command": "x", "timeoutMs": 5, "envFile": ".env", "alwaysAllow": [], "disabledTools": []},
            {"command": ("x",)},
        ),
        ({"url": "https://e.com/mcp", "headers": {"X": "y"}}, {"url": "https://e.com/mcp", "headers": {"X": "y"}}),
        ({"type": "http", "url": "https://e.com"}, {"sse": False}),
        ({"type": "streamable-http", "url": "https://e.com"}, {"sse": False}),
        ({"transport": "streamable_http", "url": "https://e.com"}, {"sse": False}),
        ({"type": "streamableHttp", "url": "https://e.com"}, {"sse": False}),
        ({"type": "sse", "url": "https://e.com/sse"}, {"sse": True}),
        ({"serverUrl": "https://e.com"}, {"url": "https://e.com"}),
        ({"httpUrl": "https://e.com"}, {"url": "https://e.com", "sse": False}),
        ({"command": "x", "disabled": True}, {"is_disabled": True}),
        ({"command": "x", "enabled": False}, {"is_disabled": True}),
        ({"command": "x", "tools": ["read_*"]}, {"allow": ("read_*",)}),
        ({"command": "x", "tools": {"deny": ["rm"]}, "required": True}, {"deny": ("rm",), "is_required": True}),
        ({"command": "x", "timeout": 5, "startup_timeout": 2.5}, {"timeout": 5, "startup_timeout": 2.5}),
        ({"command": "x", "revision": "2025-06-18", "alwaysAllow": ["y"]}, {"revision": "2025-06-18"}),
    ],
)
def test_each_spelling_of_a_server_is_read(entry: dict[str, Any], expected: dict[str, Any]) -> None:
    found = one(entry)
    assert {name: getattr(found, name) for name in expected} == expected


def test_comments_trailing_commas_and_inputs_of_an_editor_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME_OF_IT", "/srv")
    (tmp_path / "mcp.json").write_text("""{ // servers
  "inputs": [{"id": "key", "type": "promptString", "password": true,}],
  "servers": { /* one,
    only */ "a": {
      "command": "${env:HOME_OF_IT}/a", "args": ["http://x", "${PORT_OF_IT:-8000}", "${input:key}", "// no"],},
  },
}""")
    asked: list[Any] = []

    def inputs(question: Any) -> str:
        asked.append(question["id"])
        return "sesame"

    [found] = read_file(tmp_path / "mcp.json", inputs)
    assert found.command == ("/srv/a", "http://x", "8000", "sesame", "// no")
    assert asked == ["key"]


MISSPELT: tuple[tuple[str, Any, str], ...] = (
    ("lokc", "tools.lock.json", "lock"),
    ("trustd", True, "trusted"),
    ("tool", ["a"], "tools"),
    ("headres", {}, "headers"),
    ("disable", True, "disabled"),
    ("Timeout", 5, "timeout"),
)


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({}, "/mcpServers/s: has neither command nor url"),
        *(
            ({"command": "x", wrong: value}, f"/mcpServers/s: {wrong} has no meaning; did you mean {meant}?")
            for wrong, value, meant in MISSPELT
        ),
        ({"comand": "x"}, "/mcpServers/s: comand has no meaning; did you mean command?"),
        ({"command": "x", "url": "https://e.com"}, "/mcpServers/s: must have either command or url"),
        ({"command": "x", "args": "y"}, "/mcpServers/s/args: must be a list of strings"),
        ({"command": 5}, "/mcpServers/s/command: must be a string"),
        ({"command": "x", "env": {"A": None}}, "/mcpServers/s/env/A: must be a string"),
        ({"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}},
         "/mcpServers/s/env/A: the environment variable NOT_SET_ANYWHERE is not set"),
        ({"command": "${input:a}"}, "/mcpServers/s/command: the input a is not defined in inputs"),
        ({"command": "x", "args": ["${workspaceFolder}"]},
         "/mcpServers/s/args/0: the environment variable workspaceFolder is not set"),
        ({"type": "ws", "url": "ws://127.0.0.1"}, "/mcpServers/s/type: must be stdio, http or sse, not ws"),
        (None, "/mcpServers/s: must be an object"),
        ({"type": "carrier-pigeon"}, "/mcpServers/s/type: must be stdio, http or sse, not carrier-pigeon"),
        ({"type": "http", "command": "x"}, "/mcpServers/s/type: is http, which does not fit command"),
        ({"url": "ftp://e.com"}, "/mcpServers/s/url: must be an http or https URL"),
        ({"command": "x", "timeout": "5"}, "/mcpServers/s/timeout: must be a number of seconds above 0"),
        ({"command": "x", "tools": 5}, "/mcpServers/s/tools: must be an object"),
        (5, "/mcpServers/s: must be an object"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_the_place(entry: Any, error: str) -> None:
    line = f"configuration: {error}"
    assert one(entry).error == line
    with pytest.raises(ConfigurationError) as raised:
        Host([one(entry)], Client, strict=True, policy=allow_all)
    assert str(raised.value) == line


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "is not JSON: "),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "is not JSON: "),
        ("[]", "/: must be an object"),
        ("{}", "/: has neither mcpServers nor servers"),
        ('{"servers": [{"command": "x"}]}', "/servers: must be an object"),
    ],
)
def test_a_file_that_is_wrong_is_named(text: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        read_file(path)
    assert str(raised.value).startswith(f"{path}: {error}")
    assert "\n" not in str(raised.value)
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        Host.from_file(tmp_path / "other.json", Client, policy=allow_all)


@pytest.mark.parametrize("piece", ["/* ", '\\"', '"', ",", ", /*", "${", "${a", "${a:-", "${env:", "${input:a", "//,"])
@pytest.mark.parametrize("is_text", [False, True])
@pytest.mark.timeout(20)
def test_a_large_file_of_one_piece_takes_linear_time(piece: str, is_text: bool, tmp_path: Path) -> None:
    """Quadratic time would be minutes."""
    hostile = piece * (1_000_000 // len(piece))
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": {"command": hostile}}}) if is_text else hostile)
    try:
        [found] = read_file(path)
        assert str(found)
    except ConfigurationError as error:
        assert len(str(error)) < 1_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large"])
def test_only_regular_files_of_some_size_are_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case _:
            path.write_text(" " * (5 << 20))
    with pytest.raises(
        ConfigurationError, match=r"mcp.json: cannot be read: (not a regular|Is a dir|larger than 4 MiB)"
    ):
        read_file(path)


@pytest.mark.parametrize("inputs", [5, None, [5], ["key"], [{"id": 5}], [{"id": "other"}, {}]])
def test_inputs_that_are_wrong_fail_the_servers_that_need_them(inputs: Any) -> None:
    servers = {"a": {"command": "x"}, "b": {"command": "x", "args": ["${input:key}"]}}
    good, bad = parse({"inputs": inputs, "servers": servers})
    assert good.error == ""
    assert bad.error == "configuration: /servers/b/args/0: the input key is not defined in inputs"


@pytest.mark.parametrize("text", ['{"mcpServers": {"s": {"command": "x"}}}', '{"servers": {"s": {"command": "x"}}, }'])
def test_a_byte_order_mark_is_ignored(text: str, tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(text, "utf-8-sig")
    assert [entry.command for entry in read_file(tmp_path / "mcp.json")] == [("x",)]

"""`mcp-bindgen install`: the entry that starts a server, in the configuration of a client."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mcp_runtime.host.config import without_comments
from support.command import Cli

yaml: Any = import_module("yaml")
SERVER = """\
from mcp_bindings import App

app = App("shop")


@app.tool()
def price(item: str) -> float:
    \"\"\"Look up a price.\"\"\"
    return 2.5
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop.py"
    path.write_text(SERVER)
    return path


@pytest.mark.slow
def test_the_printed_command_starts_the_server_from_any_folder(server: Path, cli: Cli) -> None:
    entry = json.loads(cli("install", "shop.py:app").out)["mcpServers"]["shop"]
    assert entry["args"][-1] == f"{server}:app"
    (server.parent / "elsewhere").mkdir()
    listed = cli("inspect", "--cwd", "elsewhere", "--", entry["command"], *entry["args"]).out
    assert "price" in listed


def test_an_entry_joins_those_that_a_configuration_has(server: Path, cli: Cli) -> None:
    mine: dict[str, Any] = {"command": "other", "args": []}
    Path("client.json").write_text(json.dumps({"theme": "dark", "mcpServers": {"other": mine, "shop": mine}}))
    cli("install", server, "--env", "REGION=eu", "--config", "client.json")
    cli("install", "https://mcp.example.com/mcp", "--name", "remote", "--config", "client.json")
    written = json.loads(Path("client.json").read_text())
    assert written["theme"] == "dark"
    servers = written["mcpServers"]
    assert servers["other"] == mine
    assert servers["shop"]["env"] == {"REGION": "eu"} and servers["shop"]["args"][-1] == str(server)
    assert servers["remote"] == {"type": "http", "url": "https://mcp.example.com/mcp"}


PLACES = {
    "claude-code": (".mcp.json", "mcpServers"),
    "cursor": ("home/.cursor/mcp.json", "mcpServers"),
    "gemini-cli": ("home/.gemini/settings.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
}


@pytest.mark.parametrize("client", PLACES)
def test_a_client_gets_the_entry_in_its_place_and_form(
    client: str, server: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("HOME", str(server.parent / "home"))
    place, key = PLACES[client]
    cli("install", server, "--client", client)
    cli("install", "https://mcp.example.com/mcp", "--name", "team", "--client", client)
    found = json.loads(Path(place).read_text())[key]
    assert found["shop"]["args"][-1] == str(server)
    assert found["shop"].get("type") == ("stdio" if client == "vscode" else None)
    url = "https://mcp.example.com/mcp"
    assert found["team"] == ({"httpUrl": url} if client == "gemini-cli" else {"type": "http", "url": url})


@pytest.mark.parametrize(
    "text",
    ["", "import surely_not_there", "app = 5", "raise SystemExit(3)", "def f(:", "from mcp_bindings import Nothing"],
)
def test_a_server_that_cannot_start_is_not_installed(text: str, server: Path, cli: Cli) -> None:
    server.write_text(text)
    assert (
        "not installed, because it cannot be served" in cli("install", server, "--client", "claude-code", expect=2).err
    )
    assert not Path(".mcp.json").exists()


def test_a_server_that_cannot_start_is_not_written_to_a_configuration_either(server: Path, cli: Cli) -> None:
    server.write_text("import surely_not_there")
    assert "because it cannot be served" in cli("install", server, "--config", "client.json", expect=2).err
    assert not Path("client.json").exists()


GOOSE = (
    "",
    "# mine\nGOOSE_MODEL: x\n",
    "extensions:\n",
    "extensions: {}\nother: 1\n",
    "extensions:\n  dev:\n    type: builtin # yes\n  # the last\nother: 1\n",
    "extensions:\n    shop:\n        type: stdio\n        args: [a,\n          b]\n\n    'dev': {type: builtin}\n",
    'other: [1, 2]\nextensions: # all\n  "shop":\n    cmd: old\n',
)


@pytest.mark.parametrize("text", GOOSE)
def test_goose_gets_its_entry_and_keeps_its_comments(
    text: str, server: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setenv("HOME", str(server.parent / "home"))
    path = Path("home/.config/goose/config.yaml")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    before: dict[str, Any] = yaml.safe_load(text) or {}
    for _ in range(2):
        cli("install", server, "--client", "goose", "--env", "A=b")
        cli("install", "https://mcp.example.com/mcp", "--name", "team", "--client", "goose")
    written = path.read_text()
    after = yaml.safe_load(written)
    extensions = after.pop("extensions")
    assert {**after, "extensions": {}} == {**before, "extensions": {}}
    assert set(extensions) == {"shop", "team", *(before.get("extensions") or {})}
    assert (extensions["shop"]["cmd"], extensions["shop"]["args"][-1]) == (sys.executable, str(server))
    assert extensions["shop"]["envs"] == {"A": "b"} and extensions["shop"]["name"] == "shop"
    assert (extensions["team"]["type"], extensions["team"]["uri"]) == ("streamable_http", "https://mcp.example.com/mcp")
    assert all(comment in written for comment in re.findall("# (?:mine|yes|the last|all)", text))


@pytest.mark.parametrize("text", ["extensions: {a: {b: 1}}\n", "extensions: [1]\n", "a: [\n", "- 1\n"])
def test_yaml_of_another_form_is_left_alone(text: str, server: Path, cli: Cli) -> None:
    Path("config.yaml").write_text(text)
    told = cli("install", server, "--key", "extensions", "--config", "config.yaml", expect=2).err
    assert (
        re.search("not in lines of its own|is not a YAML mapping|not valid YAML", told) and len(told.splitlines()) == 1
    )
    assert Path("config.yaml").read_text() == text


def test_uv_starts_a_server_in_its_project(server: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("PATH", str(server.parent))
    assert "uv is not installed" in cli("install", server, "--uv", expect=2).err
    uv = server.parent / "uv"
    uv.write_text(f'#!/bin/sh\nshift 4\nexec {sys.executable} "$@"\n')  # as the project's Python
    uv.chmod(0o755)
    assert "--uv: no pyproject.toml in . or above" in cli("install", server, "--uv", expect=2).err
    (server.parent / "pyproject.toml").write_text("[project]\nname = 'shop'\n")
    cli("install", server, "--uv", "--config", "client.json")
    entry = json.loads(Path("client.json").read_text())["mcpServers"]["shop"]
    assert entry["command"] == str(uv)
    assert entry["args"] == ["run", "--project", str(server.parent), "python", "-m", "mcp_runtime", str(server)]
    server.write_text("import surely_not_there")
    told = cli("install", server, "--uv", "--config", "client.json", expect=2).err
    assert "cannot be served: " in told and "surely_not_there" in told


def test_what_a_client_cannot_do_is_refused(server: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("HOME", str(server.parent / "home"))
    url = ("install", "https://mcp.example.com/mcp", "--client", "claude-desktop")
    assert "claude-desktop reads no URLs" in cli(*url, expect=2).err
    assert "use only one of" in cli("install", server, "--client", "cursor", "--config", "x.json", expect=2).err
    cli("install", server, "--client", "claude-desktop")
    [written] = (server.parent / "home").rglob("claude_desktop_config.json")
    assert [*json.loads(written.read_text())["mcpServers"]] == ["shop"]


def test_a_configuration_that_does_not_exist_is_made(server: Path, cli: Cli) -> None:
    cli("install", server, "--key", "servers", "--config", "mcp.json")
    assert [*json.loads(Path("mcp.json").read_text())["servers"]] == ["shop"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "client.json: it is not a JSON object"),
        ("{", "client.json: not valid JSON"),
        ('{"mcpServers": []}', "client.json: mcpServers is not a JSON object"),
    ],
)
def test_a_configuration_of_another_form_is_left_alone(server: Path, cli: Cli, text: str, expected: str) -> None:
    Path("client.json").write_text(text)
    assert expected in cli("install", server, "--config", "client.json", expect=2).err
    assert Path("client.json").read_text() == text


def test_wrong_arguments_are_explained(server: Path, cli: Cli) -> None:
    assert "nothing.py: no such file" in cli("install", "nothing.py", expect=2).err
    assert "--env: must be NAME=VALUE" in cli("install", server, "--env", "x", expect=2).err
    assert "not for a URL" in cli("install", "http://localhost/mcp", "--env", "a=b", expect=2).err
    told = cli("install", server, "--client", "claude", expect=2).err
    assert "'--client': 'claude' is not one of " in told and told.endswith(" Did you mean claude-code?\n")


COMMENTED = (
    '{\n // mine\n "mcpServers": {}\n}',
    '{ "mcpServers": { // all "of" them\n "a": {"command": "x", /* { */ "args": ["// no"]}, }, /* } */ "other": 1, }',
    '/* first */ {"other": [1, 2,], // "mcpServers": {\n}',
    '{"mcpServers": {\n  /* {"srv": 1} */ "srv": {"command": "old"}, // after\n  "b": {"url": "http://x"} // last\n}}',
    "// nothing yet\n",
    "{\n}// end",
    '{"mcpServers": {"é\\"//": {"command": "c"},},}',
)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("text", COMMENTED)
def test_comments_of_a_configuration_are_kept(text: str, mark: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "srv.py").write_text(SERVER)
    path = tmp_path / "mcp.json"
    path.write_text(mark + text, "utf-8")
    before = _read(path)
    for _ in range(2):
        cli("install", tmp_path / "srv.py", "--config", path)
    after, written = _read(path), path.read_text("utf-8")
    assert after["mcpServers"].pop("srv")["args"][-1] == str(tmp_path / "srv.py")
    before.get("mcpServers", {}).pop("srv", None)
    assert after == {"mcpServers": {}, **before}
    for comment in re.findall(r"//[^\n]*|/\*.*?\*/", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        assert comment.strip() in re.sub(r'"(?:[^"\\]|\\.)*"', "", written)


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff", '\ufeff{"mcpServers": {}}', '{"mcpServers": {},}', "{}"])
def test_a_configuration_without_entries_gets_one(text: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "srv.py").write_text(SERVER)
    path = tmp_path / "mcp.json"
    path.write_text(text, "utf-8")
    cli("install", tmp_path / "srv.py", "--config", path)
    assert list(_read(path)["mcpServers"]) == ["srv"]


@pytest.mark.parametrize(
    "text", ["/* open", '{"a": }', "// x\n[]", '{"mcpServers": 5} // x', '{"a": 1} {"b": 2}', "\x00"]
)
def test_what_is_not_a_configuration_is_refused_and_kept(text: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "srv.py").write_text(SERVER)
    path = tmp_path / "mcp.json"
    path.write_text(text, "utf-8")
    assert str(path) in cli("install", tmp_path / "srv.py", "--config", path, expect=2).err
    assert path.read_text("utf-8") == text


def _read(path: Path) -> Any:
    plain = without_comments(path.read_text("utf-8-sig"))
    return json.loads(plain) if plain.strip() else {}

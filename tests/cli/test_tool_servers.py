"""`mcp-bindgen tools` for servers that are programs, and for the servers of a project."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command import Cli
from support.programs import quick_python
from tools.talking import objects, saved, tool

PROGRAM = Path(__file__).parents[1] / "tools" / "asking_server.py"
SAY = tool("say", objects({"text": {"type": "string"}}, "text"))


def program(what: str) -> tuple[object, ...]:
    return ("--", quick_python(), PROGRAM, what)


class TestListing:
    def test_a_server_that_refuses_a_revision_which_it_lists_is_not_said_to_lack_it(self, cli: Cli) -> None:
        answer = {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "2026-07-28"}}
        program = (
            "import json, sys\n"
            "for line in sys.stdin:\n"
            f"    print(json.dumps({{'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'error': {answer}}}), flush=True)"
        )
        error = cli("tools", "list", "--", sys.executable, "-c", program, expect=2).err
        assert "the peer refused 2026-07-28, which it lists as supported" in error and "does not speak" not in error

    @pytest.mark.slow
    def test_hidden_tools_are_listed_and_requests_are_refused(self, cli: Cli) -> None:
        found = {row["name"]: row for row in cli("tools", "list", "--format", "json", *program("ask")).json}
        assert found["ask"]["description"] == "decline"
        assert found["look"]["description"] == "0 roots"
        assert found["think"]["description"] == "refused: the tools are only listed (-1)"
        marked = {name for name, row in found.items() if row.get("x-needs-capabilities")}
        assert marked == {"ask", "look", "think"}
        assert "needs capabilities" in cli("tools", "list", *program("ask")).out

    @pytest.mark.slow
    def test_the_generated_client_mentions_the_capabilities(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--out", "asking.py", *program("ask"))
        text = (tmp_path / "asking.py").read_text("utf-8")
        assert text.count("The server shows it only to clients that declare capabilities") == 3
        cli("tools", "check", *program("ask"))

    @pytest.mark.slow
    def test_env_and_cwd(self, tmp_path: Path, cli: Cli) -> None:
        (tmp_path / "there").mkdir()
        arguments = ("tools", "list", "--format", "json", "--env", "TOOL_NAME=a=b", "--cwd", tmp_path / "there")
        (found,) = cli(*arguments, *program("env")).json
        assert (found["name"], found["description"]) == ("a=b", "there")

    def test_a_traceback_prints_as_lines(self, cli: Cli) -> None:
        lines = cli("tools", "list", *program("fail"), expect=2).err.splitlines()
        assert lines[0].startswith("error: ") and "the server's tools cannot be listed" in lines[0]
        assert "    Traceback (most recent call last):" in lines
        assert lines[-1] == r"    RuntimeError: out of\x1b tea"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--env", "NAME"), "must be NAME=VALUE"),
            (("--env", "=x"), "must be NAME=VALUE"),
        ],
    )
    def test_bad_options(self, arguments: tuple[str, ...], message: str, cli: Cli) -> None:
        assert message in cli("tools", "list", *arguments, *program("env"), expect=2).err

    def test_options_of_a_server_need_one(self, cli: Cli) -> None:
        assert "are for a server to start" in cli("tools", "list", "--env", "A=b", "--from", "x.json", expect=2).err


class TestModuleNames:
    @pytest.mark.parametrize("out", ["my-tools.py", "class.py", "1st.py", "acme.tools", "a b"])
    def test_names_that_cannot_be_imported_are_refused(self, out: str, tmp_path: Path, cli: Cli) -> None:
        outcome = cli("tools", "generate", "--from", saved([SAY], tmp_path), "--out", out, expect=2)
        assert f"--out: {out!r} cannot be imported" in outcome.err


def project(tmp_path: Path, **servers: dict[str, Any]) -> None:
    lines: list[str] = []
    for name, values in servers.items():
        lines.append(f"[tool.mcp-bindgen.tools.{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    (tmp_path / "pyproject.toml").write_text("\n".join(lines))


class TestProject:
    def prepare(self, tmp_path: Path) -> None:
        saved([SAY], tmp_path, "one.json")
        command = [quick_python(), str(PROGRAM), "env"]
        project(
            tmp_path,
            one={"from": "one.json", "module": "src/one.py", "class": "First"},
            two={"command": command, "module": "src/two", "lock": "locks/two.json"},
        )

    @pytest.mark.slow
    def test_one_command_generates_all_and_one_checks_all(self, tmp_path: Path, cli: Cli) -> None:
        self.prepare(tmp_path)
        (tmp_path / "locks").mkdir()
        cli("tools", "generate")
        written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
        assert written >= {"src/one.py", "src/one.lock.json", "src/two/__init__.py", "locks/two.json"}
        assert "class First" in (tmp_path / "src" / "one.py").read_text()
        assert cli("tools", "generate", "--check").out == "one: up to date\ntwo: up to date\n"
        assert cli("tools", "check").out.count("The contract is kept.") == 2
        saved([tool("say", objects({"text": {"type": "integer"}}, "text"))], tmp_path, "one.json")
        assert "error tool-input-narrowed" in cli("tools", "check", expect=1).out
        cli("tools", "check", "--server", "two")

    @pytest.mark.slow
    def test_variables_come_from_the_environment(
        self, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        command = [quick_python(), str(PROGRAM), "env"]
        text = f"[tool.mcp-bindgen.tools.x]\ncommand = {json.dumps(command)}\nenv = {{TOOL_NAME = '$SECRET'}}\n"
        (tmp_path / "pyproject.toml").write_text(text)
        monkeypatch.delenv("SECRET", raising=False)
        assert cli("tools", "list", "--format", "json").json[0]["name"] == "unnamed"
        monkeypatch.setenv("SECRET", "named")
        assert cli("tools", "list", "--format", "json").json[0]["name"] == "named"

    @pytest.mark.slow
    def test_a_json_report_needs_one_server(self, tmp_path: Path, cli: Cli) -> None:
        self.prepare(tmp_path)
        (tmp_path / "locks").mkdir()
        cli("tools", "generate", "--quiet")
        assert "choose it with --server" in cli("tools", "check", "--format", "json", expect=2).err
        assert cli("tools", "check", "--format", "json", "--server", "one").json["findings"] == []

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ({}, "needs exactly one of a command, a url and a file"),
            ({"from": "x.json", "command": ["y"]}, "needs exactly one of a command, a url and a file"),
            ({"url": "https://example.com", "command": ["y"]}, "needs exactly one of a command, a url and a file"),
            ({"url": "example.com"}, "url: must begin with http:// or https://"),
            ({"command": "x"}, "must be a list of strings"),
            ({"from": "x.json", "modul": "x.py"}, "modul: unknown key; the keys are command, env"),
            ({"from": "x.json", "module": "my-tools.py"}, "'my-tools.py' cannot be imported"),
            ({"from": 3}, "must be a non-empty string"),
            ({"command": ["x"], "env": {"A": 1}}, "must be a table of strings"),
        ],
    )
    def test_bad_tables(self, table: dict[str, Any], message: str, tmp_path: Path, cli: Cli) -> None:
        if "env" in table:
            text = "[tool.mcp-bindgen.tools.x]\ncommand = ['x']\nenv = {A = 1}\n"
            (tmp_path / "pyproject.toml").write_text(text)
        else:
            project(tmp_path, x=table)
        error = cli("tools", "check", expect=2).err
        assert "[tool.mcp-bindgen.tools.x]" in error
        assert message in error

    def test_two_servers_with_one_lock_file(self, tmp_path: Path, cli: Cli) -> None:
        table = {"from": "x.json", "lock": "same.json"}
        project(tmp_path, one=table, two=table)
        assert "one and two share a lock file" in cli("tools", "check", expect=2).err

    def test_an_unknown_server_is_refused(self, tmp_path: Path, cli: Cli) -> None:
        self.prepare(tmp_path)
        assert "'three' is not a server of this project; its servers are one, two" in (
            cli("tools", "check", "--server", "three", expect=2).err
        )


class TestLocks:
    @pytest.mark.slow
    def test_the_lock_file_of_another_server_is_refused(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--from", saved([SAY], tmp_path, "one.json"), "--out", "one.py")
        other = saved([tool("other", {"type": "object"})], tmp_path, "two.json")
        assert "contains the contract of one, not of two" in cli("tools", "check", "--from", other, expect=2).err


class TestReport:
    def test_it_is_about_tools(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--from", saved([SAY], tmp_path, "one.json"), "--out", "one.py")
        changed = {**SAY, "description": "Says it.", "execution": {"taskSupport": "required"}}
        new = saved([changed, SAY], tmp_path, "new.json")
        out = cli("tools", "check", "--from", new, expect=1).out
        assert "  callers: not proven, 1 finding not proven\n  contract: " in out
        assert "say.execution: forbidden -> required" in out
        assert "warning tool-listed-twice" in out
        assert "schema author" not in out and "version:" not in out
        github = cli("tools", "check", "--from", new, "--format", "github", expect=1).out
        assert github.startswith("::notice title=mcp-bindgen tools check::")

    def test_a_changed_description_follows_fail_on(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--from", saved([SAY], tmp_path, "one.json"), "--out", "one.py")
        new = saved([{**SAY, "description": "Says it."}], tmp_path, "new.json")
        cli("tools", "check", "--from", new)
        cli("tools", "check", "--from", new, "--fail-on", "info", expect=1)

    def test_a_tool_that_is_listed_twice_follows_fail_on(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--from", saved([SAY], tmp_path, "one.json"), "--out", "one.py")
        new = saved([SAY, SAY], tmp_path, "new.json")
        cli("tools", "check", "--from", new, expect=1)
        cli("tools", "check", "--from", new, "--fail-on", "error")

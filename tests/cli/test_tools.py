"""`mcp-bindgen tools`: what it writes, what it finds, and how it refuses input."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.emit.header import HEADER_MARK
from mcp_bindings.v2025_06_18 import Client
from mcp_runtime.core.transports.stdio import connect_stdio
from support.command import Cli
from support.programs import quick_python
from tools.talking import check_types, load, objects, saved, tool

TESTS = Path(__file__).parents[1]
SERVED = TESTS / "tools" / "served.py"
LISTED = [
    tool(
        "say",
        objects({"text": {"type": "string"}, "loud": {"type": "boolean", "default": False}}, "text"),
        description="Says it.",
    ),
    tool("count", objects({"n": {"type": ["integer", "null"]}}), annotations={"readOnlyHint": True}),
    tool("odd", {"type": "object", "oneOf": [objects({"a": {}}, "a"), objects({"b": {}}, "b")]}),
]


LISTS_AS_IT_IS = """\
import json, sys
about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "test", "version": "1"}}
results = {"initialize": about, "tools/list": json.load(open(sys.argv[1]))}
for message in map(json.loads, sys.stdin):
    found = results.get(message["method"])
    answer = {"result": found} if found else {"error": {"code": -32601, "message": "no"}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""
"""A server that lists what is in a file, valid or not."""


def serve(path: Path) -> tuple[object, ...]:
    """Return the command line that serves the tools of a file."""
    return ("--", quick_python(), SERVED, path)


class TestGenerate:
    @pytest.mark.slow
    async def test_a_live_server_becomes_a_module_that_works(self, tmp_path: Path) -> None:
        path = saved(LISTED, tmp_path)
        command = [sys.executable, "-m", "mcp_bindgen", "tools", "generate", "--out", "src/acme.py"]
        done = subprocess.run(
            [*command, *map(str, serve(path))], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "wrote src/acme.py (EchoTools, 3 tools)\nwrote src/tools.lock.json (the contract)\n"
        module = load((tmp_path / "src" / "acme.py").read_text("utf-8"), tmp_path)
        async with connect_stdio(quick_python(), SERVED, path) as peer:
            tools = module.EchoTools(await Client.open(peer))
            assert json.loads((await tools.say(text="hi")).text) == {"text": "hi", "loud": False}
            assert json.loads((await tools.count()).text) == {}
            assert json.loads((await tools.odd(module.OddInputWithA(a=1))).text) == {"a": 1}
            assert json.loads((await tools.odd({"b": 1})).text) == {"b": 1}
            assert not await tools.check_drift()

    @pytest.mark.slow
    def test_both_type_checkers_accept_it(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--from", saved(LISTED, tmp_path), "--out", "acme.py", "--quiet")
        call = 'return (await t.say(text="x", loud=True)).text'
        use = f"from acme import Tools\n\nasync def use(t: Tools) -> str:\n    {call}\n"
        (tmp_path / "use.py").write_text(use)
        (tmp_path / "wrong.py").write_text(use.replace('"x"', "1"))
        errors = re.findall(r"(\w+)\.py:4.* error: (.*)", check_types(tmp_path, "acme.py", "use.py", "wrong.py"))
        assert [file for file, _ in errors] == ["wrong", "wrong"]  # one of each checker
        assert "incompatible type" in errors[1][1]

    def test_the_same_contract_gives_the_same_bytes(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--from", saved(LISTED, tmp_path), "--out", "one.py", "--class", "X")
        cli("tools", "generate", "--from", saved(LISTED[::-1], tmp_path), "--out", "two.py", "--class", "X")
        one, two = ((tmp_path / name).read_text("utf-8").splitlines() for name in ("one.py", "two.py"))
        assert [*one[:4], *one[5:]] == [*two[:4], *two[5:]]
        assert one[4].startswith("#   command:  mcp-bindgen tools generate --out one.py --from ")
        assert one[4].endswith(" --class X")
        lock = tmp_path / "tools.lock.json"
        cli("tools", "generate", "--from", lock, "--out", "three.py", "--class", "X", "--lock", "three.json")
        three = (tmp_path / "three.py").read_text("utf-8").splitlines()
        assert [*one[:4], *one[5:]] == [*three[:4], *three[5:]]
        assert (tmp_path / "three.json").read_bytes() == lock.read_bytes()

    def test_the_header_has_no_secret(self, tmp_path: Path, cli: Cli) -> None:
        program = tmp_path / "server.py"
        made = "from mcp_bindings import App\napp = App('t', version='1')\n"
        program.write_text(f"{made}@app.tool()\ndef say() -> str:\n    'Says it.'\n    return ''\napp.run()\n", "utf-8")
        server = ("--env", "API_KEY=abcdefg", "--", sys.executable, program, "--token", "hunter22")
        cli("tools", "generate", "--out", "acme.py", *server)
        text = (tmp_path / "acme.py").read_text("utf-8")
        assert "--env 'API_KEY=***'" in text and "--token '***'" in text
        assert "abcdefg" not in text and "hunter22" not in text
        assert (
            cli("tools", "generate", "--out", "acme.py", "--check", "--from", "tools.lock.json").out == "up to date\n"
        )

    def test_check_prints_the_differences(self, tmp_path: Path, cli: Cli) -> None:
        arguments = ("tools", "generate", "--from", saved(LISTED, tmp_path), "--out", "acme.py")
        assert "+class SayInput" in cli(*arguments, "--check", expect=1).out
        assert not (tmp_path / "acme.py").exists()
        cli(*arguments)
        assert cli(*arguments, "--check").out == "up to date\n"
        saved([tool("say", objects({"text": {"type": "integer"}}, "text"))], tmp_path)
        found = cli(*arguments, "--check", "--format", "json", expect=1).json
        assert (found["up_to_date"], found["changed"]) == (False, ["acme.py", "tools.lock.json"])

    def test_a_package_is_generated(self, tmp_path: Path, cli: Cli) -> None:
        found = cli("tools", "generate", "--from", saved(LISTED, tmp_path), "--out", "acme", "--format", "json").json
        assert found["module"] == "acme/__init__.py"
        assert found["tools"][2] == {"name": "say", "method": "say"}
        assert (tmp_path / "acme" / "__init__.py").read_text().startswith(HEADER_MARK)
        assert json.loads((tmp_path / "acme" / "tools.lock.json").read_text())["format"] == 1

    def test_a_file_that_was_not_generated_is_not_replaced(self, tmp_path: Path, cli: Cli) -> None:
        (tmp_path / "mine.py").write_text("precious = 1\n")
        outcome = cli("tools", "generate", "--from", saved(LISTED, tmp_path), "--out", "mine.py", expect=2)
        assert "was not generated, so it is not replaced" in outcome.err
        assert (tmp_path / "mine.py").read_text() == "precious = 1\n"
        assert not (tmp_path / "tools.lock.json").exists()

    def test_the_contract_of_another_server_is_not_replaced(self, tmp_path: Path, cli: Cli) -> None:
        cli("tools", "generate", "--from", saved(LISTED, tmp_path, "one.json"), "--out", "one.py")
        before = (tmp_path / "tools.lock.json").read_text()
        other = ("tools", "generate", "--from", saved(LISTED[:1], tmp_path, "two.json"), "--out", "two.py")
        assert "contains the contract of one, not of two" in cli(*other, expect=2).err
        assert (tmp_path / "tools.lock.json").read_text() == before
        assert not (tmp_path / "two.py").exists()
        cli(*other, "--lock", "two.lock.json")

    def test_tools_with_similar_names_get_distinct_methods(self, tmp_path: Path, cli: Cli) -> None:
        names = ["get-it", "get_it", "getIt", "class", "call", "list", "1st", "…"]
        path = saved([tool(name, objects({"a": {"type": "string"}})) for name in names], tmp_path)
        found = cli("tools", "generate", "--from", path, "--out", "acme.py", "--format", "json").json
        methods = {row["name"]: row["method"] for row in found["tools"]}
        assert methods["get_it"] == "get_it"
        assert (methods["class"], methods["call"], methods["list"], methods["1st"]) == (
            "class_",
            "call_",
            "list",
            "n1st",
        )
        assert len(set(methods.values())) == len(names)
        module = load((tmp_path / "acme.py").read_text("utf-8"), tmp_path)
        assert len({known.input for known in module.Tools.__tools__.values()}) == len(names)


class TestCheck:
    def prepare(self, tmp_path: Path, cli: Cli, **changed: Any) -> Path:
        cli("tools", "generate", "--from", saved(LISTED, tmp_path, "old.json"), "--out", "acme.py")
        first = {**LISTED[0], **changed}
        return saved([first, *LISTED[1:]], tmp_path, "new.json")

    def test_a_server_that_keeps_its_contract(self, tmp_path: Path, cli: Cli) -> None:
        path = self.prepare(tmp_path, cli)
        assert "The contract is kept." in cli("tools", "check", *serve(path)).out

    def test_a_server_that_breaks_its_contract(self, tmp_path: Path, cli: Cli) -> None:
        path = self.prepare(tmp_path, cli, inputSchema=objects({"text": {"type": "integer"}}, "text"))
        out = cli("tools", "check", *serve(path), expect=1).out
        assert "error tool-input-narrowed" in out
        assert "say.arguments.text" in out
        everything = cli("tools", "check", "--from", path, "--all", expect=1).out
        assert '{"method": "tools/call", "params": {"name": "say", "arguments": {"text": "example"}}}' in everything
        cli("tools", "check", "--from", path, "--fail-on", "never")

    def test_a_tool_that_cannot_be_read_is_not_removed(self, tmp_path: Path, cli: Cli) -> None:
        path = self.prepare(tmp_path, cli, inputSchema={"type": "array"})
        (tmp_path / "lists.py").write_text(LISTS_AS_IT_IS)
        out = cli("tools", "check", "--", quick_python(), "lists.py", path, expect=1).out
        assert "warning tool-invalid" in out and "tool-removed" not in out
        assert "A Host with this lock withholds 1 changed tool." in out

    def test_an_undecided_change_fails_until_it_is_accepted(self, tmp_path: Path, cli: Cli) -> None:
        schema = objects({"text": {"type": "string", "format": "email"}, "loud": {"type": "boolean"}}, "text")
        path = self.prepare(tmp_path, cli, inputSchema=schema)
        assert "warning tool-input-narrowed" in cli("tools", "check", "--from", path, expect=1).out
        row = '[[accepted]]\nrule = "tool-input-narrowed"\npath = "say.arguments.*"\nreason = "we send addresses"\n'
        (tmp_path / "accepted.toml").write_text(row)
        assert "1 accepted" in cli("tools", "check", "--from", path, "--baseline", "accepted.toml").out

    @pytest.mark.parametrize("format_", ["json", "markdown", "html", "sarif", "github", "junit"])
    def test_every_format_of_diff(self, format_: str, tmp_path: Path, cli: Cli) -> None:
        path = self.prepare(tmp_path, cli, name="gone")
        out = cli("tools", "check", "--from", path, "--format", format_, expect=1).out
        assert "tool-removed" in out
        if format_ == "json":
            (found,) = [finding for finding in json.loads(out)["findings"] if finding["rule"] == "tool-removed"]
            assert found["location"]["file"] == "tools.lock.json"
            assert found["breaks"] == ["old client, new server"]
        if format_ == "html":
            assert '<b>broken</b><span class="audience">contract</span>' in out
            assert "caller break" in out and "client break" not in out

    def test_without_a_lock_file(self, tmp_path: Path, cli: Cli) -> None:
        outcome = cli("tools", "check", "--from", saved(LISTED, tmp_path), expect=2)
        assert outcome.err == "error: tools.lock.json: no such lock file; write it with tools generate\n"


class TestList:
    @pytest.mark.slow
    def test_as_a_table(self, tmp_path: Path, cli: Cli) -> None:
        lines = cli("tools", "list", *serve(saved(LISTED, tmp_path))).out.splitlines()
        assert lines[0].split() == ["tool", "arguments", "hints", "description"]
        assert lines[1].split() == ["count", "n?:", "integer|null", "read", "only"]
        assert lines[3].split() == ["say", "text:", "string,", "loud?:", "boolean", "Says", "it."]

    @pytest.mark.slow
    def test_as_json(self, tmp_path: Path, cli: Cli) -> None:
        found = cli("tools", "list", "--format", "json", *serve(saved(LISTED, tmp_path))).json
        assert found == sorted(LISTED, key=lambda known: known["name"])


class TestBadInput:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "not valid JSON"),
            ("3", "contains no tools"),
            ('{"tools": 3}', "contains no tools"),
            ('{"format": 99, "tools": []}', "a lock file of another format"),
            ('{"tools": [NaN]}', "NaN is not JSON"),
        ],
    )
    def test_files_without_tools_are_refused(self, text: str, message: str, tmp_path: Path, cli: Cli) -> None:
        (tmp_path / "x.json").write_text(text)
        assert message in cli("tools", "list", "--from", "x.json", expect=2).err

    def test_a_server_or_a_file(self, cli: Cli) -> None:
        assert "give a URL, a server to start" in cli("tools", "list", expect=2).err
        assert "but only one of these" in cli("tools", "list", "--from", "x.json", "--", "server", expect=2).err

    def test_an_invalid_class_name_is_refused(self, cli: Cli) -> None:
        arguments = ("tools", "generate", "--from", "x", "--out", "y", "--class")
        assert "cannot name a class" in cli(*arguments, "class", expect=2).err
        assert "cannot name a class" in cli(*arguments, "a b", expect=2).err

    def test_a_program_that_cannot_be_started_is_reported(self, cli: Cli) -> None:
        assert "no-such-program" in cli("tools", "list", "--", "no-such-program", expect=2).err

    def test_a_program_that_dies(self, cli: Cli) -> None:
        outcome = cli("tools", "list", "--", sys.executable, "-c", "import sys; sys.exit('out of tea')", expect=2)
        assert "out of tea" in outcome.err

    def test_a_server_whose_list_cannot_be_read(self, cli: Cli) -> None:
        arguments = ("tools", "list", "--timeout", "60", "--", sys.executable, TESTS / "tools" / "deep_server.py")
        assert "nested deeper than 128" in cli(*arguments, expect=2).err

    def test_a_silent_program_times_out(self, cli: Cli) -> None:
        outcome = cli(
            "tools", "list", "--timeout", "0.5", "--", sys.executable, "-c", "import time; time.sleep(60)", expect=2
        )
        assert "did not list its tools within 0.5 s" in outcome.err

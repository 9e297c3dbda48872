"""`mcp-bindgen inspect`: what a server offers, results of calls, and explanations of invalid ones."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.live import target
from mcp_bindgen.live.inspecting import inspected
from mcp_bindgen.live.inspecting.arguments import parse_arguments
from mcp_bindgen.live.mask import Mask
from mcp_bindgen.tool_clients.listing import spell_arguments
from support import answering
from support.command import Cli
from support.programs import quick_python

EXAMPLES = Path(__file__).parents[2] / "examples"
SUM = ("--", sys.executable, str(EXAMPLES / "sum_server.py"))
ERAS = ("--", sys.executable, EXAMPLES / "eras_server.py")
pytestmark = pytest.mark.usefixtures("servers_are_forks")
SECRET = "Bearer s3cret-value"
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "n": {"type": "integer", "minimum": 1},
        "on": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object"},
        "any": {},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "level": {"enum": ["low", "high"]},
    },
    "required": ["text"],
}


@pytest.fixture(autouse=True)
def servers_may_be_slow_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let none be taken for one of the legacy era because it has not answered yet."""
    monkeypatch.setattr(target, "PROBE_TIMEOUT", 60.0)


def server_with(tmp_path: Path, **answers: Any) -> tuple[str, ...]:
    """Return the command line of a server that gives these answers."""
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({name.replace("_", "/"): answer for name, answer in answers.items()}))
    return ("--", sys.executable, answering.__file__, str(path))


def tools(*names: str, schema: Any = SCHEMA) -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": schema} for name in names]}


class TestOverview:
    def test_a_server_is_shown_in_tables(self, cli: Cli) -> None:
        assert cli("inspect", *SUM).out == """\
server        calculator 1.0
revision      2026-07-28
capabilities  logging, tools

instructions
  Use sum whenever numbers are to be added.

1 tool
  tool  arguments             result       description
  sum   a: number, b: number  sum: number  Adds two numbers.
"""

    @pytest.mark.slow
    def test_a_server_of_the_modern_era_is_shown_too(self, cli: Cli) -> None:
        printed = cli("inspect", "--timeout", 90, *ERAS).out
        assert "revision      2026-07-28" in printed
        assert "1 tool\n  tool    arguments  description\n  delete" in printed
        assert "revision      2025-11-25" in cli("inspect", "--revision", "2025-11-25", *ERAS).out

    def test_json_contains_every_list(self, tmp_path: Path, cli: Cli) -> None:
        prompts = {"prompts": [{"name": "p", "arguments": [{"name": "a", "required": True}, {"name": "b"}]}]}
        resources = {"resources": [{"uri": "x://a", "name": "a", "mimeType": "text/plain"}]}
        templates = {"resourceTemplates": [{"uriTemplate": "x://{n}", "name": "t"}]}
        lists = {"tools_list": tools("t"), "prompts_list": prompts, "resources_list": resources}
        command = server_with(tmp_path, **lists, resources_templates_list=templates)
        found = cli("inspect", "--format", "json", *command).json
        assert {"tools": found["tools"], "prompts": found["prompts"]} == {**tools("t"), **prompts}
        assert {"resources": found["resources"], "resourceTemplates": found["resourceTemplates"]} == {
            **resources,
            **templates,
        }
        assert (found["revision"], found["info"]["name"], found["notes"]) == ("2025-11-25", "answering", [])
        printed = cli("inspect", *command).out
        for line in ("1 tool\n", "1 resource\n", "1 resource template\n", "1 prompt\n", "p       a, b?"):
            assert line in printed

    def test_a_list_that_fails_does_not_hide_the_others(self, tmp_path: Path, cli: Cli) -> None:
        printed = cli("inspect", *server_with(tmp_path, tools_list=tools("t"), resources_list={"resources": 1})).out
        assert "1 tool\n" in printed
        assert "note: resources/list of 2025-11-25: /resources: Input should be a valid list" in printed
        assert "note: no such method (-32601)" in printed

    def test_a_trace_has_every_message_in_both_directions(self, cli: Cli) -> None:
        printed = cli("inspect", "--trace", "--revision", "2025-11-25", *SUM).err
        headings = [line.split()[2:5] for line in printed.splitlines() if not line.startswith("    ")]
        assert headings == [
            ["->", "request", "initialize"],
            ["<-", "result", "initialize"],
            ["->", "notification", "notifications/initialized"],
            ["->", "request", "tools/list"],
            ["<-", "result", "tools/list"],
        ]
        assert '"protocolVersion": "2025-11-25"' in printed
        assert '"method": "tools/list", "params": {"_meta": {' in cli("inspect", "--trace", *SUM).err
        assert " ms\n" in printed

    def test_a_violation_of_the_protocol_is_reported(self, tmp_path: Path, cli: Cli) -> None:
        code = f"print('starting', flush=True); import sys; sys.argv[1:] = [{str(tmp_path / 'answers.json')!r}]\n"
        server_with(tmp_path, tools_list=tools("t"))
        command = ("--", sys.executable, "-c", code + Path(answering.__file__).read_text("utf-8"))
        assert "server to client: /: not JSON: expected value at line 1 column 1" in cli("inspect", *command).err


class TestCalls:
    def test_a_tool_is_called(self, cli: Cli) -> None:
        done = cli("inspect", "--call", "sum", "a=1", "b=2.5", *SUM)
        assert done.out == '3.5\nstructured content:\n{\n  "sum": 3.5\n}\n' and done.err == ""
        assert cli("inspect", "--call", "sum", "a=1", "b=2", "--format", "json", *SUM).json["structuredContent"] == {
            "sum": 3
        }

    @pytest.mark.parametrize(
        ("pair", "value"),
        [
            ("text=1", "1"),
            ("text=a=b", "a=b"),
            ("n=3", 3),
            ("n=3.0", 3.0),
            ("on=true", True),
            ("on=False", False),
            ('tags=["a", "b"]', ["a", "b"]),
            ('where={"x": null}', {"x": None}),
            ("any=x y", "x y"),
            ("any=1", 1),
            ("maybe=null", None),
            ("level=low", "low"),
        ],
    )
    def test_arguments_are_parsed_by_the_schema(self, pair: str, value: Any, tmp_path: Path, cli: Cli) -> None:
        command = server_with(tmp_path, tools_list=tools("t"))
        given = (pair,) if pair.startswith("text") else ("text=x", pair)
        echoed = json.loads(cli("inspect", "--call", "t", *given, *command).out)
        assert echoed[pair.partition("=")[0]] == value

    @pytest.mark.parametrize(
        ("pairs", "expected"),
        [
            (["n=1"], "error: text: t requires this argument: text=string"),
            (["text=x", "n=x"], "error: n: must be of type integer (1..), not 'x'"),
            (["text=x", "n=1.5"], "error: n: must be of type integer (1..), not '1.5'"),
            (["text=x", "n=0"], "error: n: 0 is less than the minimum of 1"),
            (["text=x", "tags=a"], "error: tags: must be of type string[] (as JSON), not 'a'"),
            (["text=x", "tags=[1]"], "error: tags/0: 1 is not of type 'string'"),
            (["text=x", "level=mid"], "error: level: 'mid' is not one of ['low', 'high']"),
            (["text=x", "tag=[]"], "error: tag: t has no argument of that name; did you mean tags?"),
            (["text=x", "text=y"], "error: text: is given twice"),
            (["text"], "error: text: must be key=value; give the server after -- or as a URL"),
        ],
    )
    def test_wrong_arguments_are_explained(self, pairs: list[str], expected: str, tmp_path: Path, cli: Cli) -> None:
        command = server_with(tmp_path, tools_list=tools("t"))
        assert cli("inspect", "--call", "t", *pairs, *command, expect=2).err == f"{expected}\n"

    def test_a_tool_that_fails_exits_with_1(self, tmp_path: Path, cli: Cli) -> None:
        failed = {"content": [{"type": "text", "text": "no tea"}], "isError": True}
        command = server_with(tmp_path, tools_list=tools("t", schema={"type": "object"}), tools_call=failed)
        assert cli("inspect", "--call", "t", "x=1", *command, expect=1).out == "the tool failed:\nno tea\n"

    def test_a_resource_is_read_and_a_prompt_is_fetched(self, tmp_path: Path, cli: Cli) -> None:
        contents = [{"uri": "x://a", "text": "hello"}, {"uri": "x://b", "blob": "aGk=", "mimeType": "image/png"}]
        prompt = {"prompts": [{"name": "p", "arguments": [{"name": "a", "required": True}]}]}
        messages = [{"role": "user", "content": {"type": "text", "text": "hi"}}]
        command = server_with(
            tmp_path,
            resources_read={"contents": contents},
            prompts_list=prompt,
            prompts_get={"description": "Says hi.", "messages": messages},
        )
        assert cli("inspect", "--read", "x://a", *command).out == (
            "hello\n[binary x://b image/png, 4 characters of base64]\n"
        )
        assert cli("inspect", "--prompt", "p", "a=1", *command).out == "Says hi.\n\nuser: hi\n"
        assert cli("inspect", "--prompt", "p", *command, expect=2).err == "error: a: p requires this argument: a=TEXT\n"
        assert "error: b: p has no argument" in cli("inspect", "--prompt", "p", "b=1", *command, expect=2).err

    def test_unknown_names_are_refused_with_a_suggestion(self, tmp_path: Path, cli: Cli) -> None:
        command = server_with(tmp_path, tools_list=tools("forecast"), prompts_list={"prompts": []})
        assert "did you mean forecast" in cli("inspect", "--call", "forcast", *command, expect=2).err
        assert "no prompt of that name" in cli("inspect", "--prompt", "x", *command, expect=2).err

    @pytest.mark.slow
    def test_questions_of_a_tool_are_declined(self, cli: Cli) -> None:
        for revision in ("2025-11-25", "2026-07-28"):
            printed = cli("inspect", "--call", "delete", "name=draft", "--revision", revision, *ERAS).out
            assert printed == "draft is kept\n"


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ((), "error: inspect: give a server: a file, a URL, or a program after --"),
            (("python", "server.py"), "error: python: is not a file or a URL; give a program after --"),
            (("http://localhost/mcp", "--", "x"), "error: inspect: give one server"),
            (("--call", "a", "--read", "b", *SUM), "error: inspect: use only one of --call, --read, --prompt and"),
            (("--header", "A=env:B", *SUM), "error: inspect: --header is for a server with a URL"),
            (("--revision", "2020-01-01", *SUM), "error: --revision: '2020-01-01' is not a released revision"),
            (("--", "no-such-program"), "error: no-such-program: inspecting the server failed: cannot start"),
            (("--revision", "2024-11-05", *ERAS), "it does not speak 2024-11-05; it speaks 2025-11-25"),
            (("--read", "x://", *SUM), "resources/read needs the capability server.resources"),
        ],
    )
    def test_wrong_options_are_explained(self, arguments: tuple[str, ...], expected: str, cli: Cli) -> None:
        assert expected in cli("inspect", *arguments, expect=2).err

    def test_a_silent_server_times_out(self, cli: Cli) -> None:
        command = ("--", sys.executable, "-c", "import sys; sys.stdin.read()")
        expected = "the server did not answer within 0.5 s"
        assert expected in cli("inspect", "--timeout", 0.5, *command, expect=2).err

    def test_a_program_that_fails_in_both_eras_is_quoted_once(self, tmp_path: Path, cli: Cli) -> None:
        missing = tmp_path / "missing.py"
        error = cli("inspect", "--", Path(sys.executable), missing, expect=2).err
        assert "exited with status 2; its standard error ended with:\n" in error and error.count("can't open file") == 1

    def test_an_unreachable_server_is_reported_on_one_line(self, cli: Cli) -> None:
        error = cli("inspect", "http://127.0.0.1:9/mcp", expect=2).err
        assert error.count("\n") == 1 and error.endswith("; check the URL, and that the server is running\n")


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    """Serve over HTTP for as long as the tests of this file run."""
    command = (quick_python(), "-m", "tools.http_served", SECRET)
    with subprocess.Popen(command, cwd=EXAMPLES.parent / "tests", stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class TestSecrets:
    def test_headers_are_sent_and_never_shown(self, url: str, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
        monkeypatch.setenv("TOKEN", SECRET)
        done = cli("inspect", "--trace", url, "--header", "Authorization=env:TOKEN")
        assert "1 tool" in done.out
        assert "s3cret" not in done.out + done.err
        assert cli("inspect", "--call", "say", url, "--header", "Authorization=env:TOKEN").out == "(nothing)\n"

    def test_secrets_in_answers_are_masked(self, tmp_path: Path, cli: Cli) -> None:
        leak = "password: hunter2 and sk-abcdefghijklmnopqrst and my-own-value"
        answer = {
            "content": [{"type": "text", "text": leak}],
            "structuredContent": {"apiKey": "k1", "token": {"a": "k2"}},
        }
        schema = {"type": "object", "properties": {"token": {"type": "string"}}}
        command = server_with(tmp_path, tools_list=tools("t", schema=schema), tools_call=answer)
        env = ("--env", "API_KEY=my-own-value", "--env", "LEVEL=structured")
        for format_ in ("text", "json"):
            done = cli("inspect", "--trace", "--format", format_, "--call", "t", *env, *command)
            for secret in ("hunter2", "sk-abcdef", "my-own-value", "k1", "k2"):
                assert secret not in done.out + done.err
        assert "hunter2" in cli("inspect", "--no-mask", "--call", "t", *command).out
        assert cli("inspect", "--format", "json", *env, *command).json["tools"][0]["inputSchema"] == schema

    def test_only_the_values_of_secret_headers_are_masked(self) -> None:
        mask = Mask.of({"X-Role": "author", "Authorization": "Bearer s3cret-1"}, {})
        said = {"author": "the author", "said": "Bearer s3cret-1", "twice": "s3cret-1"}
        assert mask.listing(said) == {"author": "the author", "said": "***", "twice": "***"}


class TestReferences:
    SCHEMA: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "issues": {"type": "array", "items": {"$ref": "#/$defs/NewIssue"}},
            "level": {"$ref": "#/$defs/Level"},
            "parent": {"anyOf": [{"$ref": "#/$defs/NewIssue"}, {"type": "null"}]},
            "lost": {"$ref": "#/$defs/Nowhere"},
        },
        "required": ["issues"],
        "$defs": {
            "NewIssue": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "parts": {"$ref": "#/$defs/NewIssue"}},
                "required": ["title"],
            },
            "Level": {"enum": ["low", "high"], "type": "string"},
            "Loop": {"$ref": "#/$defs/Loop"},
        },
    }

    def test_arguments_are_spelled_with_their_fields(self, tmp_path: Path, cli: Cli) -> None:
        assert spell_arguments(self.SCHEMA) == (
            "issues: NewIssue[], level?: low|high, parent?: NewIssue|null, lost?: any;"
            " NewIssue {title: string, parts?: NewIssue}"
        )
        loop = {"properties": {"a": {"$ref": "#/$defs/Loop"}}, "$defs": self.SCHEMA["$defs"]}
        assert spell_arguments(loop) == "a?: any"
        command = server_with(tmp_path, tools_list=tools("t", schema=self.SCHEMA))
        assert "NewIssue[]" in cli("inspect", *command).out

    def test_values_are_read_as_the_type_that_is_referred_to(self) -> None:
        tool = {"name": "t", "inputSchema": self.SCHEMA}
        assert parse_arguments(tool, ['issues=[{"title": "a"}]', "level=low", "parent=null"]) == {
            "issues": [{"title": "a"}],
            "level": "low",
            "parent": None,
        }
        with pytest.raises(InputError, match=r"issues: must be of type NewIssue\[\]"):
            parse_arguments(tool, ["issues=3"])


class TestPackage:
    def test_a_generated_package_is_spoken(self, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "own").mkdir()
        text = "from mcp_bindings.v2025_06_18 import BINDING, Client, ClientHandlers, ElicitResult, ListRootsResult"
        (tmp_path / "own" / "mcp.py").write_text(text, "utf-8")
        monkeypatch.chdir(tmp_path)
        assert "revision      2025-06-18" in cli("inspect", "--package", "own.mcp", *SUM).out

    @pytest.mark.parametrize(
        ("name", "why"), [("os", "has no bindings"), ("nowhere.x", "cannot be imported"), ("1", "not a package")]
    )
    def test_what_is_not_a_package_of_bindings_is_refused(self, name: str, why: str, cli: Cli) -> None:
        assert why in cli("inspect", "--package", name, *SUM, expect=2).err


class TestHostileServers:
    @pytest.mark.parametrize("size", [200, pytest.param(2_000, marks=pytest.mark.slow)])
    def test_output_is_escaped_and_bounded(self, size: int, tmp_path: Path, cli: Cli) -> None:
        bad = "\x1b[2J\u202e\x07[bold]" * size
        listed = [
            {"name": f"{bad}{n}", "description": bad, "inputSchema": {bad: 1, "properties": {bad: {"type": bad}}}}
            for n in range(20)
        ]
        hello = {
            **answering.INITIALIZED,
            "instructions": bad,
            "serverInfo": {"name": bad, "version": bad, "title": bad},
        }
        resources = {"resources": [{"uri": bad, "name": bad, "mimeType": bad}]}
        prompts = {"prompts": [{"name": bad, "arguments": [{"name": bad}] * (size // 2)}]}
        command = server_with(
            tmp_path, initialize=hello, tools_list={"tools": listed}, resources_list=resources, prompts_list=prompts
        )
        done = cli("inspect", "--trace", *command)
        assert (done.out + done.err).replace("\n", "").isprintable()
        assert len(done.out) < 40 * inspected.MAX_TEXT
        assert "[bold]" in done.out

    def test_a_long_list_is_cut_in_the_table(self, tmp_path: Path, cli: Cli) -> None:
        command = server_with(tmp_path, tools_list=tools(*(f"t{n}" for n in range(1_000)), schema={"type": "object"}))
        printed = cli("inspect", *command).out
        assert "and 800 more (--format json has all)" in printed
        assert len(cli("inspect", "--format", "json", *command).json["tools"]) == 1_000

    @pytest.mark.slow
    def test_an_endless_list_is_cut_off(self, tmp_path: Path, cli: Cli) -> None:
        answer = {**tools("t"), "nextCursor": "again"}
        assert (
            "note: tools/list: a cursor was repeated" in cli("inspect", *server_with(tmp_path, tools_list=answer)).out
        )


class TestSkills:
    SERVER = ("--", sys.executable, str(EXAMPLES / "skills_server.py"))
    URI = "skill://pdf-processing/SKILL.md"

    def test_skills_are_shown_in_a_table(self, cli: Cli) -> None:
        assert cli("inspect", "--skills", *self.SERVER).out == """\
1 skill
skill                            files  description
skill://pdf-processing/SKILL.md  2      Extract text from PDF documents, and fill in their forms
"""

    def test_one_is_loaded_and_verified(self, cli: Cli) -> None:
        assert "To fill in a form" in cli("inspect", "--skills", self.URI, *self.SERVER).out
        found = json.loads(cli("inspect", "--skills", self.URI, "--format", "json", *self.SERVER).out)
        assert len(found["skill"]["resources"]) == 2

    def test_what_is_not_there_is_one_line(self, cli: Cli) -> None:
        done = cli("inspect", "--skills", "skill://x/SKILL.md", *self.SERVER, expect=2)
        assert "there is no skill skill://x/SKILL.md" in done.err and len(done.err.splitlines()) == 1
        assert "does not declare io.modelcontextprotocol/skills" in cli("inspect", "--skills", *SUM, expect=2).err
        assert "at most one URI" in cli("inspect", "--skills", "x", *self.SERVER, expect=2).err

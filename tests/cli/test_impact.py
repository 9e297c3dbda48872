"""`mcp-bindgen impact`: what a user sees, in which form, with which exit status."""

import json
import os
import sys
from pathlib import Path

import pytest

from support.command import Cli

REVISIONS = ("--from", "2025-11-25", "--to", "2026-07-28")
APP = """from mcp_bindings.v2025_11_25 import Client, Tool


async def refresh(client: Client) -> None:
    await client.ping()


def show(tool: Tool) -> None:
    print(tool.execution)


def guess(tool) -> None:
    print(tool.execution)
"""
CHECKERS = ["ty", *(pytest.param(name, marks=pytest.mark.slow) for name in ("pyright", "pyrefly"))]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("app")
def test_it_lists_the_lines_with_the_advice(cli: Cli) -> None:
    outcome = cli("impact", "src", *REVISIONS, expect=1)
    assert outcome.out == (
        "2025-11-25 to 2026-07-28: 2 lines of 1 file affected\n"
        "\n"
        "src/app.py\n"
        "  5: await client.ping()\n"
        "      request-method-removed: PingRequest: ping\n"
        "  9: print(tool.execution)\n"
        "      property-removed-optional: Tool.execution: ToolExecution\n"
        "\n"
        "What to do\n"
        "  property-removed-optional: An optional property was removed. Peers that still send it are ignored."
        " Do not rely on it.\n"
        "  request-method-removed: A request was removed, or is no longer sent in this direction."
        " Stop sending it to peers of the new revision.\n"
        "\n"
        "1 use could not be resolved and may be affected too\n"
        "  src/app.py:13:16: execution: the type of the object is not known\n"
    )
    assert outcome.err == ""


@pytest.mark.slow
def test_verbose_lists_every_unresolved_use(cli: Cli, app: Path) -> None:
    lines = "".join(f"def f{n}(t):\n    print(t.execution)\n" for n in range(30))
    (app / "src" / "app.py").write_text(APP + lines)
    assert "  and 11 more; --verbose lists them all\n" in cli("impact", "src", *REVISIONS, expect=1).out
    assert "src/app.py:73:13: execution" in cli("impact", "src", *REVISIONS, "--verbose", expect=1).out


@pytest.mark.usefixtures("app")
def test_json_has_every_use(cli: Cli) -> None:
    answer = cli("impact", "src", *REVISIONS, "--format", "json", expect=1).json
    assert (answer["old"], answer["new"], answer["files"]) == ("2025-11-25", "2026-07-28", 1)
    assert [(t["file"], t["line"], t["column"], t["name"]) for t in answer["affected"]] == [
        ("src/app.py", 5, 18, "Client.ping"),
        ("src/app.py", 9, 16, "Tool.execution"),
    ]
    first = answer["affected"][0]
    assert (first["rule"], first["use"], first["code"]) == ("request-method-removed", "calls it", "await client.ping()")
    assert first["severity"] == "error" and first["advice"] and first["purpose"] and first["fingerprint"]
    assert [(u["line"], u["name"]) for u in answer["unresolved"]] == [(13, "execution")]


@pytest.mark.slow
@pytest.mark.usefixtures("app")
def test_the_exit_status_follows_fail_on(cli: Cli, app: Path) -> None:
    cli("impact", "src", *REVISIONS, "--fail-on", "never")
    cli("impact", "src", *REVISIONS, "--fail-on", "error", expect=1)
    (app / "src" / "app.py").write_text(APP.replace("    await client.ping()\n", "    print(client)\n"))
    cli("impact", "src", *REVISIONS, "--fail-on", "error")
    cli("impact", "src", *REVISIONS, "--fail-on", "warning", expect=1)


@pytest.mark.usefixtures("app")
def test_nothing_changes_between_a_revision_and_itself(cli: Cli) -> None:
    outcome = cli("impact", "src", "--from", "2025-11-25", "--to", "2025-11-25")
    assert outcome.out == "2025-11-25 to 2025-11-25: 0 lines of 1 file affected\n"


def test_code_without_bindings_gets_a_hint(cli: Cli, app: Path) -> None:
    (app / "src" / "app.py").write_text("print(1)\n")
    outcome = cli("impact", "src", *REVISIONS)
    assert "does not use mcp_bindings.v2025_11_25: check --from and --package" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "settings", "module"),
    [
        (("--package", "acme.mcp"), "", "acme.mcp"),
        (("--package", "acme.mcp"), "", "acme.mcp.v2025_11_25"),
        ((), 'package = "acme.mcp"\nrevisions = ["2025-11-25"]', "acme.mcp"),
        ((), 'package = "acme.mcp"\nrevisions = ["2025-11-25", "2026-07-28"]', "acme.mcp.v2025_11_25"),
        ((), 'out = "src"', "mcp_bindings.v2025_11_25"),
    ],
)
def test_bindings_in_a_custom_package_are_found(
    cli: Cli, app: Path, options: tuple[str, ...], settings: str, module: str
) -> None:
    (app / "pyproject.toml").write_text(f"[tool.mcp-bindgen]\n{settings}\n")
    (app / "src" / "app.py").write_text(APP.replace("mcp_bindings.v2025_11_25", module))
    assert "2 lines of 1 file affected" in cli("impact", "src", *REVISIONS, *options, expect=1).out


@pytest.mark.parametrize("checker", CHECKERS)
def test_names_of_the_newest_revision_are_those_of_the_package(cli: Cli, app: Path, checker: str) -> None:
    (app / "src" / "app.py").write_text(
        "from mcp_bindings import METHODS, Tool\n"
        "from mcp_bindings.v2025_06_18 import Tool as Old\n"
        "def show(tool: Tool, old: Old) -> None:\n"
        "    print(old.title, METHODS)\n"
        "    print(tool.title)\n"
    )
    root = Path(__file__).resolve().parents[2]
    schema = json.loads((root / "schema" / "2026-07-28" / "schema.json").read_bytes())
    del schema["$defs"]["BaseMetadata"]["properties"]["title"], schema["$defs"]["Tool"]["properties"]["title"]
    (app / "schema.json").write_text(json.dumps(schema))
    options = ("--from", "2026-07-28", "--to", "schema.json", "--format", "json", "--checker", checker)
    answer = cli("impact", "src", *options, expect=1).json
    assert {(each["line"], each["name"]) for each in answer["affected"]} == {(5, "Tool.title")}
    assert answer["unresolved"] == []


@pytest.mark.slow
@pytest.mark.usefixtures("without_formatting")
def test_generated_bindings_are_not_scanned(cli: Cli, app: Path) -> None:
    cli("generate", "2025-11-25", "--out", "src", "--package", "acme.mcp")
    (app / "src" / "app.py").write_text(APP.replace("mcp_bindings.v2025_11_25", "acme.mcp"))
    assert "2 lines of 1 file affected" in cli("impact", "src", *REVISIONS, "--package", "acme.mcp", expect=1).out


@pytest.mark.slow
def test_a_custom_schema_is_compared(cli: Cli, app: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    schema = json.loads((root / "schema" / "2025-11-25" / "schema.json").read_bytes())
    schema["$defs"]["Tool"]["required"].append("title")
    (app / "2025-11-25").mkdir()
    (app / "2025-11-25" / "schema.json").write_text(json.dumps(schema))
    (app / "src" / "app.py").write_text(
        "from mcp_bindings.v2025_11_25 import Tool, ToolInputSchema\n"
        "a = Tool(name='a', input_schema=ToolInputSchema())\n"
        "b = Tool(name='b', input_schema=ToolInputSchema(), title='B')\n"
    )
    answer = cli(
        "impact", "src", "--from", "2025-11-25", "--to", "2025-11-25/schema.json", "--format", "json", expect=1
    )
    assert [(t["line"], t["rule"]) for t in answer.json["affected"]] == [(2, "property-now-required")]


def test_calls_without_a_newly_required_argument_are_listed(cli: Cli, app: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    schema = json.loads((root / "schema" / "2025-11-25" / "schema.json").read_bytes())
    params = schema["$defs"]["CallToolRequestParams"]
    params["properties"]["trace"] = {"type": "string"}
    params["required"].append("trace")
    (app / "schema.json").write_text(json.dumps(schema))
    (app / "src" / "app.py").write_text(
        "from mcp_bindings.v2025_11_25 import Client\n"
        "async def call(client: Client) -> None:\n"
        "    await client.call_tool(name='x')\n"
        "    await client.list_tools()\n"
    )
    answer = cli("impact", "src", "--from", "2025-11-25", "--to", "schema.json", "--format", "json", expect=1).json
    assert [(t["line"], t["rule"], t["name"]) for t in answer["affected"]] == [
        (3, "property-added-required", "Client.call_tool")
    ]


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("missing", *REVISIONS), "no such file or folder"),
        (("src", "--from", "2019-01-01", "--to", "2026-07-28"), "neither a released revision"),
        (("src", *REVISIONS, "--package", "no package"), "is not a package name"),
        (("src", "--from", "2025-11-25"), "Missing option"),
    ],
)
def test_bad_input(cli: Cli, arguments: tuple[str, ...], reason: str) -> None:
    outcome = cli("impact", *arguments, expect=2)
    assert reason in outcome.err
    assert outcome.out == ""


def test_a_folder_without_python(cli: Cli, tmp_path: Path) -> None:
    assert "contains no Python file" in cli("impact", tmp_path, *REVISIONS, expect=2).err


def test_files_that_cannot_be_read_are_skipped(cli: Cli, app: Path) -> None:
    (app / "src" / "broken.py").write_text("def f(:\n")
    (app / "src" / "deep.py").write_text("x = " + "-" * 200_000 + "1\n")
    (app / "src" / "zero.py").write_bytes(b"x = '\0'\n")
    outcome = cli("impact", "src", *REVISIONS, "--verbose", expect=1)
    assert "2 lines of" in outcome.out
    for name in ("broken.py:1", "deep.py", "zero.py"):
        assert f"src/{name}: skipped: " in outcome.err


def test_a_file_that_cannot_be_read_fails_the_gate(cli: Cli, app: Path) -> None:
    (app / "src" / "app.py").write_text("from mcp_bindings.v2025_11_25 import Tool\n")
    (app / "src" / "broken.py").write_text("def f(:\n")
    outcome = cli("impact", "src", *REVISIONS, "--format", "json", expect=1)
    assert outcome.json["unreadable"] == ["src/broken.py"]
    assert "src/broken.py:1: skipped: " in outcome.err
    cli("impact", "src", *REVISIONS, "--skip-unreadable")
    cli("impact", "src", *REVISIONS, "--fail-on", "never")


@pytest.mark.slow
def test_source_text_is_escaped_in_the_report(cli: Cli, app: Path) -> None:
    (app / "src" / "app.py").write_text(APP + "print(Tool(name='\x1b[31m', input_schema=None).execution)\n")
    assert "\x1b" not in cli("impact", "src", *REVISIONS, expect=1).out


def test_sarif_has_every_line(cli: Cli, app: Path) -> None:
    log = json.loads(cli("impact", "src", *REVISIONS, "--format", "sarif", expect=1).out)
    results = log["runs"][0]["results"]
    lines = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in results]
    assert [(line, result.get("ruleId")) for line, result in zip(lines, results, strict=True)] == [
        (5, "request-method-removed"),
        (9, "property-removed-optional"),
        (13, None),
    ]


def test_marks_writes_stubs_in_which_changes_are_deprecated(cli: Cli, app: Path) -> None:
    cli("impact", "--stubs", "typings", *REVISIONS)
    stub = (app / "typings" / "mcp_bindings" / "v2025_11_25" / "tools.pyi").read_text()
    assert "@deprecated('property-removed-optional: Tool.execution" in stub
    assert "give files or folders to check" in cli("impact", *REVISIONS, expect=2).err


def fake(folder: Path, name: str, code: str) -> None:
    """Put a program on a path that answers like a checker."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport sys\nif '--version' in sys.argv:\n    print('{name} 9.9')\n{code}")
    program.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("else:\n    print('no JSON')", "wrote something that mcp-bindgen does not understand"),
        ("else:\n    print('[{}]')", "wrote something that mcp-bindgen does not understand"),
        ("else:\n    sys.exit('panicked')", ""),
        ("else:\n    print('lost', file=sys.stderr)\n    sys.exit(101)", "failed with exit status 101: lost"),
        ("else:\n    import time\n    time.sleep(60)", "still running after 0.2 seconds"),
    ],
)
@pytest.mark.usefixtures("app")
def test_a_checker_that_fails_is_named_with_its_version(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    fake(tmp_path / "bin", "ty", code)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("mcp_bindgen.impact.checkers.MAX_SECONDS", 0.2 if "sleep" in code else 30)
    outcome = cli("impact", "src", *REVISIONS, expect=2)
    assert "ty 9.9" in outcome.err and reason in outcome.err
    assert outcome.out == ""


@pytest.mark.usefixtures("app")
def test_a_missing_checker_is_an_error_that_says_what_to_install(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    assert "pip install 'mcp-bindgen[impact]'" in cli("impact", "src", *REVISIONS, expect=2).err


SETTINGS = {
    "ty": "[tool.ty.src]\nexclude = ['src']\n[tool.ty.rules]\ndeprecated = 'ignore'\n"
    "[tool.ty.environment]\nextra-paths = ['lib']\n",
    "pyright": "[tool.pyright]\nexclude = ['src']\nignore = ['src']\nstrict = ['src']\nreportDeprecated = false\n"
    "extraPaths = ['lib']\n",
    "pyrefly": "[tool.pyrefly]\nproject-excludes = ['src']\nsearch-path = ['lib']\n"
    "[tool.pyrefly.errors]\ndeprecated = false\n",
}
"""Settings by which a checker reports nothing, and finds modules in another folder."""


@pytest.mark.parametrize("checker", CHECKERS)
def test_excluded_and_ignored_code_is_checked_and_settings_say_where_modules_are(
    cli: Cli, app: Path, checker: str
) -> None:
    (app / "pyproject.toml").write_text(SETTINGS[checker])
    (app / ".gitignore").write_text("src\n")
    known = APP.partition("\n\ndef guess")[0].replace("print(tool.execution)", "print(tool.execution)  # type: ignore")
    (app / "src" / "app.py").write_text(known)
    (app / "lib").mkdir()
    (app / "lib" / "shared.py").write_text("from mcp_bindings.v2025_11_25 import Tool\ndef make() -> Tool: ...\n")
    text = "import mcp_bindings.v2025_11_25\nfrom shared import make\nprint(make().execution)\n"
    (app / "src" / "other.py").write_text(text)
    answer = cli("impact", "src", *REVISIONS, "--checker", checker, "--format", "json", expect=1).json
    affected = [(each["file"], each["line"]) for each in answer["affected"]]
    assert affected == [("src/app.py", 5), ("src/app.py", 9), ("src/other.py", 3)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and links")
@pytest.mark.usefixtures("app")
@pytest.mark.timeout(30)
def test_only_regular_files_below_the_folder_are_read(cli: Cli, tmp_path: Path) -> None:
    """A tree may come from anywhere: git keeps links, and a name may be any bytes."""
    (tmp_path / "secret.py").write_text(APP)
    os.mkfifo("src/pipe.py")
    for name, target in {"device": "/dev/zero", "outside": str(tmp_path / "secret.py"), "loop": "loop.py"}.items():
        Path(f"src/{name}.py").symlink_to(target)
    Path("src/inside.py").symlink_to("app.py")
    Path("src/large.py").write_bytes(b"#" * 11_000_000)
    Path(os.fsdecode(b"src/\xff.py")).write_text(APP)
    done = cli("impact", "src", *REVISIONS, "--skip-unreadable", expect=1)
    assert "2 lines of 1 file affected" in done.out
    for name, reason in {
        "pipe.py": "not a regular file",
        "device.py": "a link that leads out of the folder",
        "outside.py": "a link that leads out of the folder",
        "large.py": "larger than 4,000,000 bytes",
        "loop.py": "Too many levels of symbolic links",
        "\\xff.py": "its name is not UTF-8",
    }.items():
        assert f"src/{name}: skipped: {reason}" in done.err

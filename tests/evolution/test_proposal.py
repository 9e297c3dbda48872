"""`mcp-bindgen proposal`: what changes, what the text leaves out, bindings, the bridge, and what is left to write."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.evolution.read import read_sides
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import MAX_BYTES
from support.command import Cli
from support.official import upstream
from support.programs import quick_python
from support.web import serving

NEWEST = list(released())[-1]
PROPOSALS = upstream() / "proposals"
EXPECTED: dict[str, tuple[set[tuple[str, str]], set[str]]] = {
    "2293": ({("union-member-added", "CompleteResultCompletion.values[]")}, set()),
    "2487": (set(), set()),
    "2614": (set(), set()),
    "2631": (
        {
            ("property-now-optional", f"{result}.resultType")
            for result in (
                *("CallToolResult", "CompleteResult", "DiscoverResult", "GetPromptResult", "ListPromptsResult"),
                *("ListResourceTemplatesResult", "ListResourcesResult", "ListToolsResult", "ReadResourceResult"),
                "Result",
            )
        },
        {
            *("resultType", "tasks", "URL_ELICITATION_REQUIRED", "URLElicitationRequiredError"),
            *("FileInputTransferMode", "FileTransport", "UriFilePayload"),
        },
    ),
    "2632": (set(), set()),
    "2678": (set(), set()),
    "3185": (set(), set()),
    "662": (set(), {"mimeType"}),
    "813": (set(), {"title"}),
}
"""The breaks of each open proposal, and the names that its text leaves out: read by hand in the schema and the text."""
RUNS = '''
import asyncio
from mcp_runtime.memory import connect_memory
from proposal_bindings import App, Client, Implementation

app = App("kitchen", version="1")

@app.tool()
def add(a: int, b: int) -> int:
    """Add."""
    return a + b

async def main():
    async with connect_memory(app) as peer:
        client = await Client.open(peer)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool(name="add", arguments={"a": 1, "b": 2})
        keywords = Implementation(name="kitchen", version="1", keywords=["spoons", "bowls"]).keywords
        print(tools, result.structured_content, keywords)

asyncio.run(main())
'''
"""A client and a server, both written against the bindings of a proposal."""
MOCKED = """
import asyncio, sys
from mcp_runtime.core.transports.stdio import connect_stdio
from proposal_bindings import Client

async def main():
    async with connect_stdio(sys.executable, "-m", "mcp_bindgen", "mock", *sys.argv[1:]) as peer:
        client = await Client.open(peer)
        print([tool.name for tool in (await client.list_tools()).tools])
        print((await client.call_tool(name="add")).structured_content)

asyncio.run(main())
"""
"""A client of a proposal, and a mock of its package."""
PAGE = """# Keywords

Servers say what they are about in `keywords`.

```ts
interface Implementation {
  keywords?: Keyword[];
}
export type Keyword = string;
```

```json
{"name": "not TypeScript"}
```
"""


def run(code: str, folder: Path, *words: str) -> str:
    """Run a program with the package that is in a folder."""
    done = subprocess.run([quick_python(), "-c", code, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("without_formatting")
@pytest.mark.skipif(not PROPOSALS.is_dir(), reason="the proposals are not here (set MCP_UPSTREAM)")
class TestOpenProposals:
    def test_each_is_expected(self) -> None:
        assert {path.name for path in PROPOSALS.iterdir()} == EXPECTED.keys()

    @pytest.mark.parametrize("name", EXPECTED)
    def test_breaks_and_omissions_are_those_found_by_hand(self, cli: Cli, tmp_path: Path, name: str) -> None:
        folder = PROPOSALS / name
        words = ("--base", folder / "base.ts", "--text", folder / "text.md", "--out", tmp_path, "--format", "json")
        found = cli("proposal", folder / "head.ts", *words).json
        breaks, omitted = EXPECTED[name]
        errors = [each for each in found["diff"]["findings"] if each["severity"] == "error"]
        assert {(each["rule"], each["place"]) for each in errors} == breaks
        assert {each["name"] for each in found["unmentioned"]} == omitted
        run("import proposal_bindings; from proposal_bindings import App, Client; App('x')", tmp_path)

    def test_together_they_are_a_package_that_runs(self, cli: Cli, tmp_path: Path) -> None:
        """In the order given: all but the one that changes what the newest revision does not have."""
        names = [name for name in EXPECTED if name != "2487"]
        heads = [PROPOSALS / name / "head.ts" for name in names]
        bases = [word for name in names for word in ("--base", PROPOSALS / name / "base.ts")]
        told = cli("proposal", *heads, *bases, "--onto", NEWEST, "--out", tmp_path).out
        assert f"{NEWEST} to {NEWEST} (the merged proposals): 11 errors" in told
        assert run(RUNS, tmp_path) == "['add'] 3 ['spoons', 'bowls']\n"

    def test_a_request_that_no_union_lists_is_doubtful(self, cli: Cli) -> None:
        folder = PROPOSALS / "2631"
        told = cli("proposal", folder / "head.ts", "--base", folder / "base.ts").out
        assert "so the sender of files/authorizeUpload is unknown" in told
        assert "resultType: the runtime names it (mcp_runtime/" in told


def test_blocks_of_a_page_extend_the_newest_revision(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "keywords.md"
    page.write_text(PAGE, "utf-8")
    told = cli("proposal", page, "--text", page).out
    assert "New optional properties: keywords (Implementation)" in told
    assert "changed, and not mentioned in the text:\n  nothing\n" in told
    assert "properties that a peer of the base does not know, sent along:\n    Implementation.keywords\n" in told


@pytest.mark.slow
@pytest.mark.usefixtures("without_formatting")
def test_a_mock_of_the_package_serves_its_clients(cli: Cli, tmp_path: Path) -> None:
    page, lock = tmp_path / "keywords.md", tmp_path / "tools.lock.json"
    page.write_text(PAGE, "utf-8")
    output = {"type": "object", "properties": {"sum": {"const": 3}}, "required": ["sum"]}
    tool = {"name": "add", "inputSchema": {"type": "object"}, "outputSchema": output}
    lock.write_text(json.dumps({"format": 1, "server": {"name": "kitchen", "version": "1"}, "tools": [tool]}), "utf-8")
    cli("proposal", page, "--out", tmp_path)
    told = run(MOCKED, tmp_path, "--lock", str(lock), "--package", "proposal_bindings")
    assert told == "['add']\n{'sum': 3}\n"
    session = cli("mock", "--session", lock, "--package", "proposal_bindings", expect=2).err
    assert "--package are for a lock file" in session


def test_a_url_is_read_as_its_file_is(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "keywords.md").write_text(PAGE, "utf-8")
    (tmp_path / "page.html").write_text("<!DOCTYPE html>\n<html><body>interface Foo</body></html>", "utf-8")
    with serving(tmp_path) as url:
        assert "New optional properties: keywords (Implementation)" in cli("proposal", f"{url}/keywords.md").out
        for name, said in (
            ("lost.ts", "the server answered 404"),
            ("page.html", "this is a web page; give the address of the file itself (on GitHub: Raw)"),
        ):
            assert cli("proposal", f"{url}/{name}", expect=2).err == f"error: {url}/{name}: {said}\n"


def test_blocks_that_declare_nothing_are_prose(cli: Cli, tmp_path: Path) -> None:
    """A text shows a property before and after the change, and the new type where it explains it and at its end."""
    page = tmp_path / "keywords.md"
    page.write_text(
        f"{PAGE}\n```typescript\n// Before\nnames: string[];\n```\n{PAGE}\n~~~ts\ntype Last = string;", "utf-8"
    )
    assert "New optional properties: keywords (Implementation)" in cli("proposal", page).out
    assert {"Keyword", "Last"} <= read_sides([str(page)], [NEWEST], None).declared


def test_a_block_that_does_not_parse_is_left_out(cli: Cli, tmp_path: Path) -> None:
    """Each is a line of the report, and the other blocks are read."""
    page = tmp_path / "sketch.md"
    sketch = "```ts\ninterface Tool {\n  <as before>\n}\n```\n"
    page.write_text(f"{sketch}\n{PAGE}\n{sketch}", "utf-8")
    told = cli("proposal", page).out
    assert "New optional properties: keywords (Implementation)" in told
    assert told.count("this block is left out: syntax error") == 2
    assert "sketch.md:3:" in told
    page.write_text(sketch, "utf-8")
    assert "syntax error" in cli("proposal", page, expect=2).err


@pytest.mark.slow
def test_a_union_that_names_itself_gains_alternatives(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "song.md"
    page.write_text("```ts\ntype ContentBlock = ContentBlock | Song\ninterface Song { type: 'song' }\n```\n", "utf-8")
    added = {each["new"] for each in cli("proposal", page, "--format", "json").json["diff"]["findings"]}
    assert "Song" in added and "TextContent" not in added


def test_a_plain_word_counts_only_in_code(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "keywords.md"
    page.write_text(PAGE, "utf-8")
    empty = tmp_path / "prose.txt"
    empty.write_text("keywords are words, said of a Keyword", "utf-8")
    omitted = cli("proposal", page, "--text", empty, "--format", "json").json["unmentioned"]
    assert [each["name"] for each in omitted] == ["keywords"]


@pytest.mark.slow
def test_names_from_a_schema_are_text_in_every_format(cli: Cli, tmp_path: Path) -> None:
    page, text = tmp_path / "names.md", tmp_path / "text.txt"
    members = r'"\u001b[31mred\u202e"?: string; "a\nb"?: string; "<script>`x`</script>"?: string'
    page.write_text(f"```ts\ninterface Implementation {{ {members} }}\n```\n", "utf-8")
    text.write_text("", "utf-8")
    told = [cli("proposal", page, "--text", text, *more).out for more in ([], ["--all"], ["--format", "issue"])]
    assert all(char == "\n" or char.isprintable() for page in told for char in page)
    assert "  a\\nb: - -> string (property-added-optional), in Implementation.a\\nb\n" in told[0]
    assert "\n- ``<script>`x`</script>``: " in told[2]


def test_what_generation_cannot_know_is_listed(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "oven.md"
    page.write_text(
        "```ts\ninterface ServerCapabilities { oven?: { timer?: boolean }; }\n"
        'interface BakeRequest extends JSONRPCRequest { method: "oven/bake"; params: RequestParams; }\n'
        "type ClientRequest = BakeRequest | DiscoverRequest;\n```\n",
        "utf-8",
    )
    found: Any = cli("proposal", page, "--format", "json").json
    work = {each["what"]: each for each in found["by_hand"]}
    assert work["ServerCapabilities.oven (ServerCapabilitiesOven)"]["work"].startswith("what it permits")
    assert work["oven/bake"]["files"] == ["schema/capabilities.toml"]
    (named,) = (each for what, each in work.items() if "resources/read" in what.split(", "))
    assert named["work"] == "the runtime names it" and named["files"]
    assert any("BakeRequest" in what and each["files"] == ["schema/docs.toml"] for what, each in work.items())


def test_a_commit_stands_for_the_draft_in_it(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schema = tmp_path / "schema" / "draft" / "schema.ts"
    page = tmp_path / "keywords.md"
    page.write_text(PAGE, "utf-8")
    schema.parent.mkdir(parents=True)
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")
    schema.write_bytes(read_sides([str(page)], [NEWEST], None).head.source.data)
    for command in (["init", "-q"], ["add", "schema"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert "New optional properties: keywords (Implementation)" in cli("proposal", "HEAD").out
    for words in (["nowhere"], ["nowhere:schema.ts"], ["HEAD:nowhere.ts"], ["HEAD", "--base", "nowhere"]):
        told = cli("proposal", *words, expect=2).err
        assert "nowhere" in told and ": git cannot show it: " in told and told.count("\n") == 1
    huge = subprocess.run(
        [*git, "hash-object", "-w", "--stdin"], input=b"x" * (MAX_BYTES + 1), capture_output=True, check=True
    )
    tree = subprocess.run(
        [*git, "mktree"], input=b"100644 blob " + huge.stdout.strip() + b"\thuge.ts\n", capture_output=True, check=True
    )
    side = f"{tree.stdout.decode().strip()}:huge.ts"
    assert cli("proposal", side, expect=2).err == f"error: {side}: larger than 16 MiB, the maximum size of a schema\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("prose.ts", "Only words. They say: nothing!", ":1:1: syntax error at 'Only words. They'"),
        ("lost.ts", "interface A { b: Lost }", ":1:18: type 'Lost' is not declared in this file"),
        ("prose.md", "Only words.", "no TypeScript in it: types are read from blocks fenced with ```ts"),
        ("lost.md", "```ts\ninterface A { b: Lost }\n```\n", ":2:18: type 'Lost' is not declared in this file"),
        ("huge.md", "x" * (50 * 2**20), "larger than 16 MiB, the maximum size of a schema"),
        ("schema.json", "{}", "a schema.json; a proposal and its base are read from a schema.ts"),
        ("empty.ts", "", "not an MCP schema: no message was found in it"),
    ],
)
def test_bad_input_is_one_line(cli: Cli, tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    told = cli("proposal", path, expect=2).err
    assert told.startswith(f"error: {path}") and said in told and told.count("\n") == 1


def test_bases_are_one_or_as_many_as_proposals(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "keywords.md"
    path.write_text(PAGE, "utf-8")
    told = cli("proposal", path, "--base", NEWEST, "--base", NEWEST, expect=2).err
    assert told == "error: --base: given 2 times for 1 proposals; give one base for all, or one for each\n"

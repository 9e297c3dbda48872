"""`mcp-bindgen proposal`: what changes, what the text leaves out, bindings, the bridge, and what is left to write."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ingest.revisions import released
from support.command import Cli
from support.official import upstream

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


@pytest.mark.slow
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
        code = "import proposal_bindings; from proposal_bindings import App, Client; App('x')"
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)

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
    empty = tmp_path / "prose.txt"
    empty.write_text("keywords are words, said of a Keyword", "utf-8")
    omitted = cli("proposal", page, "--text", empty, "--format", "json").json["unmentioned"]
    assert [each["name"] for each in omitted] == ["keywords"], "a plain word counts only in code"


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
    cli("proposal", page, "--out", "made")
    schema.parent.mkdir(parents=True)
    git = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")
    schema.write_bytes((tmp_path / "made" / "schema.ts").read_bytes())
    for command in (["init", "-q"], ["add", "schema"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert "New optional properties: keywords (Implementation)" in cli("proposal", "HEAD").out
    assert cli("proposal", "nowhere", expect=2).err.startswith(
        "error: nowhere:schema/draft/schema.ts: git cannot show it: "
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("prose.md", "Only words.", "no TypeScript in it: types are read from blocks fenced with ```ts"),
        ("lost.md", "```ts\ninterface A { b: Lost }\n```\n", ":2:18: type 'Lost' is not declared in this file"),
        ("huge.md", "x" * (17 * 2**20), "larger than 16 MiB, the maximum size of a schema"),
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

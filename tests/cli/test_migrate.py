"""`mcp-bindgen migrate`: a guide that a person can work through."""

import ast
import asyncio
import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.impact.topics import NOTES
from mcp_bindgen.ingest.revisions import released
from support.command import Cli
from support.documents import ROOT
from support.samples import LEGACY
from support.together import together

PAIRS = list(pairwise(released()))
MAX_LINES = 620


_guides: dict[tuple[str, str], str] = {}


def guide(cli: Cli, old: str, new: str) -> str:
    """Return the guide from one revision to another, which is written once."""
    if (old, new) not in _guides:
        _guides[old, new] = cli("migrate", old, new).out
    return _guides[old, new]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_every_real_pair_has_a_guide(cli: Cli, old: str, new: str) -> None:
    text = guide(cli, old, new)
    lines = text.splitlines()
    assert lines[0] == f"# From {old} to {new}"
    headings = [line for line in lines if line.startswith("## ")]
    assert [heading for heading in headings if heading not in ("## Methods", "## Capabilities")] == [
        "## What changes",
        "## Checklist",
        "## Topic by topic",
        "## For code that uses the bindings",
        "## Before and after",
    ]
    assert len(lines) < MAX_LINES
    assert "\n\n\n" not in text
    for box in re.findall(r"^- \[.*$", text, re.MULTILINE):
        assert box.startswith(("- [ ] ", "- [x] nothing")) or "The runtime does this for you" in box


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_its_examples_are_messages(cli: Cli, old: str, new: str) -> None:
    text = guide(cli, old, new)
    blocks = re.findall(r"```jsonc\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        parts = [line.strip() for line in block.strip().splitlines()]
        assert {part.removeprefix("// ") for part in parts if part.startswith("//")} <= {old, new}
        messages = [json.loads(part) for part in parts if not part.startswith("//") and not part.endswith("...")]
        assert messages == [] or all(isinstance(message, dict | list) for message in messages)
        assert len(messages) < 2 or messages[0] != messages[1]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_it_begins_with_the_story(cli: Cli, old: str, new: str) -> None:
    changes = section(guide(cli, old, new), "## What changes")
    story = json.loads(cli("diff", old, new, "--format", "json", "--fail-on", "never").out)["story"]
    assert [line.partition(":")[0] for line in changes.strip().split("\n")] == [f"- {line['title']}" for line in story]


def test_what_requests_still_state_is_not_gone(cli: Cli) -> None:
    changes = section(guide(cli, "2025-11-25", "2026-07-28"), "## What changes")
    assert "Properties gone" in changes and "progressToken" not in changes


def test_it_names_successors(cli: Cli) -> None:
    text = guide(cli, "2025-11-25", "2026-07-28")
    assert "| `resources/subscribe`: request, client to server | `subscriptions/listen` instead |" in text
    listens = "Use `subscriptions/listen` instead. The modern era listens with requests that stay open."
    assert f"{listens} `resources/subscribe`, `resources/unsubscribe`\n" in section(text, "## Checklist")
    assert "Use `io.modelcontextprotocol/logLevel` instead." in section(text, "## Checklist")
    assert "Use `io.modelcontextprotocol/tasks` instead. `CreateTaskResult`" in section(text, "## Checklist")
    assert "| `tasks/list`: request, both ways | - |" in text, "the extension has no such request"
    assert "in this direction. Nothing takes its place. `tasks/list`\n" in section(text, "## Checklist")
    back = guide(cli, "2026-07-28", "2025-11-25")
    assert "`io.modelcontextprotocol/tasks` instead" not in back


@pytest.mark.parametrize(("old", "new"), [*PAIRS, (PAIRS[0][0], PAIRS[-1][1])], ids="_to_".join)
def test_it_lists_by_heading_what_no_schema_shows(cli: Cli, old: str, new: str) -> None:
    rows = tomllib.loads((ROOT / "schema" / "changelog.toml").read_text("utf-8"))
    assert rows.keys() <= {after for _, after in PAIRS}
    site = "https://modelcontextprotocol.io/specification"
    text = guide(cli, old, new)
    for revision, headings in rows.items():
        for heading, points in headings.items():
            address = f"{site}/{revision}/changelog#{heading.lower().replace(' ', '-')}"
            shown = "\n".join(
                [f"- [ ] [{heading} of {revision}]({address})", *(f"  - {each}" for each in points.values())]
            )
            assert (shown in text) is (old < revision <= new), (revision, heading)


def test_a_guide_back_lists_no_changelog(cli: Cli) -> None:
    assert "In what the schemas do not show" not in guide(cli, "2026-07-28", "2025-11-25")


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_it_hides_no_names(cli: Cli, old: str, new: str) -> None:
    text = guide(cli, old, new)
    assert not re.search(r"and 1 more\b", text)
    for part in ("## Checklist", "## Topic by topic", "## For code that uses the bindings"):
        assert not re.search(r" and \d+ more\b", section(text, part)), part


def test_it_says_what_the_runtime_does(cli: Cli) -> None:
    text = guide(cli, "2025-11-25", "2026-07-28")
    done = [line for line in section(text, "## Checklist").splitlines() if line.startswith("- [x]")]
    assert all("The runtime does this for you" in line for line in done)
    for name in ("`initialize`", "`_meta`", "clientCapabilities`", "`resultType`", "`ttlMs`", "`server/discover`"):
        assert any(name in line for line in done), name
    assert [line for line in done if "`CancelledNotificationParams.requestId`" in line]
    assert [line for line in done if "additional kind of result" in line and "`InputRequiredResult`" in line]


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_it_never_asks_for_what_the_runtime_and_the_bridges_do(cli: Cli, old: str, new: str) -> None:
    text = guide(cli, old, new)
    for advice in (
        "Always send",
        "to peers of the",
        "only if the peer",
        "one by one",
        "-32601",
        "at least with the error",
    ):
        assert advice not in text, advice


def test_code_is_told_what_reads_it_and_roles_what_to_answer(cli: Cli) -> None:
    text = guide(cli, "2025-06-18", "2025-11-25")
    code = section(text, "## For code that uses the bindings")
    assert "**Accept forms that you do not know.**" in code and "**Check which kind of result arrived.**" in code
    handlers = "Write a handler if you support it; the runtime refuses it otherwise. `tasks/cancel`"
    assert handlers in section(text, "## Checklist")
    assert "Check which kind of result arrived. `CreateTaskResult`" in section(text, "## Checklist")


def section(text: str, title: str) -> str:
    return text.split(f"\n{title}\n")[1].split(f"\n{title.split(maxsplit=1)[0]} ", maxsplit=1)[0]


def test_it_lists_what_each_role_has_to_do(cli: Cli) -> None:
    text = guide(cli, "2024-11-05", "2025-03-26")
    topics = section(text, "## Topic by topic")
    assert "- **client**: A form was added to a value's type. Your client refuses what a new server may send." in topics
    assert "  - `CallToolResult.content[]: AudioContent`; in `tools/call`" in topics
    assert '{"type": "audio", "data": "aGVsbG8=", "mimeType": "text/plain"}' in topics
    assert "- `CallToolResult`: `content`" in section(text, "## For code that uses the bindings")


def test_the_guide_to_2026_07_28(cli: Cli) -> None:
    text = guide(cli, "2025-11-25", "2026-07-28")
    methods = section(text, "## Methods")
    assert "| `initialize`: request, client to server | `server/discover` instead |" in methods
    assert "| `notifications/roots/list_changed`: notification, client to server | - |" in methods
    assert "| `roots/list`: request, server to client | `roots/list`: request, inside a result |" in methods
    assert "| - | `server/discover`: request, client to server |" in methods
    assert "| `server.tasks` | - |" in section(text, "## Capabilities")
    topics = section(text, "## Topic by topic")
    titles = re.findall(r"^### (.*)$", topics, re.MULTILINE)
    assert [title for title in titles if title == "Everything else"] == []
    assert {"Caching", "Errors", "Results and messages", "Tasks", "Subscriptions", "Tools"} <= set(titles)
    assert "`RESOURCE_NOT_FOUND: -32002 -> -32602`" in section(topics, "### Errors")
    assert "as `complete`" in section(topics, "### Results and messages")
    assert "Deprecated: `ClientCapabilities.roots`" in section(topics, "### Capabilities")


def test_every_note_applies_somewhere(cli: Cli) -> None:
    guides = [guide(cli, old, new) for old, new in PAIRS]
    assert [note.text for note in NOTES if not any(note.text in guide for guide in guides)] == []


def programs(text: str) -> dict[str, dict[str, str]]:
    """Return the programs of a guide: name of what they define, revision, code."""
    found: dict[str, dict[str, str]] = {"forecast": {}, "Weather": {}}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        revision = block.split(maxsplit=2)[1]
        found["forecast" if "def forecast" in block else "Weather"][revision] = block
    return found


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_its_code_runs(cli: Cli, old: str, new: str) -> None:
    found = programs(guide(cli, old, new))
    assert all(new in blocks for blocks in found.values())
    caller, answerer = (dict[str, Any](), dict[str, Any]())
    for name, defined in (("forecast", caller), ("Weather", answerer)):
        exec(compile(found[name][new], "guide", "exec"), defined)

    async def talk() -> str:
        async with together(caller["Client"], answerer["Weather"]()) as client:
            return str(await caller["forecast"](client))

    if new in LEGACY:
        assert asyncio.run(talk()) == "Sunny"
    else:
        result = asyncio.run(answerer["Weather"]().call_tool(None, None))
        assert '"resultType":"complete"' in result.model_dump_json()


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_its_programs_use_what_they_import(cli: Cli, old: str, new: str) -> None:
    text = guide(cli, old, new)
    for name, (block,) in ((name, blocks.values()) for name, blocks in programs(text).items()):
        what = "client" if name == "forecast" else "server"
        assert f"A {what} like this one only imports the bindings of {new} instead:" in text
        tree = ast.parse(block)
        imported = {a.name for node in tree.body if isinstance(node, ast.ImportFrom) for a in node.names}
        assert imported <= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def test_a_note_is_tied_to_a_form(cli: Cli) -> None:
    """Other forms of results do not make a guide speak of the one that asks the client."""
    assert "InputRequiredResult" not in guide(cli, "2025-06-18", "2025-11-25")
    assert "A server asks by answering with an `InputRequiredResult`" in guide(cli, "2025-11-25", "2026-07-28")


@pytest.mark.parametrize(("old", "new"), PAIRS, ids="_to_".join)
def test_it_says_what_it_covers_and_where_the_rest_is(cli: Cli, old: str, new: str) -> None:
    page = f"https://modelcontextprotocol.io/specification/{new}/changelog"
    covers = "This guide covers messages, types and methods. For everything else, read the"
    assert f"{covers} [changes of {new}]({page})." in guide(cli, old, new)


def test_names_of_the_bindings_are_python_names(cli: Cli) -> None:
    text = guide(cli, "2025-11-25", "2026-07-28").split("## For code that uses the bindings")[1]
    assert "- `CallToolRequestParams`: `meta=...`" in text and "`ListToolsResult`: `cache_scope" not in text
    assert "- `RequestParamsMeta` is `RequestMetaObject`" in text
    assert "`notify_initialized()`" in text
    assert "- `Tool`: `execution`" in text


def test_advice_suits_the_role(cli: Cli) -> None:
    topics = section(guide(cli, "2025-03-26", "2025-06-18"), "## Topic by topic")
    (line,) = [line for line in topics.splitlines() if line.startswith("- **client**: A request, or a direction")]
    assert "Write a handler" in line and "Send it only" not in line


def test_equal_revisions_leave_nothing_to_do(cli: Cli) -> None:
    assert guide(cli, "2025-11-25", "2025-11-25") == (
        "# From 2025-11-25 to 2025-11-25\n\nNothing changed: there is nothing to do.\n"
    )


def test_it_is_written_to_a_file(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("migrate", "2025-03-26", "2025-06-18", "--output", tmp_path / "guide.md")
    assert outcome.out == f"wrote {tmp_path / 'guide.md'}\n"
    assert (tmp_path / "guide.md").read_text("utf-8") == guide(cli, "2025-03-26", "2025-06-18")


def test_bad_input(cli: Cli, tmp_path: Path) -> None:
    assert "neither a released revision" in cli("migrate", "2019-01-01", "2025-06-18", expect=2).err
    place = tmp_path / "missing" / "guide.md"
    assert cli("migrate", "2025-03-26", "2025-06-18", "--output", place, expect=2).out == ""


def test_names_from_a_schema_cannot_break_out_of_the_text(cli: Cli, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    schema = json.loads((root / "schema" / "2025-11-25" / "schema.json").read_bytes())
    name = "a`b\n# heading <img src=x>"
    schema["$defs"]["Tool"]["properties"][name] = {"type": "string"}
    schema["$defs"]["Tool"]["required"].append(name)
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    text = cli("migrate", "2025-11-25", tmp_path / "schema.json").out
    assert "\n# heading" not in text
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"```jsonc.*?```", "", text, flags=re.DOTALL))
    assert "<img" not in outside

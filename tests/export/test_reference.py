"""The reference: complete, valid, self-contained, and unable to run what a foreign schema says."""

import base64
import hashlib
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from differential.subjects import REFUSED, Judge, subject
from mcp_bindgen.diff.compare import compare
from mcp_bindgen.emit.python.render import Templates
from mcp_bindgen.export.reference import SHELF, Examples, reference
from mcp_bindgen.ir.facts import result_struct
from mcp_bindgen.load.protocol import load_released
from support.command import Cli
from support.official import official_schema
from support.samples import REVISIONS, json_source

MAX_BYTES = 1_000_000
VOID = frozenset(("meta", "input", "br", "link"))


class Html(HTMLParser):
    """The elements of a page: what they are, where they lead, and whether they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.attributes: set[str] = set()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        values = dict(attrs)
        self.attributes |= values.keys()
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links |= {values["href"] or ""} if "href" in values else set()
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@cache
def text() -> str:
    """Return the page of the released revisions, without their differences."""
    return reference([load_released(revision) for revision in REVISIONS], {}, Templates(shelf=SHELF), "command")


@cache
def page() -> Html:
    """Return the same page, parsed."""
    return Html(text())


class TestPage:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_every_method_and_type_has_an_address(self, revision: str) -> None:
        protocol = load_released(revision)
        names = {*(method.name for method in protocol.methods), *protocol.definitions}
        assert names == {id_.partition("/")[2] for id_ in page().ids if id_.startswith(f"{revision}/")}

    def test_addresses_are_unique_and_every_link_has_a_target(self) -> None:
        assert page().open == []
        assert len(page().ids) == len(set(page().ids))
        assert all(link.startswith("#") for link in page().links)
        assert {unquote(link[1:]) for link in page().links} <= {unquote(id_) for id_ in page().ids}

    def test_nothing_is_fetched_and_no_handler_is_inline(self) -> None:
        assert page().tags.isdisjoint(("img", "iframe", "link", "object", "base"))
        assert not [name for name in page().attributes if name.startswith("on") or name in ("src", "style")]
        assert "cookie" not in text() and "localStorage" not in text()

    def test_the_policy_admits_just_its_style_and_script(self) -> None:
        policy = re.search(r'Security-Policy" content="([^"]*)"', text())
        assert policy is not None
        for tag in ("style", "script"):
            (source,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text(), re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
            assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy[1]
        assert policy[1].startswith("default-src &#39;none&#39;")

    def test_the_same_input_gives_the_same_page(self) -> None:
        protocols = [load_released(revision) for revision in REVISIONS]
        assert reference(protocols, {}, Templates(shelf=SHELF), "command") == text()

    def test_what_revisions_say_alike_is_on_the_page_once(self) -> None:
        entry = text().partition("<h3>BooleanSchema ")[2].partition("</article>")[0]
        assert entry.count('<div class="variant"') == 1
        assert 'data-revisions="2025-06-18 2025-11-25 2026-07-28"' in entry
        assert "since 2025-06-18" in entry

    def test_a_method_has_its_gate_its_sender_and_its_results(self) -> None:
        entry = text().partition("<h3>tools/call ")[2].partition("</article>")[0]
        assert "the capability tools, declared by the server" in entry
        assert "CallToolResult or CreateTaskResult" in entry and "CallToolResult or InputRequiredResult" in entry
        assert '<a href="#2026-07-28/ContentBlock">ContentBlock</a>[]' in entry
        assert "needs server.tasks.requests.tools.call" in entry and "since 2025-11-25" in entry

    def test_a_type_has_its_users(self) -> None:
        entry = text().partition("<h3>ModelHint ")[2].partition("</article>")[0]
        assert '<a href="#2026-07-28/sampling/createMessage">params of sampling/createMessage</a>' in entry

    def test_codes_stand_once(self) -> None:
        assert text().count("<code>INVALID_PARAMS</code>") == 1


@pytest.mark.slow
def test_changes_come_with_their_rules() -> None:
    old, new = (load_released(revision) for revision in REVISIONS[-2:])
    changes = {(old.revision, new.revision): compare(old, new, proven=False)}
    found = reference([old, new], changes, Templates(shelf=SHELF), "command", "rules.html")
    entry = found.partition("<h3>tools/call ")[2].partition("</article>")[0]
    assert f'{new.revision}, <a href="rules.html">result-alternative-added</a>' in entry
    assert "<div><code>CallToolResult</code>: <code>-</code> → <code>InputRequiredResult</code></div>" in entry


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_example_is_valid(revision: str) -> None:
    tried = subject(revision)
    official = Judge(json.loads(Path(official_schema(revision)).read_text("utf-8")))
    made = Examples(tried.protocol)
    for method in tried.protocol.methods:
        examples = list(made.of(method))
        kinds = {example.title.partition(" ")[2] for example in examples}
        assert len(kinds) >= (2 if result_struct(tried.protocol, method) else 1), method.name
        for example in examples:
            assert json.loads(example.text) == example.message
            if example.type:
                assert tried.judge.accepts(example.type, example.value), (method.name, example)
                assert tried.decode(example.type, json.dumps(example.value)) is not REFUSED
            if official.has_definition(example.type):
                assert official.accepts(example.type, example.value), (method.name, example)


def test_a_full_example_has_every_property() -> None:
    protocol = load_released(REVISIONS[-1])
    method = next(method for method in protocol.methods if method.name == "tools/list")
    result = next(example for example in Examples(protocol).of(method) if example.title == "Full result")
    tool = protocol.definitions["Tool"]
    assert result.value["tools"][0].keys() == {field.wire_name for field in getattr(tool, "fields")}  # noqa: B009


class TestCommand:
    @pytest.mark.slow
    def test_it_is_written_checked_and_small_enough(self, cli: Cli, tmp_path: Path) -> None:
        out = tmp_path / "protocol.html"
        assert cli("export", "reference", "--out", str(out)).out == f"wrote {out}\n"
        assert out.stat().st_size < MAX_BYTES
        assert out.read_text("utf-8").startswith("<!-- Generated by mcp-bindgen; do not edit.\n")
        assert cli("export", "reference", "--out", str(out), "--check").out == f"up to date: {out}\n"
        out.write_text(out.read_text("utf-8") + "\n", "utf-8")
        assert cli("export", "reference", "--out", str(out), "--check", expect=1).out == f"differs: {out}\n"

    @pytest.mark.slow
    def test_what_was_not_generated_is_not_replaced(self, cli: Cli, tmp_path: Path) -> None:
        out = tmp_path / "mine.html"
        out.write_text("mine", "utf-8")
        assert "not generated by mcp-bindgen" in cli("export", "reference", "--out", str(out), expect=2).err
        assert out.read_text("utf-8") == "mine"
        assert "a directory; name a file" in cli("export", "reference", "--out", str(tmp_path), expect=2).err

    def test_a_foreign_schema_is_text(self, cli: Cli, tmp_path: Path) -> None:
        hostile = "<script>alert(1)</script> ]]> [x](javascript:alert(1)) \u202egnp.exe \x1b[0m"
        definitions = {
            "PingRequest": {
                "type": "object",
                "description": hostile,
                "properties": {
                    "method": {"const": 'ping"><img src=x onerror=alert(1)>'},
                    "params": {"$ref": "#/$defs/Value"},
                },
                "required": ["method"],
            },
            "PingResult": {"type": "object"},
            "Value": {
                "type": "object",
                "description": hostile,
                "properties": {"<b>": {"$ref": "#/$defs/Value", "description": hostile}},
            },
            "ClientRequest": {"anyOf": [{"$ref": "#/$defs/PingRequest"}]},
        }
        path, out = tmp_path / "schema.json", tmp_path / "protocol.html"
        path.write_bytes(json_source(definitions).data)
        cli("export", "reference", "--out", str(out), "--schema", str(path), "--revision", "2099-01-01")
        found = out.read_text("utf-8")
        read = Html(found)
        assert read.tags.isdisjoint(("img", "b", "link")) and found.count("<script>") == 1
        assert not [link for link in read.links if not link.startswith("#")]
        assert {link[1:] for link in read.links} <= set(read.ids)
        assert "\u202e" not in found and "\x1b" not in found
        assert "<option>2099-01-01</option>" in found and 'id="2099-01-01/Value"' in found

    def test_a_template_of_the_user(self, cli: Cli, tmp_path: Path) -> None:
        folder, out = tmp_path / "mine", tmp_path / "protocol.html"
        folder.mkdir()
        (folder / "entry.html.j2").write_text("<p>{{ entry.name }} by me</p>\n", "utf-8")
        cli("export", "reference", "--out", str(out), "--templates", str(folder))
        assert "<p>tools/call by me</p>" in out.read_text("utf-8")
        (folder / "nosuch.j2").write_text("x", "utf-8")
        done = cli("export", "reference", "--out", str(out), "--templates", str(folder), expect=2)
        assert "not the name of a template" in done.err

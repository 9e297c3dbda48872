"""The formats of a report: each is well-formed, complete, and safe against hostile names."""

import json
import re
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree

import jsonschema
import pytest
from markdown_it import MarkdownIt

from mcp_bindgen.cli import diff, impact
from mcp_bindgen.diff.finding import Carrier, Pair, Travel
from mcp_bindgen.diff.report import github, html, junit, markdown, places, sarif, text
from mcp_bindgen.diff.report import json as json_report
from mcp_bindgen.diff.report.model import Report
from mcp_bindgen.diff.report.options import Options, Role
from mcp_bindgen.diff.rule import View
from mcp_bindgen.diff.rules import CATALOGUE
from mcp_bindgen.findings.baseline import Baseline, Row
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from support.findings import HOSTILE, finding, reported, with_sentence

STYLES = (Path(__file__).resolve().parents[2] / "templates" / "report" / "diff.css").read_text("utf-8")
SCHEMA = json.loads(Path(json_report.__file__).with_name("diff.schema.json").read_text("utf-8"))
FILE = places.SourceFile(
    "a,b: 100%/schema.json",
    SourceText(
        name="schema.json",
        kind=SourceKind.JSON_SCHEMA,
        data=b'{\n "$defs": {\n  "Tool": {\n   "properties": {\n    "x": {}\n}}}}',
    ),
)
ACCEPTED = Baseline(
    source="accepted.toml",
    rows=(
        Row(number=1, rule="property-added-required", path="*.resultType", reason="known | <b>`it`</b>\nto all"),
        Row(number=2, rule="type-changed", path=HOSTILE, reason="x", expires=date(2020, 1, 1)),
    ),
    today=date(2025, 1, 1),
)
GATED = finding(
    "type-changed",
    "Tool.x",
    "string",
    "integer",
    gates={Pair.OLD_CLIENT: "capability:server.x"},
    pointer="/$defs/Tool/properties/x",
)
MILD = finding(
    "property-removed-optional", "Tool.title", "string", "-", carriers=[Carrier("", "params", Travel.TO_SERVER)]
)


def hostile_report() -> Report:
    """A report in which every name from a schema or a user is hostile."""
    carrier = Carrier(HOSTILE, "result", Travel.TO_CLIENT)
    places_ = (HOSTILE, f"{HOSTILE}.{HOSTILE}", f"Other.{HOSTILE}")
    findings = [finding("type-changed", place, HOSTILE, f"{HOSTILE}2", carriers=[carrier]) for place in places_]
    judged = with_sentence((*findings, MILD), HOSTILE)
    return reported(*findings, GATED, MILD, finding(), baseline=ACCEPTED, file=FILE, judged=judged)


REPORTS = {
    "nothing": reported(),
    "hostile": hostile_report(),
    "unproven": reported(finding(proven=False)),
    "role": reported(GATED, MILD, options=Options(role=Role.SERVER, view=View.WIRE, fail_on=None, ignore_gated=True)),
}
MODULES = (text, json_report, markdown, html, sarif, github, junit)


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Report:
    return REPORTS[str(request.param)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
@pytest.mark.parametrize("everything", [True, False])
def test_no_control_character_is_left(module: Any, everything: bool) -> None:
    rendered = module.render(REPORTS["hostile"], everything=everything)
    assert rendered.endswith("\n")
    assert all(char == "\n" or char.isprintable() for char in rendered)


@pytest.mark.parametrize("width", [40, 60, 120])
@pytest.mark.parametrize("everything", [True, False])
def test_no_line_is_a_workflow_command(everything: bool, width: int) -> None:
    rendered = text.render(REPORTS["hostile"], everything=everything, width=width)
    assert "error" in rendered
    assert "::" not in rendered and "##[" not in rendered


class Reader(HTMLParser):
    """Collects the tags of a page, their attributes, and the text outside of style and script."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within = tag

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within not in ("style", "script"):
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


class TestJson:
    def test_every_report_matches_its_schema(self, report: Report) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.validate(json.loads(json_report.render(report)), SCHEMA)

    def test_the_schema_rejects_wrong_documents(self) -> None:
        answer = json_report.as_json(REPORTS["hostile"])
        answer["findings"][0]["surprise"] = 1
        with pytest.raises(jsonschema.ValidationError, match="surprise"):
            jsonschema.validate(answer, SCHEMA)
        assert set(SCHEMA["$defs"]["finding"]["required"]) == set(SCHEMA["$defs"]["finding"]["properties"])

    def test_a_finding_has_gates_location_and_witnesses(self) -> None:
        found = json_report.as_json(reported(GATED, file=FILE, options=Options(ignore_gated=True)))["findings"][0]
        assert (found["severity"], found["ungated_severity"], found["gated_severity"]) == ("error", "error", "error")
        assert found["gates"] == {"old client, new server": "capability:server.x"}
        assert found["location"] == {"file": "a,b: 100%/schema.json", "line": 5}
        assert found["witnesses"].keys() == set(found["breaks"])


class TestMarkdown:
    def test_no_name_becomes_markup(self) -> None:
        rendered = MarkdownIt("commonmark").enable("table").render(markdown.render(REPORTS["hostile"], everything=True))
        tags = {tag for tag, _ in read(rendered).tags}
        assert tags == {*"h1 h2 h3 p ul li strong code table thead tbody tr th td".split()}
        assert "onerror" in rendered

    @pytest.mark.parametrize("name", ["a", "`", "``", "`a", "a`` b `", "a|b", r"a\`b", "*a*"])
    def test_a_code_span_contains_its_text(self, name: str) -> None:
        reader = read(MarkdownIt("commonmark").render(markdown.code(name)))
        assert [tag for tag, _ in reader.tags] == ["p", "code"]
        assert "".join(reader.text).strip() == name

    def test_it_has_every_section(self) -> None:
        rendered = markdown.render(REPORTS["hostile"], everything=False)
        for part in ("## error", "### type-changed", "## Accepted: error", "## By method", "Stale in `accepted.toml`"):
            assert part in rendered
        assert "accepted: known \\| \\<b\\>\\`it\\`\\</b\\>\\\\nto all" in rendered


class TestHtml:
    def test_a_name_is_text_and_nothing_else(self) -> None:
        plain, hostile = read(html.render(REPORTS["unproven"])), read(html.render(REPORTS["hostile"]))
        assert {tag for tag, _ in hostile.tags} <= {tag for tag, _ in plain.tags} | {"details", "summary", "pre"}
        assert not any(name.startswith("on") for _, attributes in hostile.tags for name in attributes)
        assert sum(tag == "script" for tag, _ in hostile.tags) == 1
        assert any("<img src=x onerror=alert(1)>" in piece for piece in hostile.text)

    def test_it_fetches_nothing(self, report: Report) -> None:
        page = html.render(report)
        reader = read(page)
        links = {
            value for _, attributes in reader.tags for name, value in attributes.items() if name in ("src", "href")
        }
        assert all(link and link.startswith("#") for link in links)
        ours = "".join(re.findall(r"(?s)<style>.*</style>|<script>.*</script>", page))
        assert len(ours) > 1000
        assert not re.search(r"url\(|@import|https?:|fetch|XMLHttp", ours)
        (policy,) = [a["content"] or "" for _, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")

    def test_every_finding_has_an_anchor_and_filters(self) -> None:
        page = REPORTS["hostile"]
        articles = [attributes for tag, attributes in read(html.render(page)).tags if tag == "article"]
        assert [a["id"] for a in articles] == [f"f-{judged.finding.fingerprint}" for judged in page.findings]
        assert all(a.keys() == {"class", "id", *(f"data-{key}" for key in FILTERS)} for a in articles)
        assert not any("hidden" in attributes for attributes in articles)

    def test_both_sides_and_the_message_that_proves_it(self) -> None:
        text_of_page = "".join(read(html.render(reported(GATED))).text)
        for piece in (
            "2001-01-01string",
            "2002-02-02integer",
            "behind server.x",
            '"Tool.x": "integer"',
            "breaks client",
        ):
            assert piece in text_of_page


FILTERS = ("severity", "role", "view", "method")

LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "logicalLocations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"fullyQualifiedName": {"type": "string"}},
                "additionalProperties": False,
            },
        },
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation", "region"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri"],
                    "properties": {"uri": {"type": "string", "pattern": r"^[A-Za-z0-9._~/%:-]+$"}},
                    "additionalProperties": False,
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "properties": {"startLine": {"type": "integer", "minimum": 1}},
                },
            },
        },
    },
}
MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer"},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": MESSAGE,
        "locations": {"type": "array", "items": LOCATION, "minItems": 1},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
        "suppressions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["kind"],
                "additionalProperties": False,
                "properties": {
                    "kind": {"enum": ["inSource", "external"]},
                    "status": {"enum": ["accepted", "underReview", "rejected"]},
                    "justification": {"type": "string"},
                },
            },
        },
    },
}
"""The properties that we write, as SARIF 2.1.0 (sections 3.27 to 3.30) defines them; no others are allowed."""


class TestSarif:
    def test_it_is_valid_sarif(self, report: Report) -> None:
        log = json.loads(sarif.render(report))
        assert (log["version"], log.keys()) == ("2.1.0", {"$schema", "version", "runs"})
        assert log["$schema"].endswith("sarif-schema-2.1.0.json")
        (run,) = log["runs"]
        assert run.keys() == {"tool", "invocations", "results"}
        jsonschema.validate(run["results"], {"type": "array", "items": RESULT})
        rules = run["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == [rule.id for rule in CATALOGUE]
        assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
        assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules)

    def test_results_have_locations_and_suppressions(self) -> None:
        (run,) = sarif.as_sarif(REPORTS["hostile"])["runs"]
        assert all("physicalLocation" in result["locations"][0] for result in run["results"])
        (located,) = [
            r for r in run["results"] if r["locations"][0]["logicalLocations"] == [{"fullyQualifiedName": "Tool.x"}]
        ]
        assert located["locations"][0]["physicalLocation"] == {
            "artifactLocation": {"uri": "a%2Cb%3A%20100%25/schema.json"},
            "region": {"startLine": 5},
        }
        (elsewhere,) = [r for r in run["results"] if r["ruleId"] == "property-removed-optional"]
        assert elsewhere["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
        assert "physicalLocation" not in sarif.as_sarif(reported(GATED))["runs"][0]["results"][0]["locations"][0]
        (accepted,) = [r for r in run["results"] if "suppressions" in r]
        assert accepted["suppressions"][0]["justification"] == ACCEPTED.rows[0].reason
        (notification,) = run["invocations"][0]["toolConfigurationNotifications"]
        assert "row 2 expired on 2020-01-01" in notification["message"]["text"]


class TestGithub:
    COMMAND = re.compile(r"::(error|warning|notice) ([^:\n]*)::([^\n]+)")

    def test_every_line_is_one_command(self) -> None:
        for line in github.render(REPORTS["hostile"], everything=True).splitlines():
            found = self.COMMAND.fullmatch(line)
            assert found, line
            properties = dict(pair.split("=", 1) for pair in found[2].split(","))
            assert properties.keys() <= {"title", "file", "line"}
            assert not re.search(r"%(?!25|0D|0A|3A|2C)", found[2])
            assert not re.search(r"%(?!25|0D|0A)", found[3])

    def test_what_a_command_escapes(self) -> None:
        spelled = github.command("error", {"title": "a:b,c%0A\r\n", "line": "1"}, "a:b,c%0A\r\n")
        assert spelled == "::error title=a%3Ab%2Cc%250A%0D%0A,line=1::a:b,c%250A%0D%0A"

    def test_levels_places_and_escapes(self) -> None:
        lines = github.render(REPORTS["hostile"], everything=True).splitlines()
        assert any(
            line.startswith(
                "::error title=type-changed%3A Tool.x,file=a%2Cb%3A 100%25/schema.json,line=5::string -> integer."
            )
            for line in lines
        )
        assert any(
            line.startswith("::notice title=property-added-required") and "Accepted: known" in line for line in lines
        )
        assert any(line.startswith("::warning title=stale,file=accepted.toml::row 2") for line in lines)
        short = github.render(REPORTS["hostile"], everything=False)
        assert "Accepted" not in short


class TestJunit:
    def test_the_counts_add_up(self, report: Report) -> None:
        root = ElementTree.fromstring(junit.render(report))
        cases = root.findall("testsuite/testcase")
        assert root.get("tests") == str(len(cases)) == str(len(report.findings))
        assert root.get("failures") == str(len(root.findall(".//failure")))
        assert root.get("skipped") == str(len(root.findall(".//skipped")))
        assert bool(root.findall(".//failure")) == report.fails

    def test_failures_follow_fail_on(self) -> None:
        strict = reported(GATED, MILD, finding(), baseline=ACCEPTED, options=Options(fail_on=Severity.WARNING))
        root = ElementTree.fromstring(junit.render(strict))
        outcome = {case.get("classname"): [child.tag for child in case] for case in root.findall("testsuite/testcase")}
        assert outcome == {
            "type-changed": ["failure"],
            "property-removed-optional": ["failure"],
            "property-added-required": ["skipped", "system-out"],
        }


class TestSeverities:
    """What cannot be read from the table of severities names each of them."""

    WORDS = tuple(map(str, Severity))

    def test_the_options_name_each(self) -> None:
        for words in (diff.FailOn, impact.FailOn):
            assert tuple(word for word in get_args(words) if word not in ("new-revision", "never")) == self.WORDS

    def test_the_schema_of_the_report_names_each(self) -> None:
        definitions = SCHEMA["$defs"]
        assert definitions["severity"]["enum"] == [*self.WORDS]
        counts = SCHEMA["properties"]["counts"]
        assert counts["required"] == [*counts["properties"]] == [*self.WORDS, "accepted"]
        thresholds = re.findall(r'"fail_on": \{"enum": (\[[^\]]*\])', json.dumps(SCHEMA))
        assert list(map(json.loads, thresholds)) == [[*self.WORDS, None]]

    def test_the_page_colors_each(self) -> None:
        for word in self.WORDS:
            assert f".{word} {{" in STYLES and STYLES.count(f"--{word}: ") == STYLES.count(f"--{word}-wash: ") == 2

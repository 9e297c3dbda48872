"""`mcp-bindgen rules`, and the page of the documentation that it writes."""

from pathlib import Path

from mcp_bindgen.diff.rules import CATALOGUE
from support.command import Cli

ROOT = Path(__file__).resolve().parents[2]


def test_the_catalogue_as_json(cli: Cli) -> None:
    found = cli("rules", "--format", "json").json
    assert [row["id"] for row in found] == [rule.id for rule in CATALOGUE]
    by_id = {row["id"]: row for row in found}
    assert by_id["property-added-required"] == {
        "id": "property-added-required",
        "view": "wire",
        "severity": "error",
        "change": "narrows",
        "breaks": {
            "client to server": ["old client, new server"],
            "server to client": ["new client, old server"],
        },
        "breaks_source": True,
        "purpose": by_id["property-added-required"]["purpose"],
        "advice": by_id["property-added-required"]["advice"],
        "mirror": "property-removed-required",
        "unmirrored": None,
    }
    assert all(bool(row["mirror"]) != bool(row["unmirrored"]) for row in found)


def test_one_rule_as_text(cli: Cli) -> None:
    lines = cli("rules", "property-added-required").out.splitlines()
    assert lines[0] == "property-added-required (wire view, error)"
    assert "  client to server: breaks an old client" in lines
    assert "  reverse change: property-removed-required" in lines
    everything = cli("rules").out
    assert all(f"\n{rule.id} (" in f"\n{everything}" for rule in CATALOGUE)
    assert cli("rules", "--quiet").out == ""


def test_an_unknown_rule_is_refused_with_a_suggestion(cli: Cli) -> None:
    assert "property-added-required" in cli("rules", "property-add-required", expect=2).err


def test_the_documentation_is_what_the_command_prints(cli: Cli) -> None:
    committed = (ROOT / "docs" / "rules.md").read_text("utf-8")
    assert committed == cli("rules", "--format", "markdown").out, "run `make docs`"

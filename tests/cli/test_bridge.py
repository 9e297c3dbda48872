"""`mcp-bindgen bridge`: how differences are handled, and what is lost in each direction."""

import re
from pathlib import Path

import pytest

from support.command import Cli


def test_it_prints_what_the_older_peer_gets(cli: Cli) -> None:
    text = cli("bridge", "2024-11-05", "2025-03-26").out
    assert text.startswith("2024-11-05 and 2025-03-26\n")
    assert "audio: a text that names the media type and the size; CallToolResult.content[]: AudioContent" in text
    assert "capabilities that are not declared to a peer of 2024-11-05:\n    ServerCapabilities.completions\n" in text
    assert "lost on the way to a peer of 2025-03-26:\n    nothing\n" in text
    assert "the session: JSONRPCMessage: batches" in text


def test_distant_revisions_are_bridged_through_those_between(cli: Cli) -> None:
    pairs = cli("bridge", "2025-11-25", "2024-11-05", "--format", "json").json
    assert [(pair["old"], pair["new"]) for pair in pairs] == [
        ("2024-11-05", "2025-03-26"),
        ("2025-03-26", "2025-06-18"),
        ("2025-06-18", "2025-11-25"),
    ]
    entries = [entry for pair in pairs for entry in pair["entries"]]
    assert {entry["kind"] for entry in entries} >= {"audio", "method", "capability", "undeclared"}
    assert all(entry["down"] or entry["up"] for entry in entries)


def test_a_method_that_is_missing_is_named(cli: Cli) -> None:
    assert "    elicitation/create\n" in cli("bridge", "2025-03-26", "2025-06-18").out


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_methods_that_one_side_lacks_are_listed(cli: Cli, form: str) -> None:
    printed = cli("bridge", "2025-11-25", "2026-07-28", "--format", form).out
    lists = {
        "text": (
            "methods that a peer of 2025-11-25 does not have:",
            "methods that a peer of 2026-07-28 does not have:",
        ),
        "markdown": (
            "Methods that the older revision does not have: ",
            "Methods that the newer revision does not have: ",
        ),
    }
    older, newer = (re.split(r"\n\n|\n  \S", printed.split(start)[1])[0] for start in lists[form])
    assert "server/discover" in older and "subscriptions/listen" in older and "tasks/get" not in older
    assert "tasks/get" in newer and "resources/subscribe" in newer and "server/discover" not in newer


def test_it_is_written_to_a_file(cli: Cli, tmp_path: Path) -> None:
    cli("bridge", "2024-11-05", "2025-03-26", "--format", "markdown", "--output", tmp_path / "bridge.md")
    assert (tmp_path / "bridge.md").read_text("utf-8").startswith("### 2024-11-05 and 2025-03-26\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("2024-11-05", "moon"), "moon: not a released revision; those are 2024-11-05, 2025-03-26"),
        (("2024-11-05", "2024-11-05"), "2024-11-05: a revision needs no bridge to itself"),
    ],
)
def test_revisions_without_a_bridge_are_refused(cli: Cli, arguments: tuple[str, str], reason: str) -> None:
    outcome = cli("bridge", *arguments, expect=2)
    assert reason in outcome.err
    assert outcome.out == ""


def test_between_the_eras_it_prints_what_both_ends_do(cli: Cli) -> None:
    printed = cli("bridge", "2026-07-28", "2025-11-25").out
    assert "both ends: SetLevelRequest: each later request states the level" in printed
    assert (
        "GetTaskRequest: tasks/get -> not offered, not answered; a program that needs it gets MissingInRevision"
        in printed
    )
    assert "the session: RESOURCE_NOT_FOUND: each peer gets the code of its revision" in printed

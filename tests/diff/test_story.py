"""The story of a step between revisions tells what the official changelog says of messages."""

import re
from itertools import pairwise

import pytest

from mcp_bindgen.diff.compare import compare
from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Line
from mcp_bindgen.diff.report.story import story
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.load.protocol import load_released
from support.findings import finding

POINTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("2024-11-05", "2025-03-26"): (
        "batches",
        "annotations (Tool)",
        "message (ProgressNotificationParams)",
        "AudioContent",
        "completions",
    ),
    ("2025-03-26", "2025-06-18"): (
        "batches",
        "structuredContent outputSchema",
        "elicitation/create",
        "ResourceLink",
        "_meta",
        "context (CompleteRequestParams)",
        "title",
    ),
    ("2025-06-18", "2025-11-25"): (
        "icons",
        "TitledSingleSelectEnumSchema UntitledSingleSelectEnumSchema TitledMultiSelectEnumSchema"
        " UntitledMultiSelectEnumSchema string[] (ElicitResult.content{})",
        "client.elicitation.url ElicitRequestURLParams notifications/elicitation/complete URL_ELICITATION_REQUIRED",
        "tools toolChoice client.sampling.tools ToolUseContent ToolResultContent",
        "tasks/get tasks/result tasks/list tasks/cancel notifications/tasks/status CreateTaskResult execution",
        "description",
        "default (LegacyTitledEnumSchema, NumberSchema, StringSchema)",
        "https://json-schema.org/draft/2020-12/schema",
    ),
    ("2025-11-25", "2026-07-28"): (
        "handshake initialize notifications/initialized io.modelcontextprotocol/protocolVersion"
        " io.modelcontextprotocol/clientCapabilities io.modelcontextprotocol/clientInfo"
        " io.modelcontextprotocol/serverInfo UNSUPPORTED_PROTOCOL_VERSION",
        "server/discover",
        "subscriptions/listen resources/subscribe resources/unsubscribe toolsListChanged promptsListChanged"
        " resourcesListChanged resourceSubscriptions notifications/subscriptions/acknowledged"
        " io.modelcontextprotocol/subscriptionId",
        "ping logging/setLevel notifications/roots/list_changed io.modelcontextprotocol/logLevel",
        "tasks/cancel tasks/get tasks/list tasks/result CreateTaskResult notifications/tasks/status"
        " io.modelcontextprotocol/tasks",
        "roots/list sampling/createMessage elicitation/create InputRequiredResult inputResponses requestState",
        "resultType",
        "extensions",
        "ttlMs cacheScope",
        "RESOURCE_NOT_FOUND -32002 -> -32602",
        "ToolInputSchema ToolOutputSchema structuredContent: any",
        "notifications/elicitation/complete elicitationId",
        "HEADER_MISMATCH -32020 MISSING_REQUIRED_CLIENT_CAPABILITY -32021 UNSUPPORTED_PROTOCOL_VERSION -32022",
        "roots sampling logging notifications/message",
        "includeContext",
    ),
}
"""The points of each official changelog that concern messages, each by the names that changed."""


def told(old: str, new: str) -> tuple[str, ...]:
    sides = load_released(old), load_released(new)
    return tuple(words.told(line) for line in story(*sides, compare(*sides, proven=False)))


def test_each_step_has_points() -> None:
    assert list(POINTS) == list(pairwise(released()))


@pytest.mark.parametrize("step", POINTS, ids="_to_".join)
def test_it_tells_the_points_of_the_official_changelog(step: tuple[str, str]) -> None:
    text = " ".join(told(*step))
    missing = [point for point in POINTS[step] if any(not _tells(text, name) for name in point.split())]
    assert missing == []


def _tells(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w/]){re.escape(name)}(?!\w)", text) is not None


@pytest.mark.parametrize("step", POINTS, ids="_to_".join)
def test_it_is_short_and_tells_nothing_twice(step: tuple[str, str]) -> None:
    lines = told(*step)
    titles = [line.partition(":")[0] for line in lines]
    assert len(lines) <= 24 and len(set(titles)) == len(titles)


def test_an_era_is_told_first() -> None:
    lines = told("2025-11-25", "2026-07-28")
    stated = "io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities"
    assert lines[0] == f"No handshake any more; each request states in _meta: {stated}"
    assert lines[2:5] == (
        "Asked for in results, no longer in requests of the server: elicitation/create, roots/list,"
        " sampling/createMessage",
        "Results that ask: InputRequiredResult (prompts/get, resources/read, tools/call)",
        "The client answers by sending the request again with: inputResponses, requestState",
    )
    used = next(line for line in lines if line.startswith("Use instead: "))
    assert ", subscriptions/listen for resources/subscribe, resources/unsubscribe" in used
    assert told("2026-07-28", "2025-11-25")[0] == "Conversations begin with a handshake: initialize"


def test_names_of_one_line_are_listed_and_nothing_is_told_of_no_change() -> None:
    side = load_released("2025-11-25")
    added = [finding("request-method-added", "DoRequest", "-", name) for name in ("a/b", "a/c")]
    assert story(side, side, added) == (Line(title="New requests", names=("a/b, a/c",)),)
    assert story(side, side, ()) == ()

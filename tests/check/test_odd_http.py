"""Servers over HTTP in unusual styles have no error, and one line says why a server cannot be judged."""

import time
from pathlib import Path

import pytest

from check import odd_http
from check.ending_http import running
from check.odd_http import serving
from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.check.run import Checked, check
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.live.target import Endpoint
from mcp_bindgen.mock import serve
from mock.locks import tool, write_lock
from support.command import Cli

CORRECT = ("Plain", "Streams", "Slow", "Forgets", "Stumbles", "Limits", "Closes", "HostOnly", "OffersSessions")
BROKEN = {
    "Breaks": "the server answers with the status 502, and no message",
    "Expires": "the server needs authorization (401, Bearer); run: mcp-bindgen login ",
    "Polls": "the stream ended before the answer",
}
"""What cannot be judged to the end, and why."""
REFUSED = {
    "Unauthorized": "the server needs authorization (401); run: mcp-bindgen login {url}, or give --header",
    "Challenges": "the server needs authorization (401, Bearer); run: mcp-bindgen login {url}, or give --header",
    "Explains": "the server needs authorization (401, Bearer); run: mcp-bindgen login {url}, or give --header",
    "Overloaded": "the server answers with the status 429: too many requests",
    "Forbids": "the server answers with the status 403, and no message",
    "Redirects": "the server redirects (307) to https://example.com/mcp/%1b[31m: give that URL",
    "Page": "the server answers with text/html, not with messages",
    "Missing": "the server answers with the status 404, and no message",
    "Fails": "the server answers with the status 502, and no message",
    "Garbled": "the answer cannot be read: DecodingError",
}
"""What cannot be judged at all, and why."""


async def checked(style: str) -> Checked:
    with serving(getattr(odd_http, style)) as url:
        return await check(Wanted(target=Endpoint(url=url), timeout=1, seconds=600))


def serious(found: Checked) -> list[tuple[str, str]]:
    return [(each.requirement, each.reason) for each in found.findings if each.severity is not Severity.INFO]


@pytest.mark.slow
@pytest.mark.parametrize("style", CORRECT)
async def test_a_correct_server_has_no_error(style: str) -> None:
    found = await checked(style)
    assert found.revisions == LEGACY[1:]
    assert serious(found) == []


@pytest.mark.slow
@pytest.mark.parametrize("style", BROKEN)
async def test_what_breaks_in_the_middle_is_not_judged(style: str) -> None:
    found = await checked(style)
    assert serious(found) == []
    assert any(BROKEN[style] in each for each in found.unjudged)


@pytest.mark.parametrize("style", REFUSED)
def test_what_cannot_be_judged_is_one_line(cli: Cli, style: str) -> None:
    with serving(getattr(odd_http, style)) as url:
        told = cli("check", "--timeout", 1, url, expect=2).err
    reason = REFUSED[style].format(url=url)
    no_server = f"speaks no revision of MCP ({reason})"
    assert told == f"error: {url}: {no_server if style == 'Missing' else f'cannot be checked: {reason}'}\n"


async def test_refusing_an_origin_is_judged() -> None:
    with serving(odd_http.Plain) as url:
        only = frozenset(("http.origin", "http.origin-403"))
        found = await check(Wanted(target=Endpoint(url=url), timeout=5, only=only, revisions=LEGACY[-1:]))
    assert (found.findings, [*found.unjudged]) == ((), [])


async def test_a_session_id_that_cannot_be_sent_is_an_error() -> None:
    with serving(odd_http.OddSession) as url:
        only = frozenset(("http.session-id", "ping.answered"))
        found = await check(Wanted(target=Endpoint(url=url), timeout=5, only=only, revisions=LEGACY[-1:]))
    assert [each.requirement for each in found.findings] == ["http.session-id"]


@pytest.mark.slow
async def test_answers_without_a_message_are_an_error() -> None:
    found = await checked("Empty")
    assert "ping.answered" in [id_ for id_, _ in serious(found)]
    assert not [each for each in found.unjudged if "stream" in each]


async def test_accepting_any_origin_is_an_error() -> None:
    with serving(odd_http.AnyOrigin) as url:
        only = frozenset(("http.origin", "http.origin-403"))
        found = await check(Wanted(target=Endpoint(url=url), timeout=2, only=only, revisions=LEGACY[-1:]))
    (finding,) = found.findings
    assert (finding.requirement, finding.severity) == ("http.origin", Severity.ERROR)
    assert '"host": "mcp-bindgen-check.example"' in finding.said[0].text


async def crashing(style: str, folder: Path, starts: int) -> tuple[Checked, float]:
    """Check a server whose process ends; return also how many seconds that takes."""
    begun = time.monotonic()
    with running(style, folder, starts=starts) as url:
        found = await check(Wanted(target=Endpoint(url=url), timeout=2, seconds=600))
    return found, time.monotonic() - begun


@pytest.mark.slow
@pytest.mark.parametrize("starts", [1, 100], ids=["ends", "is started again"])
async def test_a_process_that_ends_is_one_finding(tmp_path: Path, starts: int) -> None:
    found, seconds = await crashing("Dies", tmp_path, starts)
    assert [id_ for id_, _ in serious(found)] == ["ping.answered"]
    finding = next(each for each in found.findings if each.requirement == "ping.answered")
    assert '"ping"' in finding.said[-1].text
    if starts == 1:
        line = "what follows ping.answered (2025-11-25): the server has ended, its port refuses connections"
        assert [*found.unjudged] == [line] and seconds < 20


@pytest.mark.slow
async def test_a_process_that_ends_after_its_answer_is_one_finding(tmp_path: Path) -> None:
    found, _ = await crashing("DiesLater", tmp_path, 1)
    assert [id_ for id_, _ in serious(found)] == ["http.post-202"]
    assert [each.partition(":")[0] for each in found.unjudged] == ["what follows http.post-202 (2025-11-25)"]


@pytest.mark.slow
async def test_a_server_that_is_started_again_has_no_finding(tmp_path: Path) -> None:
    found, _ = await crashing("DiesOnce", tmp_path, 2)
    assert (tmp_path / "was-here").exists()
    assert serious(found) == [] and found.revisions == LEGACY[1:]
    assert [*found.unjudged] == []


async def in_headers(url: str, *only: str) -> Checked:
    revisions = ("2026-07-28",)
    return await check(Wanted(target=Endpoint(url=url), timeout=5, only=frozenset(only), revisions=revisions))


async def test_marked_arguments_are_repeated_in_headers(tmp_path: Path) -> None:
    """The server refuses calls without these headers, and calls whose headers differ."""
    properties = {
        "city": {"type": "string", "x-mcp-header": "City", "minLength": 1, "default": " \u00e9"},
        "days": {"type": "integer", "x-mcp-header": "Days", "maximum": 7},
        "warm": {"type": "boolean", "x-mcp-header": "Warm"},
        "where": {"type": "object", "properties": {"lane": {"type": "string", "x-mcp-header": "Lane"}}},
    }
    schema = {"type": "object", "properties": properties, "required": ["city"]}
    lock = write_lock(tmp_path, tool("forecast", schema, annotations={"readOnlyHint": True}))
    with serve(lock=lock) as mock:
        found = await in_headers(mock.url, "robust.arguments", "posts.arguments-differ")
    called = [params.get("arguments") for method, params in mock.calls if method == "tools/call"]
    assert {"city": " \u00e9"} in called and {"city": " \u00e9", "days": 7} in called
    assert {"city": " \u00e9", "warm": True} in called
    assert (serious(found), [*found.unjudged]) == ([], [])


async def test_headers_that_are_not_compared_with_arguments_are_an_error() -> None:
    with serving(odd_http.Careless) as url:
        found = await in_headers(url, "posts.arguments-differ")
    assert [id_ for id_, _ in serious(found)] == ["posts.arguments-differ"]

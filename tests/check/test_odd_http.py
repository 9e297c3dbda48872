"""Servers over HTTP in unusual styles have no error, and one line says why a server cannot be judged."""

import pytest

from check import odd_http
from check.odd_http import serving
from mcp_bindgen.check.requirements import LEGACY
from mcp_bindgen.check.run import Checked, Wanted, check
from mcp_bindgen.diff.rule import Severity
from mcp_bindgen.live.target import Endpoint
from support.command import Cli

CORRECT = ("Plain", "Streams", "Slow", "Forgets", "Stumbles", "Limits", "Closes", "AnyOrigin")
BROKEN = {
    "Breaks": "the server answers with the status 502, and no message",
    "Expires": "the server needs authorization (401, Bearer): give --header",
    "Polls": "the stream ended before the answer",
}
"""What cannot be judged to the end, and why."""
REFUSED = {
    "Unauthorized": "the server needs authorization (401): give --header",
    "Challenges": "the server needs authorization (401, Bearer): give --header",
    "Forbids": "the server answers with the status 403, and no message",
    "Redirects": "the server redirects (307) to https://example.com/mcp/%1b[31m: give that URL",
    "Page": "the server answers with text/html, not with messages",
    "Missing": "the server answers with the status 404, and no message",
    "Fails": "the server answers with the status 502, and no message",
    "Garbled": "the server cannot be reached: DecodingError",
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
    assert [id_ for id_, _ in serious(found)] == (["http.origin"] if style == "AnyOrigin" else [])
    assert not [each for each in found.findings if each.severity is Severity.ERROR]


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
    assert told == f"error: {url}: speaks no revision of MCP ({REFUSED[style]})\n"


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


async def test_accepting_any_origin_is_a_warning() -> None:
    """A page demands that it is checked, and leaves open which ones are valid."""
    with serving(odd_http.AnyOrigin) as url:
        only = frozenset(("http.origin", "http.origin-403"))
        found = await check(Wanted(target=Endpoint(url=url), timeout=2, only=only, revisions=LEGACY[-1:]))
    (finding,) = found.findings
    assert (finding.requirement, finding.severity) == ("http.origin", Severity.WARNING)
    assert finding.reason.endswith("which origins are valid is up to the server")

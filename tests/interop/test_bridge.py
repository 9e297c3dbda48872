"""One server and one client, written for 2025-11-25, with the official SDK in each of the four revisions."""

from typing import Any

import pytest

from interop.expected import expected
from interop.peers import offer
from interop.peers.offer import Json
from interop.processes import SDK1, SDK2, TYPESCRIPT, Side, outcomes

pytestmark = pytest.mark.interop

NEWEST = offer.LEGACY[-1]
BRIDGED = Side(
    name="bridged",
    runs="",
    client=("-m", "interop.bridged_client"),
    server=("-m", "interop.bridged_server"),
    tasks=True,
)
REVISIONS = pytest.mark.parametrize("revision", offer.LEGACY)


@REVISIONS
@pytest.mark.parametrize("client", [SDK1, SDK2, TYPESCRIPT], ids=lambda side: side.name)
def test_clients_of_every_revision_use_the_bridged_server(client: Side, revision: str) -> None:
    wanted = {**expected(revision, tasks=client.tasks), **_offered_by_the_newest(revision)}
    assert outcomes(client, BRIDGED, revision) == wanted


@REVISIONS
@pytest.mark.parametrize("server", [SDK1, SDK2], ids=lambda side: side.name)
def test_the_bridged_client_uses_servers_of_every_revision(server: Side, revision: str) -> None:
    wanted = {**expected(revision, tasks=server.tasks), **_seen_by_the_newest(revision)}
    assert outcomes(BRIDGED, server, revision, serves=("--only", revision)) == wanted


def _offered_by_the_newest(revision: str) -> Json:
    """Return what a client observes differently than at a server of its own revision: converted newer features."""
    newest = expected(NEWEST, tasks=False)
    seen: Json = {name: newest[name] for name in ("tools_list", "resources_list", "prompts_list", "progress")}
    return {
        **seen,
        "tools_call": _added(revision),
        "tools_content": [_said(i, revision) for i in newest["tools_content"]],
    }


def _added(revision: str) -> Json:
    added: Json = {"content": [{"type": "text", "text": "5"}], "structuredContent": {"sum": 5}}
    if not offer.since(revision, "2025-06-18"):
        added["content"].append({"type": "text", "text": '{"sum": 5}'})
    return added


def _said(item: Json, revision: str) -> Any:
    if item["type"] == "audio" and not offer.since(revision, "2025-03-26"):
        return {"type": "text", "text": "[audio: audio/wav, 15 bytes]"}
    if item["type"] == "resource_link" and not offer.since(revision, "2025-06-18"):
        return {"type": "text", "text": "[resource link: logo (image/png), memo://logo]"}
    return item


def _seen_by_the_newest(revision: str) -> Json:
    """Return what the bridged client observes differently from a client of the revision: it asks for more."""
    own = expected(revision, tasks=False)
    # Properties that only newer revisions declare are sent too, and these servers honor them.
    seen: Json = {"completion": expected(NEWEST, tasks=False)["completion"]}
    if not offer.since(revision, "2025-03-26"):
        session: Json = own["initialize"]
        seen["initialize"] = {**session, "capabilities": {**session["capabilities"], "completions": None}}
    return seen

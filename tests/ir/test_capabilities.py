"""What must be declared before a message may be sent: the rows of schema/capabilities.toml, revision by revision."""

import pytest

from mcp_bindgen.ir.capabilities import is_declarable
from mcp_bindgen.ir.nodes import Protocol, Ref, Struct
from mcp_bindgen.load.protocol import capability_book, load_released
from support.samples import REVISIONS, load, typescript_source

UNGATED = {"initialize", "notifications/cancelled", "notifications/initialized", "notifications/progress", "ping"} | {
    # No capability of its own: each property of its filter has one (2026-07-28, basic/patterns/subscriptions).
    "subscriptions/listen",
    "notifications/subscriptions/acknowledged",
    # Every server of the modern era answers it.
    "server/discover",
    # The side that runs a task may report its status.
    "notifications/tasks/status",
}
"""Messages that need no capability in any revision."""

LATER = {
    "2024-11-05": {"completion/complete"},
    "2025-06-18": {"notifications/elicitation/complete"},
}
"""Messages that need none in a revision whose capabilities have no place for it."""


def needed(revision: str) -> dict[str, str]:
    return {method.name: method.capability for method in load_released(revision).methods}


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_method_has_a_capability_or_is_listed_without_one(revision: str) -> None:
    free = {name for name, capability in needed(revision).items() if not capability}
    assert free == (UNGATED | LATER.get(revision, set())) & needed(revision).keys()


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_required_capability_can_be_declared(revision: str) -> None:
    protocol = load_released(revision)
    paths = {*needed(revision).values(), *protocol.capabilities.values()} - {""}
    assert all(is_declarable(path, protocol) for path in paths)


def test_no_row_is_stale() -> None:
    book = capability_book()
    protocols = [load_released(revision) for revision in REVISIONS]
    used = {method.name for protocol in protocols for method in protocol.methods if method.capability}
    assert used == book.methods.keys()
    assert {member for protocol in protocols for member in protocol.capabilities} == book.members.keys()


def test_rows_apply_to_revisions_that_have_the_capability() -> None:
    assert needed("2024-11-05")["tools/list"] == "server.tools"
    assert needed("2025-03-26")["completion/complete"] == "server.completions"
    assert needed("2025-11-25")["tasks/list"] == "receiver.tasks.list"
    assert load_released("2025-06-18").capabilities == {}
    assert load_released("2025-11-25").capabilities["ElicitRequestURLParams.url"] == "client.elicitation.url"


def capabilities(members: str) -> Protocol:
    """Return a protocol whose servers may declare these properties."""
    return load(
        typescript_source(f"""
            export interface InitializeRequest {{ method: "initialize"; params: ServerCapabilities; }}
            export interface InitializeResult {{ }}
            export type ClientRequest = InitializeRequest;
            export interface ServerCapabilities {{ {members} }}
        """),
        revision="2099-01-01",
    )[0]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ("tools?: { listChanged?: boolean; };", True),
        ("tools?: Tools; } interface Tools { listChanged?: boolean;", True),
        ("tools?: object;", False),
        ("tools?: { [name: string]: unknown; };", False),
        ("", False),
    ],
)
def test_a_path_leads_through_declared_properties(members: str, expected: bool) -> None:
    assert is_declarable("server.tools.listChanged", capabilities(members)) is expected


def test_both_sides_can_declare_a_capability_of_the_receiver() -> None:
    protocol = load_released("2025-11-25")
    assert is_declarable("receiver.tasks.list", protocol)
    assert not is_declarable("receiver.tools", protocol)
    assert isinstance(protocol.resolve(Ref(name="ServerCapabilities")), Struct)

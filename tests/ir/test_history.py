"""Since when names exist, and until when, and what the docstrings of the bindings say of it."""

import inspect

import pytest

from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.history import NO_HISTORY, Lifetime
from mcp_bindgen.load.protocol import history, load_released, replacements
from mcp_bindings import v2025_06_18, v2025_11_25, v2026_07_28
from mcp_runtime.core.described import field_docs
from mcp_runtime.core.model import WireModel


@pytest.mark.parametrize(
    ("name", "lifetime"),
    [
        ("tools/call", Lifetime(since="2024-11-05")),
        ("elicitation/create", Lifetime(since="2025-06-18")),
        ("ping", Lifetime(since="2024-11-05", removed="2026-07-28")),
        ("resources/subscribe", Lifetime(since="2024-11-05", removed="2026-07-28", use="subscriptions/listen")),
        ("SubscribeRequestParams", Lifetime(since="2024-11-05", removed="2026-07-28", use="subscriptions/listen")),
        ("JSONRPCBatchRequest", Lifetime(since="2025-03-26", removed="2025-06-18")),
        ("tools/shout", Lifetime()),
    ],
)
def test_a_name_has_a_lifetime(name: str, lifetime: Lifetime) -> None:
    assert history().of(name) == lifetime


@pytest.mark.parametrize(
    ("place", "lifetime"),
    [
        ("Tool.title", Lifetime(since="2025-06-18")),
        ("Tool.execution", Lifetime(since="2025-11-25", removed="2026-07-28", use="io.modelcontextprotocol/tasks")),
        ("Task.ttl", Lifetime(since="2025-11-25")),  # the type was removed with it
        ("ToolInputSchema.properties", Lifetime(since="2024-11-05")),  # any property is valid now
        ("ListToolsRequest.jsonrpc", Lifetime(since="2024-11-05")),  # declared since 2025-11-25
        ("Tool.colour", Lifetime()),
    ],
)
def test_a_property_has_a_lifetime(place: str, lifetime: Lifetime) -> None:
    struct, _, name = place.partition(".")
    assert history().of_property(struct, name) == lifetime


def test_every_replacement_is_of_something_removed_and_exists() -> None:
    protocols = [load_released(revision) for revision in released()]
    known = {*(name for protocol in protocols for name in protocol.definitions), "io.modelcontextprotocol/tasks"}
    known |= {method.name for protocol in protocols for method in protocol.methods}
    known |= {field.wire_name for struct in protocols[-1].structs() for field in struct.fields}
    for name, use in replacements().items():
        struct, _, member = name.partition(".")
        assert (history().of_property(struct, member) if member else history().of(name)).use == use
        assert use in known


def test_docstrings_say_what_is_new_and_what_was_removed() -> None:
    assert _notes(v2025_11_25.Client.subscribe) == "Removed in 2026-07-28: use subscriptions/listen."
    assert _notes(v2025_11_25.Task) == "Since 2025-11-25. Removed in 2026-07-28: use io.modelcontextprotocol/tasks."
    assert _notes(v2025_06_18.ClientHandlers.elicit) == "Since 2025-06-18."
    assert _notes(v2025_11_25.Tool) == ""
    assert field_docs(v2025_11_25.Tool)["execution"].endswith(
        "Removed in 2026-07-28: use io.modelcontextprotocol/tasks."
    )
    assert "Since" not in field_docs(v2025_11_25.Task)["ttl"]


def test_deprecated_classes_are_marked_for_type_checkers_and_in_their_json_schema() -> None:
    deprecated = [struct for struct in load_released("2026-07-28").structs() if struct.deprecated]
    assert len(deprecated) > 10
    for struct in deprecated:
        marked: type[WireModel] = getattr(v2026_07_28, struct.name)
        assert marked.__dict__["__deprecated__"] == "Deprecated in revision 2026-07-28."
        assert marked.model_json_schema()["deprecated"] is True
    assert not hasattr(v2026_07_28.Tool, "__deprecated__")


def test_an_extension_has_no_history() -> None:
    assert NO_HISTORY.noted("Task") == NO_HISTORY.noted_property("Task", "ttl") == Lifetime()


def _notes(documented: object) -> str:
    lines = (inspect.getdoc(documented) or "").splitlines()
    return " ".join(line for line in lines if line.startswith(("Since ", "Removed in ")))

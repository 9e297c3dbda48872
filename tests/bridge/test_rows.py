"""The conversions agree with the diff: each break between two revisions is bridged, or a row says why not."""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise

import pytest

from bridge.messages import REVISIONS, bridges, runtime_table
from differential.subjects import subject
from mcp_bindgen.bridge.derive import derive
from mcp_bindgen.bridge.emit import derive_all, kinds
from mcp_bindgen.bridge.rows import ERA, FRAMING, ROWS, Decision, Entry, Rows
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_sources
from mcp_bindings.bridges import ERAS
from mcp_runtime.bridge.convert import Compiled, converter
from mcp_runtime.bridge.fallbacks import OBJECTS, VALUES, WHOLE
from mcp_runtime.bridge.policy import Loss, LossAction, NotExpressible
from support.samples import HANDSHAKE, json_source

NEIGHBOURS = tuple(pairwise(REVISIONS))


def rule_of(finding: Finding) -> str:
    """Return the conversions' name for the rule of a finding: they treat a JSON Schema like any other object."""
    return finding.rule.id.replace("property-constraint-dropped", "property-removed-optional")


@cache
def findings(old: str, new: str) -> tuple[Finding, ...]:
    """Return the findings between two revisions on the wire."""
    return compare_messages(subject(old).protocol, subject(new).protocol)


def breaking(old: str, new: str) -> list[Finding]:
    """Return the findings that break peers of the two revisions on the wire."""
    return [found for found in findings(old, new) if found.breaks]


def entries(old: str, new: str) -> dict[tuple[str, str, str, str], Entry]:
    """Return the bridge's entries, keyed by the diff's names for them."""
    found = next(b for b in bridges() if (b.old, b.new) == (old, new))
    return {(e.rule, e.place, e.old, e.new): e for e in found.entries}


@pytest.mark.parametrize(("old", "new"), NEIGHBOURS)
def test_every_break_is_bridged_or_explained(old: str, new: str) -> None:
    known = entries(old, new)
    framing = {(rule, row.place) for row in FRAMING if (old, new) in row.between for rule in row.rules}
    found = breaking(old, new)
    assert found
    for finding in found:
        if (finding.rule.id, finding.place) in framing:
            continue
        entry = known.get((rule_of(finding), finding.place, finding.old, finding.new))
        assert entry is not None, f"{finding.rule.id} {finding.place} {finding.old} {finding.new} is not bridged"
        assert entry.down or entry.up
        assert entry.kind != "form", f"{entry}: a break without a row"


@pytest.mark.parametrize(("old", "new"), NEIGHBOURS)
def test_the_bridge_finds_nothing_that_the_diff_does_not(old: str, new: str) -> None:
    known = {(rule_of(f), f.place, f.old, f.new) for f in findings(old, new)}
    # The eras declare capabilities in messages that the diff does not pair.
    is_paired = ERAS[old] == ERAS[new]
    found = [e for e in entries(old, new).values() if is_paired or e.kind != "capability"]
    assert [e for e in found if (e.rule, e.place, e.old, e.new) not in known] == []


def test_every_framing_row_is_used() -> None:
    for row in FRAMING:
        for pair in row.between:
            assert {f.rule.id for f in findings(*pair) if f.place == row.place} & set(row.rules), row


def test_no_row_is_stale() -> None:
    rows = Rows()
    protocols = [subject(revision).protocol for revision in REVISIONS]
    for old, new in pairwise(protocols):
        derive(old, new, rows)
    assert rows.stale() == []


def test_a_row_that_fits_nothing_is_stale_and_an_error() -> None:
    stale = Decision(
        rule="union-member-added", places=("Moon",), value="Crater", kind="moon", says="gone", reason="none"
    )
    rows = Rows([*ROWS, stale])
    protocols = [subject(revision).protocol for revision in REVISIONS]
    with pytest.raises(ValueError, match="union-member-added Moon Crater"):
        derive_all(protocols, rows)


def test_every_conversion_that_a_row_names_exists() -> None:
    assert {row.convert for row in ROWS} - {"", "split", "session"} <= {*VALUES, *OBJECTS, *WHOLE}
    assert {*VALUES, *OBJECTS, *WHOLE} <= {row.convert for row in ROWS}


def test_the_kinds_are_those_of_the_committed_tables() -> None:
    from mcp_bindings.bridges import KINDS

    assert list(KINDS) == kinds(bridges())
    assert set(KINDS) == {row.kind for row in ROWS} - {ERA} | {"undeclared"}


class TestSmallRevisions:
    """Features that the legacy revisions do not need, but a later one might."""

    def test_a_renamed_property(self) -> None:
        old = _moon({"diameterKm": {"type": "number"}})
        new = _moon({"diameterKms": {"type": "number"}})
        assert _convert(old, new, {"diameterKm": 3474}, up=True) == {"diameterKms": 3474}
        assert _convert(old, new, {"diameterKms": 3474}, up=False) == {"diameterKm": 3474}

    def test_a_required_constant_is_filled_in(self) -> None:
        old, new = _moon({}), _moon({"kind": {"const": "moon"}}, "kind")
        assert _convert(old, new, {}, up=True) == {"kind": "moon"}
        assert _convert(old, new, {"kind": "moon"}, up=False) == {"kind": "moon"}

    def test_a_required_property_with_an_unknown_value_is_refused(self) -> None:
        old, new = _moon({}), _moon({"name": {"type": "string"}}, "name")
        with pytest.raises(NotExpressible, match="/name"):
            _convert(old, new, {}, up=True)

    def test_a_property_that_became_optional(self) -> None:
        old, new = _moon({"name": {"type": "string"}}, "name"), _moon({"name": {"type": "string"}})
        assert _convert(old, new, {"name": "Io"}, up=False) == {"name": "Io"}
        with pytest.raises(NotExpressible, match="/name"):
            _convert(old, new, {}, up=False)

    def test_a_scalar_of_another_type_passes_if_valid_for_both(self) -> None:
        old, new = _moon({"rank": {"type": "integer"}}), _moon({"rank": {"type": "number"}})
        assert _convert(old, new, {"rank": 2}, up=False) == {"rank": 2}
        with pytest.raises(NotExpressible, match="/rank"):
            _convert(old, new, {"rank": 2.5}, up=False)

    def test_a_value_of_an_enumeration_that_the_other_side_lacks(self) -> None:
        old, new = _moon({"phase": {"enum": ["new", "full"]}}), _moon({"phase": {"enum": ["new", "full", "half"]}})
        assert _convert(old, new, {"phase": "full"}, up=False) == {"phase": "full"}
        with pytest.raises(NotExpressible, match="/phase"):
            _convert(old, new, {"phase": "half"}, up=False)

    @pytest.mark.parametrize("required", [True, False])
    def test_only_an_optional_property_can_be_dropped(self, required: bool) -> None:
        names = ("phase",) if required else ()
        old, new = (_moon({"phase": {"enum": phases}}, *names) for phases in (["new"], ["new", "half"]))
        policy = {"form": LossAction.DROP}
        if required:
            with pytest.raises(NotExpressible):
                _convert(old, new, {"phase": "half"}, up=False, policy=policy)
        else:
            assert _convert(old, new, {"phase": "half"}, up=False, policy=policy) == {}


@pytest.mark.parametrize(
    ("type_", "bound", "good", "bad"),
    [
        ({"type": "string"}, {"minLength": 2}, "ab", "a"),
        ({"type": "string"}, {"maxLength": 2}, "ab", "abc"),
        ({"type": "string"}, {"pattern": "^[a-z]+$"}, "ab", "AB"),
        ({"type": "integer"}, {"minimum": 2}, 2, 1),
        ({"type": "number"}, {"maximum": 2}, 2, 2.5),
        ({"type": "integer"}, {"exclusiveMinimum": 2, "exclusiveMaximum": 5}, 3, 2),
        ({"type": "number"}, {"exclusiveMaximum": 2}, 1.5, 2),
        ({"type": "integer"}, {"multipleOf": 5}, 10, 11),
        ({"type": "array", "items": {"type": "string"}}, {"minItems": 1}, ["a"], []),
        ({"type": "array", "items": {"type": "string"}}, {"maxItems": 1}, ["a"], ["a", "b"]),
        ({"type": "array", "items": {"type": "integer"}}, {"uniqueItems": True}, [1, 2], [1, 1]),
        ({"type": "object"}, {"minProperties": 1}, {"a": 1}, {}),
        ({"type": "object"}, {"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}),
    ],
)
def test_a_value_that_a_bound_of_the_other_side_excludes_is_refused(
    type_: dict[str, object], bound: dict[str, object], good: object, bad: object
) -> None:
    """The request fails with the place; a value within the bound, and the way back, are not affected."""
    free, bounded = _moon({"x": type_}), _moon({"x": {**type_, **bound}})
    for old, new, up in ((free, bounded, True), (bounded, free, False)):
        assert _convert(old, new, {"x": good}, up=up) == {"x": good}
        with pytest.raises(NotExpressible) as refusal:
            _convert(old, new, {"x": bad}, up=up)
        assert refusal.value.pointer == "/x"
        assert _convert(old, new, {"x": bad}, up=not up) == {"x": bad}
        found = {(f.rule.id, f.place, f.old, f.new) for f in compare_messages(old, new)}
        assert {(e.rule, e.place, e.old, e.new) for e in derive(old, new, Rows([])).entries} == found


def _moon(properties: object, *required: str) -> Protocol:
    """Make a revision with a request whose params have these properties."""
    moon = {"type": "object", "properties": properties, "required": list(required)}
    request = {
        "type": "object",
        "properties": {"method": {"const": "moons/visit"}, "params": {"$ref": "#/$defs/VisitMoonRequestParams"}},
        "required": ["method", "params"],
    }
    names = ("InitializeRequest", "VisitMoonRequest")
    definitions = {
        **HANDSHAKE,
        "VisitMoonRequestParams": moon,
        "VisitMoonRequest": request,
        "VisitMoonResult": {"type": "object", "properties": {"seen": {"type": "boolean"}}},
        "ClientRequest": {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]},
    }
    return load_sources([json_source(definitions)], "2099-01-01", Diagnostics())


def _convert(
    old: Protocol, new: Protocol, value: object, *, up: bool, policy: Mapping[str, LossAction] | None = None
) -> object:
    step = Compiled(runtime_table(derive(old, new, Rows([]))), up=up, policy=policy or {}).part("moons/visit", "params")
    if step is None:
        return value
    losses: list[Loss] = []
    found = converter("moons/visit", "params", [(step, "2099-01-01")])
    assert found is not None
    return found.convert(value, losses.append)

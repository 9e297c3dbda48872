"""Compare what does not belong to a single method: JSON-RPC frames, error codes, unions of results."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mcp_bindgen.diff.finding import FRAMES, Carrier, Travel
from mcp_bindgen.diff.inputs import UNNAMED
from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.rules import judge
from mcp_bindgen.diff.sites import ErrorSite, FrameSite, PropertySite, ResultTypeSite
from mcp_bindgen.diff.wire.spot import Changes, Spot, root, through
from mcp_bindgen.diff.wire.walk import Restricted, Sides, Walk
from mcp_bindgen.ir.leaves import forms, leaves
from mcp_bindgen.ir.nodes import ANY, Direction, Era, Field, ListOf, Literal, Method, Protocol, Ref, Struct, TypeRef
from mcp_bindgen.values.builder import Step

TRAVELS: Mapping[Direction, tuple[Travel, ...]] = {
    Direction.CLIENT_TO_SERVER: (Travel.TO_SERVER,),
    Direction.SERVER_TO_CLIENT: (Travel.TO_CLIENT,),
    Direction.BOTH: (Travel.TO_SERVER, Travel.TO_CLIENT),
    Direction.EMBEDDED: (Travel.TO_CLIENT,),
}
"""The directions in which the params of a method are sent."""
FRAME, ERROR = "message", "error"
"""The parts that are the whole message, and the error of a response."""
_RESULTS: Mapping[str, Travel] = {"ClientResult": Travel.TO_SERVER, "ServerResult": Travel.TO_CLIENT}
_LAST_ERROR, _FIRST_ERROR = -32000, -32768
"""The range that JSON-RPC reserves for error codes (specification of JSON-RPC 2.0, section 5.1)."""
_OF_JSON_RPC = (-32700, -32600, -32601, -32602, -32603)
"""The codes that JSON-RPC itself defines: every revision has them, even if its schema.json does not name them."""


def is_sent(method: Method, travel: Travel) -> bool:
    """Whether a method is a separate message in a direction; an embedded request is part of a result."""
    return method.direction is not Direction.EMBEDDED and travel in TRAVELS[method.direction]


def _unsent(sides: Sides, travel: Travel, old: TypeRef | None = None, new: TypeRef | None = None) -> Change:
    """Return the effects that no change of a frame or response has in a direction, since its sender sends none."""
    found = Change.NONE if _sends(sides.old, travel, old) else Change.NARROWS
    return found if _sends(sides.new, travel, new) else found | Change.WIDENS


def _sends(protocol: Protocol, travel: Travel, form: TypeRef | None) -> bool:
    """Whether a revision has a frame, or responses, in a direction: in the modern era, only servers respond."""
    frame = protocol.resolve(form) if form else None
    if isinstance(frame, ListOf):
        return any(_sends(protocol, travel, leaf) for leaf in leaves(frame.item, protocol))
    if form and isinstance(frame, Struct) and frame.field("method"):
        return bool(_names(form, protocol, travel))
    return travel is Travel.TO_CLIENT or protocol.era is not Era.MODERN


def _names(form: TypeRef, protocol: Protocol, travel: Travel) -> tuple[str, ...]:
    """Return the methods that a frame of a form may have in a direction."""
    has_id = _field(form, "id", protocol) is not None
    return tuple(m.name for m in protocol.methods if m.is_request is has_id and is_sent(m, travel))


def compare_frames(sides: Sides, changes: Changes) -> None:
    """Compare the JSON-RPC frames in both directions, without their method-specific content."""
    if FRAMES not in sides.old.definitions or FRAMES not in sides.new.definitions:
        return
    root_ = Ref(name=FRAMES)
    old, new = forms(root_, sides.old), forms(root_, sides.new)
    pairs, gone, come = sides.likeness.pairs(old, new)
    for travel in Travel:

        def see(site: object, spot: Spot) -> None:
            """Record a change, but of params only what breaks a peer: the rest depends on the method."""
            is_inside = any(step.name == "params" for step in spot.way)
            if not is_inside or any(spot.effect(rule, site) for rule, _ in judge(site)):
                changes.see(site, spot)

        spot = Spot(before=root(FRAMES), after=root(FRAMES), carrier=Carrier("", FRAME, travel))
        for a, b in pairs:
            inside = replace(spot.member(a, b), harmless=_unsent(sides, travel, a, b))
            ends = through(inside.before, a, sides.old), through(inside.after, b, sides.new)
            inside = replace(inside, before=ends[0], after=ends[1])
            known = Restricted(types={"method": _of_names(sides, travel, a, b)})
            Walk(sides, known.within(see), skipped=("result",)).differing(a, b, inside)
            fields = (_field(leaf, "result", side) for leaf, side in ((a, sides.old), (b, sides.new)))
            before, after = (field and replace(field, type=ANY) for field in fields)  # Its type depends on the method.
            if (before and before.required) != (after and after.required):
                changes.see(PropertySite(before=before, after=after), inside.field("result", "result"))
        for one, other in (*((leaf, None) for leaf in gone), *((None, leaf) for leaf in come)):
            changes.see(FrameSite(before=one, after=other), replace(spot, harmless=_unsent(sides, travel, one, other)))


def _of_names(sides: Sides, travel: Travel, old: TypeRef, new: TypeRef) -> Change:
    """Return the effects that no change of a frame's method has, since it is the name of a method of the sender."""
    batches = sides.old.resolve(old), sides.new.resolve(new)
    if isinstance(batches[0], ListOf) and isinstance(batches[1], ListOf):
        kinds = forms(batches[0].item, sides.old), forms(batches[1].item, sides.new)
        harmless = Change.BOTH
        for a, b in sides.likeness.pairs(*kinds)[0]:
            harmless &= _of_names(sides, travel, a, b)
        return harmless
    fields = _field(old, "method", sides.old), _field(new, "method", sides.new)
    names = [Literal(values=_names(form, side, travel)) for form, side in ((old, sides.old), (new, sides.new))]
    found = sides.harmless(names[0], fields[1].type) & Change.NARROWS if fields[1] else Change.NONE
    return found | (sides.harmless(fields[0].type, names[1]) & Change.WIDENS if fields[0] else Change.NONE)


def _field(form: TypeRef, name: str, protocol: Protocol) -> Field | None:
    struct = protocol.resolve(form)
    return struct.field(name) if isinstance(struct, Struct) else None


def compare_errors(sides: Sides, changes: Changes) -> None:
    """Compare errors, which either side may send; the wire carries the code, not its name."""
    old, new = sides.old, sides.new
    _compare_moved(sides, changes)
    is_named = all(any(_is_code(c.value) for c in side.constants) for side in (old, new))
    before, after = (_constants(side) if is_named else _stated(side) for side in (old, new))
    gone = {name: code for name, code in before.items() if code not in after.values() or after.get(name, code) != code}
    come = {name: code for name, code in after.items() if code not in before.values() or before.get(name, code) != code}
    errors = error_types(old), error_types(new)
    for travel in Travel:
        for name in sorted(gone.keys() | come.keys()):
            site = ErrorSite(before=gone.get(name), after=come.get(name))
            changes.see(site, _of_error(sides, travel, name, name))
        for code in sorted(errors[0].keys() & errors[1].keys()):
            a, b = errors[0][code], errors[1][code]
            spot = replace(_of_error(sides, travel, a, b), way=(Step("code", str(code)),))
            Walk(sides, changes.see).types(Ref(name=a), Ref(name=b), spot)


def _of_error(sides: Sides, travel: Travel, old: str, new: str) -> Spot:
    """Return the spot of an error, or of its code, by the names that the two sides give it."""
    carrier = Carrier("", ERROR, travel)
    return Spot(before=root(old), after=root(new), carrier=carrier, harmless=_unsent(sides, travel))


def error_types(protocol: Protocol) -> Mapping[int, str]:
    """Return the types of the protocol's own errors by their code: the objects that require it as a constant."""
    found: dict[int, str] = {}
    for struct in protocol.structs():
        code = struct.field("code")
        if code and code.required and code.constant:
            value = code.constant.values[0]
            if isinstance(value, int) and _is_code(value) and value not in _OF_JSON_RPC:
                found[value] = struct.name
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedCode:
    """An error whose code changed in a revision by the specification alone; `reason` says where."""

    name: str
    before: int
    after: int
    since: str
    reason: str


MOVED_CODES = (
    MovedCode(
        name="RESOURCE_NOT_FOUND",
        before=-32002,
        after=-32602,
        since="2026-07-28",
        reason="server/resources, Error Handling: an unknown resource is invalid params; accept -32002 too",
    ),
)
"""Changes that no schema states. A row whose codes a schema names fails a test."""


def _compare_moved(sides: Sides, changes: Changes) -> None:
    old, new = sides.old, sides.new
    for row in MOVED_CODES:
        was, is_ = (row.after if side.revision >= row.since else row.before for side in (old, new))
        if was != is_ and UNNAMED not in (old.revision, new.revision):
            for travel in Travel:
                changes.see(ErrorSite(before=was, after=is_), _of_error(sides, travel, row.name, row.name))


def _is_code(value: object) -> bool:
    return isinstance(value, int) and _FIRST_ERROR <= value <= _LAST_ERROR


def _constants(protocol: Protocol) -> Mapping[str, int]:
    return {c.name: c.value for c in protocol.constants if isinstance(c.value, int) and _is_code(c.value)}


def _stated(protocol: Protocol) -> Mapping[str, int]:
    """Return the codes that definitions state: the only codes in a schema.json without its schema.ts."""
    found = ((protocol.definitions[name], code) for code, name in error_types(protocol).items())
    return {d.holder.partition(".")[0] or d.name: code for d, code in found if isinstance(d, Struct)}


def compare_result_types(sides: Sides, changes: Changes) -> None:
    """Compare the unions that list the results; the result of each request is compared with its method."""
    for union, travel in _RESULTS.items():
        if union not in sides.old.definitions or union not in sides.new.definitions:
            continue
        listed = [_results(union, side) for side in (sides.old, sides.new)]
        if listed[0] is None or listed[1] is None:
            continue
        spot = Spot(before=root(union), after=root(union), carrier=Carrier("", "result", travel))
        for name in sorted(listed[0] - listed[1]):
            changes.see(ResultTypeSite(before=name, after=None), spot)
        for name in sorted(listed[1] - listed[0]):
            changes.see(ResultTypeSite(before=None, after=name), spot)


def _results(union: str, protocol: Protocol) -> set[str] | None:
    """Return the names of the results, or None if the file has a copy of the only result instead of its name."""
    names = {leaf.name for leaf in leaves(Ref(name=union), protocol) if isinstance(leaf, Ref)}
    return None if union in names else names

"""Compare two revisions message by message, following each value from the sender to the receiver."""

from collections.abc import Mapping
from dataclasses import replace

from mcp_bindgen.diff.finding import Carrier, Finding, Travel, breaks
from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.sites import AlternativeSite, EnvelopeSite, MethodSite, OpaqueSite, PropertySite
from mcp_bindgen.diff.types.equality import stated
from mcp_bindgen.diff.types.methods import COMPLETE, RESULT_TAG, result_forms, result_tag, settle
from mcp_bindgen.diff.types.pointers import Pointers
from mcp_bindgen.diff.wire.frames import FRAME, TRAVELS, compare_errors, compare_frames, compare_result_types, is_sent
from mcp_bindgen.diff.wire.gates import Gates, needs_of_result
from mcp_bindgen.diff.wire.spot import Changes, Spot, root
from mcp_bindgen.diff.wire.walk import Restricted, Sides, Walk
from mcp_bindgen.ir.leaves import leaves
from mcp_bindgen.ir.names import ENVELOPE, field_of
from mcp_bindgen.ir.nodes import ANY, Direction, Field, Literal, MapOf, Method, Protocol, Ref, Struct, Union
from mcp_bindgen.ir.spell import opaque_text

_BACK = {Travel.TO_SERVER: Travel.TO_CLIENT, Travel.TO_CLIENT: Travel.TO_SERVER}


def compare_messages(old: Protocol, new: Protocol) -> tuple[Finding, ...]:
    """Return all changes between two revisions that are visible in messages, each once, in a stable order."""
    settled = settle(old, new)
    old, new = settled.old, settled.new
    changes = Changes()
    sides = Sides(old, new)
    comparison = _Methods(sides, changes)
    for before, after in _paired(old, new):
        comparison.method(before, after)
    compare_frames(sides, changes)
    compare_errors(sides, changes)
    compare_result_types(sides, changes)
    found = changes.findings(Gates(old, new).gate, (Pointers(old), Pointers(new)))
    return tuple(_doubted(finding, settled.guessed) for finding in found)


def _doubted(finding: Finding, guessed: frozenset[str]) -> Finding:
    """Downgrade an error that rests on a guess: the message may never be sent in that direction."""
    sure = {
        pair
        for carrier in finding.carriers
        if carrier.method not in guessed
        for pair in breaks(finding.change, carrier.travel)
    }
    doubtful = finding.breaks - sure
    if not doubtful:
        return finding
    names = ", ".join(name for name in finding.methods if name in guessed)
    why = f"no root union on either side says which side sends {names}"
    return replace(finding, unproven=doubtful, why_unproven=dict.fromkeys(sorted(doubtful), why))


def renamed_methods(old: Protocol, new: Protocol) -> Mapping[str, str]:
    """Return the methods that were only renamed, old name to new: their message definition is the same."""
    return {a.name: b.name for a, b in _paired(old, new) if a and b and a.name != b.name}


def _paired(old: Protocol, new: Protocol) -> list[tuple[Method | None, Method | None]]:
    """Return the methods of both sides by name; renamed methods are paired if the message keeps its definition name."""
    before, after = ({m.name: m for m in side.methods} for side in (old, new))
    gone = {_identity(m): m for m in old.methods if m.name not in after}
    come = {_identity(m): m for m in new.methods if m.name not in before}
    both = gone.keys() & come.keys()
    pairs = [(before.get(name), after.get(name)) for name in sorted(before.keys() | after.keys())]
    single = [p for p in pairs if all(m is None or p.count(None) == 0 or _identity(m) not in both for m in p)]
    return [*single, *((gone[key], come[key]) for key in sorted(both))]


def _identity(method: Method) -> tuple[str, bool, Direction]:
    return method.message, method.is_request, method.direction


class _Methods:
    def __init__(self, sides: Sides, changes: Changes) -> None:
        self._sides = sides
        self._see = changes.see

    def method(self, before: Method | None, after: Method | None) -> None:
        """Compare one method: whether it exists in each direction, then what its messages carry."""
        for travel in Travel:
            goes_on = all(m and any(_sent(m, t) for t in Travel) for m in (before, after))
            self._existence(_sent(before, travel), _sent(after, travel), travel, way=travel.value if goes_on else "")
        if before is None or after is None or before.is_request != after.is_request:
            return
        self._envelope(before, after)
        for travel in _shared(before, after):
            is_typed = all(self._is_typed(m, side) for m, side in ((before, self._sides.old), (after, self._sides.new)))
            framed = self._framed(before, after)
            self._frame(before, after, travel, framed, skipped=("params",) if is_typed else ())
            if is_typed:
                self._params(before, after, travel, framed)
            if _is_sendable(before, self._sides.old) and _is_sendable(after, self._sides.new):
                self._results(before, after, Carrier(before.name, "result", _BACK[travel]))

    def _existence(self, before: Method | None, after: Method | None, travel: Travel, *, way: str) -> None:
        """Compare whether a method is sent in a direction; a request that became a notification counts as removed."""
        if before and after and before.is_request == after.is_request:
            self._see(MethodSite(before=before, after=after), _spot(before, after, travel))
            return
        if before:
            self._see(MethodSite(before=before, after=None, way="" if after else way), _spot(before, before, travel))
        if after:
            self._see(MethodSite(before=None, after=after, way="" if before else way), _spot(after, after, travel))

    def _envelope(self, before: Method, after: Method) -> None:
        """Compare what the message's definition says about its JSON-RPC frame, which is always there."""
        if Direction.EMBEDDED in (before.direction, after.direction):
            return
        definitions = self._sides.old.definitions[before.message], self._sides.new.definitions[after.message]
        declared = [
            {f.wire_name for f in d.fields if f.wire_name in ENVELOPE} for d in definitions if isinstance(d, Struct)
        ]
        for name in sorted(declared[0] ^ declared[1]):
            site = EnvelopeSite(before=name * (name in declared[0]), after=name * (name in declared[1]))
            for travel in _shared(before, after):
                self._see(site, _spot(before, after, travel, name))

    def _is_typed(self, method: Method, protocol: Protocol) -> bool:
        """Whether the params of a message, if it declares any, are an object with a name and nothing more."""
        params = field_of(method.message, "params", protocol.definitions)
        return (params is None) is (method.params is None) and not (params and opaque_text(params.type))

    def _framed(self, before: Method, after: Method) -> Restricted:
        """Return what the frames restrict: each message is also a request or a notification of JSON-RPC."""
        found = Restricted()
        if Direction.EMBEDDED not in (before.direction, after.direction):
            for name in (*ENVELOPE, "params"):
                old, old_frame = _own_and_framed(name, before, self._sides.old)
                new, new_frame = _own_and_framed(name, after, self._sides.new)
                found.types[name] = self._harmless(old_frame, new, Change.NARROWS)
                found.types[name] |= self._harmless(old, new_frame, Change.WIDENS)
                found.presence[name] = Change.NARROWS if old_frame and old_frame.required else Change.NONE
                found.presence[name] |= Change.WIDENS if new_frame and new_frame.required else Change.NONE
        return found

    def _harmless(self, old: Field | None, new: Field | None, effect: Change) -> Change:
        """Return an effect if no change from one type to the other has it."""
        return self._sides.harmless(old.type, new.type, strict=True) & effect if old and new else Change.NONE

    def _frame(
        self, before: Method, after: Method, travel: Travel, framed: Restricted, *, skipped: tuple[str, ...]
    ) -> None:
        """Compare what a message's definition says, except of JSON-RPC itself and of params that are compared apart."""
        if Direction.EMBEDDED not in (before.direction, after.direction):
            carrier = Carrier(before.name, FRAME, travel)
            spot = Spot(before=root(before.message), after=root(after.message), carrier=carrier)
            sides = (before, self._sides.old), (after, self._sides.new)
            usual = [name for name in ENVELOPE if not _are_restricted(name, *sides)]
            walk = Walk(self._sides, framed.within(self._see), skipped=("method", *usual, *skipped))
            walk.types(Ref(name=before.message), Ref(name=after.message), spot)

    def _params(self, before: Method, after: Method, travel: Travel, framed: Restricted) -> None:
        spot = _spot(before, after, travel, "params")
        site = PropertySite(before=_params_of(before), after=_params_of(after))
        self._see(site, replace(spot, harmless=framed.presence.get("params", Change.NONE)))
        if before.params and after.params:
            harmless = framed.types.get("params", Change.NONE)
            inside = Spot(before=root(before.params), after=root(after.params), carrier=spot.carrier, harmless=harmless)
            Walk(self._sides, self._see).types(Ref(name=before.params), Ref(name=after.params), inside)

    def _results(self, before: Method, after: Method, carrier: Carrier) -> None:
        if before.result is None or after.result is None:
            return
        # Peers that expect a response ignore an answer in the params of another request.
        embeds = before.direction is Direction.EMBEDDED, after.direction is Direction.EMBEDDED
        harmless = {(True, False): Change.NARROWS, (False, True): Change.WIDENS}.get(embeds, Change.NONE)
        spot = Spot(before=root(before.result), after=root(after.result), carrier=carrier, harmless=harmless)
        texts = _said_of_result(before, self._sides.old), _said_of_result(after, self._sides.new)
        self._see(OpaqueSite(before=texts[0], after=texts[1]), replace(spot, unsure=True))
        old, new = dict(result_forms(self._sides.old, before)), dict(result_forms(self._sides.new, after))
        for form in [form for form in old if form in new]:
            self._form(form, old.pop(form), new.pop(form), spot)
        gone, come = ([Ref(name=name) for names in forms.values() for name in names] for forms in (old, new))
        is_tagged = result_tag(self._sides.old, before.result) or result_tag(self._sides.new, after.result)
        for a, b in [] if is_tagged else self._sides.likeness.pairs(gone, come)[0]:
            assert isinstance(a, Ref) and isinstance(b, Ref)
            gone.remove(a)
            come.remove(b)
            self._form("", (a.name,), (b.name,), spot)
        for ref in gone:
            self._see(AlternativeSite(before=ref, after=None), _answered(spot, ref))
        for ref in come:
            self._see(AlternativeSite(before=None, after=ref), _answered(spot, ref))

    def _form(self, form: str, old: tuple[str, ...], new: tuple[str, ...], spot: Spot) -> None:
        """Compare a form of a result that both sides have, by its tag."""
        types = [tuple(Ref(name=name) for name in names) for names in (old, new)]
        spot = replace(spot, before=root(old[0]), after=root(new[0]))
        spot = spot if form == COMPLETE else spot.member(types[0][0], types[1][0])
        whole = [forms[0] if len(forms) == 1 else Union(members=forms) for forms in types]
        tagged = Restricted()
        if form not in ("", COMPLETE, *old):  # An answer without the tag has another form.
            tag = Field(wire_name=RESULT_TAG, type=Literal(values=(form,)), required=True)
            was = field_of(old[0], RESULT_TAG, self._sides.old.definitions)
            is_ = field_of(new[0], RESULT_TAG, self._sides.new.definitions)
            tagged.presence[RESULT_TAG] = Change.BOTH
            tagged.types[RESULT_TAG] = self._harmless(tag, is_, Change.NARROWS)
            tagged.types[RESULT_TAG] |= self._harmless(was, tag, Change.WIDENS)
        Walk(self._sides, tagged.within(self._see)).types(whole[0], whole[1], spot)


def _are_restricted(name: str, *sides: tuple[Method, Protocol]) -> bool:
    """Whether two messages have a property of their frame, and one says more about it than the frame does."""
    found: list[bool] = []
    for method, protocol in sides:
        own, framed = _own_and_framed(name, method, protocol)
        if own is None:
            return False
        found.append(framed is None or own.type != framed.type or own.type.opaque is not None)
    return any(found)


def _own_and_framed(name: str, method: Method, protocol: Protocol) -> tuple[Field | None, Field | None]:
    """Return a property as a message declares it, and as its JSON-RPC frame does."""
    frame = "JSONRPCRequest" if method.is_request else "JSONRPCNotification"
    return field_of(method.message, name, protocol.definitions), field_of(frame, name, protocol.definitions)


def _said_of_result(method: Method, protocol: Protocol) -> str:
    """Return what the response of a request says about its result beyond the result's types."""
    result = field_of(f"{method.message.removesuffix('Request')}ResultResponse", "result", protocol.definitions)
    if result is None:
        return ""
    is_union = isinstance(protocol.resolve(result.type), Union)  # whose members are compared without it
    return stated(result.type, protocol) if is_union else opaque_text(result.type)


def _params_of(method: Method) -> Field | None:
    """Return the params of a message as a property."""
    if method.params is None:
        return None
    return Field(wire_name="params", type=Ref(name=method.params), required=method.params_required)


def _is_sendable(method: Method, protocol: Protocol) -> bool:
    """Whether some message of a method is valid: one whose params cannot be an object is not, and has no results."""
    params = field_of(method.message, "params", protocol.definitions)
    found = [protocol.resolve(leaf) for leaf in leaves(params.type, protocol)] if params and params.required else [ANY]
    return any(isinstance(type_, Struct | MapOf) or type_ == ANY for type_ in found)


def _shared(before: Method, after: Method) -> tuple[Travel, ...]:
    """The directions that the method has on both sides."""
    return tuple(travel for travel in TRAVELS[before.direction] if travel in TRAVELS[after.direction])


def _answered(spot: Spot, ref: Ref) -> Spot:
    needs = spot.needs | needs_of_result(ref.name)
    return replace(spot.member(ref, ref), before=spot.before, after=spot.after, needs=needs)


def _spot(before: Method, after: Method, travel: Travel, member: str = "") -> Spot:
    carrier = Carrier(before.name, "params", travel)
    return Spot(before=root(before.message, member), after=root(after.message, member), carrier=carrier)


def _sent(method: Method | None, travel: Travel) -> Method | None:
    """Return the method if it is a separate message in that direction."""
    return method if method and is_sent(method, travel) else None

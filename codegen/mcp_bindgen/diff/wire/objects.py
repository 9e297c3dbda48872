"""Compare two objects: their members, what may stand beside them, and members that have another name or place."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_bindgen.diff.finding import Carrier, Subject
from mcp_bindgen.diff.types.leaves import forms, members, rest_of
from mcp_bindgen.diff.types.likeness import renamed
from mcp_bindgen.diff.types.shapes import bound_changes
from mcp_bindgen.diff.wire.spot import Spot, through
from mcp_bindgen.ir.nodes import ANY, UNBOUNDED, Field, Literal, MapOf, Struct, TypeRef
from mcp_bindgen.ir.spell import spell

if TYPE_CHECKING:
    from mcp_bindgen.diff.wire.walk import Notes, Sides

Types = Callable[[TypeRef, TypeRef, Spot], None]
_Object = Struct | MapOf


class Objects:
    """Compares objects, each pair of structs once for each message that carries them."""

    def __init__(self, sides: "Sides", notes: "Notes", types: Types, skipped: Sequence[str] = ()) -> None:
        self._sides = sides
        self._notes = notes
        self._types = types
        self._skipped = frozenset(skipped)
        self._entered: set[tuple[Carrier, str, str, frozenset[str]]] = set()

    def compare(self, old: _Object, new: _Object, spot: Spot) -> None:
        """Compare two objects that stand at the same place."""
        if isinstance(old, Struct) and isinstance(new, Struct):
            key = (spot.carrier, old.name, new.name, spot.needs)
            if key in self._entered:
                return
            self._entered.add(key)
        pair = _Pair(old, new, _inside(old, new, spot), self._skipped)
        bounds = [side.bounds if isinstance(side, MapOf) else UNBOUNDED for side in (old, new)]
        for rule, was, is_ in bound_changes(bounds[0], bounds[1]):
            self._notes.note(rule, was, is_, spot)
        renames = renamed(pair.gone(), pair.come(), self._sides.same)
        for was, is_ in renames.items():
            self._notes.note("property-renamed", was, is_, pair.spot.field(was, is_))
        moved = self._moved(pair, {*renames, *renames.values()})
        for name in sorted({*pair.before, *pair.after} - {*renames, *renames.values()} - moved):
            self._member(name, pair)
        self._rest(pair)

    def _member(self, name: str, pair: "_Pair") -> None:
        before, after = pair.before.get(name), pair.after.get(name)
        spot = self._needing(pair, name)
        if before and after:
            if before.required != after.required:
                self._notes.note(f"property-now-{_need(after)}", _need(before), _need(after), spot)
            self._types(before.type, after.type, spot)
        elif after:
            self._declared(after, pair, spot, added=True)
        elif before:
            self._declared(before, pair, spot, added=False)

    def _needing(self, pair: "_Pair", name: str) -> Spot:
        """Return the spot of a member, with the capability that it needs: one that was used without needs none."""
        sides = ((self._sides.old, pair.old, pair.before), (self._sides.new, pair.new, pair.after))
        paths = [
            protocol.capabilities.get(f"{side.name}.{name}", "") if isinstance(side, Struct) else ""
            for protocol, side, declared in sides
            if name in declared
        ]
        spot = pair.spot.field(name, name)
        return replace(spot, needs=spot.needs | set(paths)) if all(paths) else spot

    def _declared(self, member: Field, pair: "_Pair", spot: Spot, *, added: bool) -> None:
        """Note a member that only one side declares: on the other side it is what may stand there undeclared."""
        lacking, having = (pair.old, pair.new) if added else (pair.new, pair.old)
        undeclared, kept = rest_of(lacking), rest_of(having)
        readings = ("-", spell(member.type)) if added else (spell(member.type), "-")
        verb = "added" if added else "removed"
        rule = f"property-{verb}-{_need(member)}"
        if undeclared is None and kept is None:
            # Nobody ignores the unknown member of a closed object. Where one side is open, `_rest` says so.
            self._notes.note(f"property-{verb}-{'to' if added else 'from'}-closed", *readings, spot)
            if member.required:
                self._notes.note(rule, *readings, spot)
            return
        protocol = self._sides.old if added else self._sides.new
        is_free = undeclared is None or forms(undeclared, protocol) == (ANY,)
        if not member.required and is_free and spot.in_capabilities:
            rule = f"capability-{verb}"
        elif not member.required and is_free and pair.holds_schema and _is_indexed(lacking):
            rule = f"property-constraint-{'added' if added else 'dropped'}"
        self._notes.note(rule, *readings, spot)
        if undeclared is not None and not is_free:
            self._types(*((undeclared, member.type) if added else (member.type, undeclared)), spot)

    def _rest(self, pair: "_Pair") -> None:
        """Compare what may stand beside the declared members."""
        old, new, spot = rest_of(pair.old), rest_of(pair.new), pair.spot.value()
        if old is not None and new is not None:
            self._types(old, new, spot)
        elif old is not None:
            self._notes.note("additional-properties-closed", "open", "closed", spot)
        elif new is not None:
            self._notes.note("additional-properties-opened", "closed", "open", spot)

    def _moved(self, pair: "_Pair", known: set[str]) -> set[str]:
        """Find members that went into an object beside them, or came out of one; return their names outside."""
        found: set[str] = set()
        for beside in sorted(pair.before.keys() & pair.after.keys()):
            inner = self._objects_at(beside, pair)
            if inner is None:
                continue
            outside = ((pair.gone(), inner.come(), True), (pair.come(), inner.gone(), False))
            for left, arrived, inwards in outside:
                for member in left:
                    other = next((m for m in arrived if self._is_moved(member, m, inwards)), None)
                    if other and member.wire_name not in {*found, *known}:
                        found.add(member.wire_name)
                        self._note_move(member, other, (pair, beside, inner), inwards=inwards)
        return found

    def _objects_at(self, name: str, pair: "_Pair") -> "_Pair | None":
        types = (pair.before[name].type, pair.after[name].type)
        old, new = (forms(t, p) for t, p in zip(types, (self._sides.old, self._sides.new), strict=True))
        before, after = self._sides.old.resolve(old[0]), self._sides.new.resolve(new[0])
        if (
            len(old) > 1
            or len(new) > 1
            or not isinstance(before, Struct | MapOf)
            or not isinstance(after, Struct | MapOf)
        ):
            return None
        spot = pair.spot.field(name, name)
        ends = through(spot.before, types[0], self._sides.old), through(spot.after, types[1], self._sides.new)
        return _Pair(before, after, _inside(before, after, replace(spot, before=ends[0], after=ends[1])))

    def _is_moved(self, outer: Field, inner: Field, inwards: bool) -> bool:
        """Whether a member outside is one inside; `_meta` puts a prefix before the name."""
        if outer.wire_name != inner.wire_name.rpartition("/")[2] or outer.required != inner.required:
            return False
        return self._sides.same(outer.type, inner.type) if inwards else self._sides.same(inner.type, outer.type)

    def _note_move(self, outer: Field, inner: Field, where: "tuple[_Pair, str, _Pair]", *, inwards: bool) -> None:
        pair, beside, nested = where
        out = pair.spot.field(outer.wire_name, outer.wire_name)
        in_ = nested.spot.field(inner.wire_name, inner.wire_name)
        path = f"{beside}.{inner.wire_name}"
        spot = replace(out, after=in_.after) if inwards else replace(out, before=in_.before)
        self._notes.note("property-moved", *((outer.wire_name, path) if inwards else (path, outer.wire_name)), spot)
        rule = f"property-{'added' if inwards else 'removed'}-{_need(inner)}"
        readings = ("-", spell(inner.type)) if inwards else (spell(inner.type), "-")
        self._notes.retract(rule, *readings, in_)


class _Pair:
    """Two objects, the members that each declares, and the spot within them."""

    def __init__(self, old: _Object, new: _Object, spot: Spot, skipped: frozenset[str] = frozenset()) -> None:
        self.old = old
        self.new = new
        self.before: Mapping[str, Field] = {n: f for n, f in members(old).items() if n not in skipped}
        self.after: Mapping[str, Field] = {n: f for n, f in members(new).items() if n not in skipped}
        self.spot = spot

    def gone(self) -> list[Field]:
        return [self.before[name] for name in sorted(self.before.keys() - self.after.keys())]

    def come(self) -> list[Field]:
        return [self.after[name] for name in sorted(self.after.keys() - self.before.keys())]

    @property
    def holds_schema(self) -> bool:
        """Whether the object is a JSON Schema.

        Its members are keywords of that language, declared or not, so peers send and read those that MCP leaves open.
        """
        return any(_is_schema(name, f) for side in (self.before, self.after) for name, f in side.items())


def _is_schema(name: str, field: Field) -> bool:
    return name == "$schema" or (name == "type" and field.type == Literal(values=("object",)))


def _is_indexed(object_: _Object) -> bool:
    return isinstance(object_, MapOf) or object_.indexed


def _inside(old: _Object, new: _Object, spot: Spot) -> Spot:
    """Return the spot within two objects: named after the structs, or the struct, that they are."""
    structs: Iterator[Struct] = (side for side in (old, new) if isinstance(side, Struct))
    first = next(structs, None)
    if first is None:
        return spot
    named = [side.name if isinstance(side, Struct) else first.name for side in (old, new)]
    if isinstance(new, Struct) and not isinstance(old, Struct):
        named = [new.name, new.name]
    ends = [
        replace(end, place=name, subject=Subject(definition=name) if isinstance(side, Struct) else end.subject)
        for end, name, side in zip((spot.before, spot.after), named, (old, new), strict=True)
    ]
    is_capabilities = any(name.endswith("Capabilities") for name in named)
    return replace(spot, before=ends[0], after=ends[1], in_capabilities=spot.in_capabilities or is_capabilities)


def _need(field: Field) -> str:
    return "required" if field.required else "optional"

"""Derive the conversions between two revisions: from the pairs of the diff, place by place, and decisions on the rest.

The diff decides which types, union members and properties correspond (`Sides`, `forms`,
`Likeness`, `renamed`); this module only derives the consequences for
messages. A table consists of constructor calls (`Call`) for the classes of `mcp_runtime.bridge.table`, which documents
them; the generator works without the runtime.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_bindgen.bridge.rows import RULE_SESSION, RULE_SPLIT, Decision, Entry, Rows
from mcp_bindgen.bridge.shapes import Shapes, call
from mcp_bindgen.diff.types.equality import renamed
from mcp_bindgen.diff.types.scalars import bound_sites
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.diff.wire.walk import Sides
from mcp_bindgen.emit.python.views import Call
from mcp_bindgen.ir.leaves import forms, members, rest_of
from mcp_bindgen.ir.nodes import (
    ANY,
    NULL,
    Field,
    ListOf,
    MapOf,
    Method,
    Primitive,
    Protocol,
    Ref,
    Scalar,
    Struct,
    TypeRef,
)
from mcp_bindgen.ir.spell import spell

_Object = Struct | MapOf
FORMAT = 2
"""The format of the tables, which the runtime checks."""
CAPABILITIES = {"client": "ClientCapabilities", "server": "ServerCapabilities"}
"""The definitions of each side's capabilities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """The conversions between two revisions: the table, and a description of what it does."""

    old: str
    new: str
    table: Call
    entries: tuple[Entry, ...]


def derive(old: Protocol, new: Protocol, rows: Rows) -> Bridge:
    """Return the conversions between two revisions, the older one first."""
    return _Derivation(old, new, rows).run()


class _Derivation:
    def __init__(self, old: Protocol, new: Protocol, rows: Rows) -> None:
        self._old = old
        self._new = new
        self._rows = rows
        self._sides = Sides(old, new)
        self._named: dict[str, Call] = {}
        self._shapes = Shapes(old, "old", self._named), Shapes(new, "new", self._named)
        self._nodes: dict[str, Call] = {}
        self._entries: dict[tuple[str, str, str, str], Entry] = {}

    def run(self) -> Bridge:
        methods = tuple(self._methods())
        capabilities = self._capabilities()
        old, new = self._old.revision, self._new.revision
        content: dict[str, object] = {
            "format": FORMAT,
            "old": old,
            "new": new,
            "methods": methods,
            "capabilities": capabilities,
            "nodes": dict(sorted(self._nodes.items())),
            "shapes": dict(sorted(self._named.items())),
        }
        table = Call(name="Table", arguments=content)
        return Bridge(old=old, new=new, table=table, entries=tuple(self._entries.values()))

    def _enter(self, rule: str, place: str, old: str, new: str, **said: str) -> None:
        self._entries.setdefault((rule, place, old, new), Entry(rule=rule, place=place, old=old, new=new, **said))

    def _capabilities(self) -> dict[str, Call]:
        """Return how the declarations of each side differ: the eras use different messages for them."""
        found: dict[str, Call] = {}
        for side, name in CAPABILITIES.items():
            if name in self._old.definitions and name in self._new.definitions:
                node = self._types(Ref(name=name), Ref(name=name), name)
                if node is not None:
                    found[side] = node
        return found

    def _methods(self) -> list[Call]:
        names = renamed_methods(self._old, self._new)
        after = {method.name: method for method in self._new.methods}
        found: dict[str, Call] = {}
        for before in self._old.methods:
            now = after.pop(names.get(before.name, before.name), None)
            if now is None or now.is_request != before.is_request:
                self._missing(before, "removed")
                if now is not None:
                    self._missing(now, "added")
                continue
            differing = self._method(before, now)
            if differing is not None:
                found[now.name] = differing
        for method in after.values():
            self._missing(method, "added")
        return [found[name] for name in sorted(found)]

    def _missing(self, method: Method, verb: str) -> None:
        kind = "request" if method.is_request else "notification"
        rule = f"{kind}-method-{verb}"
        readings = (method.name, "-") if verb == "removed" else ("-", method.name)
        row = self._rows.find(rule, method.message, method.name)
        said = row.says if row else "not offered, not answered; a program that needs it gets MissingInRevision"
        self._enter(
            rule,
            method.message,
            *readings,
            kind=row.kind if row else "method",
            reason=row.reason if row else "",
            **{"down" if verb == "added" else "up": said},
        )

    def _method(self, before: Method, now: Method) -> Call | None:
        if before.name != now.name:
            self._enter("method-renamed", before.message, before.name, now.name, down="renamed", up="renamed")
        params = None
        if before.params and now.params:
            params = self._types(Ref(name=before.params), Ref(name=now.params), before.params)
        result = self._result(before, now)
        if params is None and result is None and before.name == now.name:
            return None
        return call("Method", old=before.name, new=now.name, params=params, result=result)

    def _result(self, before: Method, now: Method) -> Call | None:
        if before.result is None or now.result is None:
            return None
        usual = Ref(name=before.result), Ref(name=now.result)
        node = self._types(*usual, before.result)
        sides = [[Ref(name=name) for name in method.alternatives] for method in (before, now)]
        if not sides[0] and not sides[1]:
            return node
        pairs = [usual, *self._sides.likeness.pairs(*sides)[0]]
        return call(
            "Choice",
            pairs=tuple(self._pair(a, b, node if (a, b) == usual else None) for a, b in pairs),
            gone=tuple(
                self._alone("result-alternative-removed", ref, before.result, is_new=False)
                for ref in sides[0]
                if ref not in [a for a, _ in pairs]
            ),
            come=tuple(
                self._alone("result-alternative-added", ref, before.result, is_new=True)
                for ref in sides[1]
                if ref not in [b for _, b in pairs]
            ),
        )

    def _types(self, old: TypeRef, new: TypeRef, place: str) -> Call | None:
        """Return how two types at a place differ, None if they do not."""
        if self._sides.same(old, new):
            return None
        before, after = forms(old, self._old), forms(new, self._new)
        if len(before) == len(after) == 1:
            return self._single(before[0], after[0], place)
        if ANY in (*before, *after):
            return self._fit(old, new, place)
        pairs, gone, come = self._sides.likeness.pairs(before, after)
        if not pairs:
            return self._fit(old, new, place)
        known = tuple(self._pair(a, b, self._single(a, b, place)) for a, b in pairs)
        node = call(
            "Choice",
            pairs=known,
            gone=tuple(self._alone(_lost(leaf, "removed"), leaf, place, is_new=False) for leaf in gone),
            come=tuple(self._alone(_lost(leaf, "added"), leaf, place, is_new=True) for leaf in come),
        )
        return node if gone or come or any("node" in pair.arguments for pair in known) else None

    def _single(self, old: TypeRef, new: TypeRef, place: str) -> Call | None:
        if self._sides.same(old, new):
            return None
        before, after = self._old.resolve(old), self._new.resolve(new)
        match before, after:
            case MapOf(), MapOf() if before.bounds != after.bounds:
                return self._fit(old, new, place)
            case (Struct() | MapOf()), (Struct() | MapOf()):
                return self._objects(before, after, place)
            case ListOf(), ListOf() if before.bounds == after.bounds:
                item = self._types(before.item, after.item, f"{place}[]")
                return None if item is None else self._array(item, before.item, after.item)
            case _:
                return self._fit(old, new, place)

    def _array(self, item: Call, old: TypeRef, new: TypeRef) -> Call:
        """Return the node of a list; an item that holds several values only in the newer one is split by a row."""
        source, target = self._old.resolve(old), self._new.resolve(new)
        if not isinstance(source, Struct) or not isinstance(target, Struct):
            return call("Array", item=item)
        for member in target.fields:
            before = source.field(member.wire_name)
            known = {spell(leaf) for leaf in forms(before.type, self._old)} if before else set[str]()
            for leaf in forms(member.type, self._new):
                if spell(leaf) in known:
                    continue
                row = self._rows.find("union-member-added", f"{target.name}.{member.wire_name}", spell(leaf))
                if row is not None and row.convert == RULE_SPLIT:
                    return call("Array", item=item, split=member.wire_name, kind=row.kind)
        return call("Array", item=item)

    def _pair(self, old: TypeRef, new: TypeRef, node: Call | None) -> Call:
        return call("Pair", old=self._shapes[0].shape(old), new=self._shapes[1].shape(new), node=node)

    def _alone(self, rule: str, leaf: TypeRef, place: str, *, is_new: bool) -> Call:
        spelled = spell(leaf)
        readings = ("-", spelled) if is_new else (spelled, "-")
        row = self._rows.find(rule, place, spelled)
        fallback = self._decided(rule, place, readings, row, is_new=is_new)
        return call("Alone", shape=self._shapes[is_new].shape(leaf), fallback=fallback)

    def _decided(self, rule: str, place: str, readings: tuple[str, str], row: Decision | None, *, is_new: bool) -> Call:
        """Return how to treat something that one side cannot express: as a row says, or by refusing it."""
        way = "down" if is_new else "up"
        if row is None:
            self._enter(rule, place, *readings, kind="form", **{way: "the message is refused"})
            return call("Fallback", kind="form")
        self._enter(rule, place, *readings, kind=row.kind, reason=row.reason, **{way: row.says})
        # A list that is not split is joined into one value.
        return call("Fallback", kind=row.kind, convert="join" if row.convert == RULE_SPLIT else row.convert)

    def _fit(self, old: TypeRef, new: TypeRef, place: str) -> Call:
        (rule, readings), *others = self._changes(old, new)
        row = self._rows.find(rule, place, readings[1])
        said = {"down": "refused if it does not fit", "up": "the same"}
        if row is None:
            self._enter(rule, place, *readings, kind="form", **said)
            fallback = call("Fallback", kind="form")
        else:
            fallback = self._decided(rule, place, readings, row, is_new=row.way == "down")
        for other, others_readings in others:
            self._enter(other, place, *others_readings, kind="form", **said)
        return call("Fit", old=self._shapes[0].shape(old), new=self._shapes[1].shape(new), fallback=fallback)

    def _changes(self, old: TypeRef, new: TypeRef) -> list[tuple[str, tuple[str, str]]]:
        """Return the diff's rules for the change of a type, each with the readings of both sides."""
        before, after = self._old.resolve(old), self._new.resolve(new)
        if ANY in forms(new, self._new):
            return [("type-widened", (spell(old), spell(new)))]
        match before, after:
            case (ListOf(item=a), ListOf(item=b)) | (MapOf(value=a), MapOf(value=b)):
                is_of_bounds = self._sides.same(a, b)
            case Primitive(kind=kind), Primitive(kind=other):
                is_of_bounds = kind is other
            case _:
                is_of_bounds = False
        found: list[tuple[str, tuple[str, str]]] = []
        for site in bound_sites(before, after) if is_of_bounds else ():
            verb = "added" if not site.before else "changed" if site.after else "removed"
            readings = site.before.text if site.before else "-", site.after.text if site.after else "-"
            found.append((f"constraint-{verb}", readings))
        return found or [("type-changed", (spell(old), spell(new)))]

    def _objects(self, old: _Object, new: _Object, place: str) -> Call | None:
        structs = _names(old, new)
        if not structs:
            return self._object(old, new, place)
        # The side of a map is part of the name: the same struct may have been a map elsewhere.
        name = structs[0] if len(set(structs)) == 1 and len(structs) == 2 else ">".join(structs)
        if len(structs) == 1:
            name = f"{place}>{name}"
        if name not in self._nodes:
            self._nodes[name] = call("Object")
            self._nodes[name] = self._object(old, new, structs[0])
        return call("Use", name=name)

    def _object(self, old: _Object, new: _Object, place: str) -> Call:
        before, after = members(old), members(new)
        gone = [before[name] for name in sorted(before.keys() - after.keys())]
        come = [after[name] for name in sorted(after.keys() - before.keys())]
        renames = renamed(gone, come, self._sides.same)
        is_capabilities = any("Capabilities" in name for name in _names(old, new))
        for was, is_ in renames.items():
            self._enter("property-renamed", f"{place}.{was}", was, is_, down="renamed", up="renamed")
        nodes: dict[str, Call] = {}
        for name in sorted(before.keys() & after.keys()):
            node = self._types(before[name].type, after[name].type, f"{place}.{name}")
            if node is not None:
                nodes[name] = node
        come = [f for f in come if f.wire_name not in renames.values()]
        gone = [f for f in gone if f.wire_name not in renames]
        added = self._declared(come, place, is_new=True, is_capabilities=is_capabilities)
        removed = self._declared(gone, place, is_new=False, is_capabilities=is_capabilities)
        self._demands(removed.absent, added.absent, place, before, after)
        rest = self._rest(old, new, place)
        return call(
            "Object",
            members=nodes,
            required=tuple(name for name in nodes if before[name].required or after[name].required),
            renamed=dict(renames),
            added=added.shapes,
            removed=removed.shapes,
            fill_old=removed.constants,
            fill_new=added.constants,
            absent_old=removed.absent,
            absent_new=added.absent,
            said_otherwise=added.treated,
            unfit_old=removed.treated,
            rest=rest,
            declared=tuple(sorted({*before, *after})) if rest else (),
            is_capabilities=is_capabilities,
        )

    def _rest(self, old: _Object, new: _Object, place: str) -> Call | None:
        types = rest_of(old), rest_of(new)
        if types[0] is None or types[1] is None:
            return None
        return self._types(types[0], types[1], f"{place}{{}}")

    def _declared(self, only: list[Field], place: str, *, is_new: bool, is_capabilities: bool) -> "_Declared":
        """Return the properties that only one side declares."""
        found = _Declared(shapes={}, constants={}, absent={}, treated={})
        way, verb = ("down", "added") if is_new else ("up", "removed")
        for field in only:
            name, here, spelled = field.wire_name, f"{place}.{field.wire_name}", spell(field.type)
            rule = f"property-{verb}-{'required' if field.required else 'optional'}"
            readings = ("-", spelled) if is_new else (spelled, "-")
            row = self._rows.find(rule, here, spelled)
            found.shapes[name] = self._shapes[is_new].shape(field.type)
            if field.required and (assumed := self._assumed(field, here, is_new=is_new)) is not None:
                found.constants[name] = assumed
                if row is not None:
                    found.treated[name] = self._decided(rule, here, readings, row, is_new=True)
                self._enter(rule, here, *readings, **{"up" if is_new else "down": "filled in"})
            elif field.required:
                fallback = self._decided(rule, here, readings, row, is_new=not is_new)
                if row is None or row.convert != RULE_SESSION:
                    found.absent[name] = fallback
            elif row is not None:
                found.treated[name] = self._decided(rule, here, readings, row, is_new=True)
            elif is_capabilities:
                self._enter(f"capability-{verb}", here, *readings, kind="capability", **{way: "not declared"})
            else:
                said = "sent along; the peer ignores it"
                self._enter(rule, here, *readings, kind="undeclared", **{way: said})
        return found

    def _assumed(self, field: Field, place: str, *, is_new: bool) -> Scalar | None:
        """Return the default of an absent required property: its only value, or the default of the revision."""
        if field.constant:
            return field.constant.values[0]
        return (self._new if is_new else self._old).defaults.get(place)

    def _demands(
        self,
        absent_old: dict[str, Call],
        absent_new: dict[str, Call],
        place: str,
        before: Mapping[str, Field],
        after: Mapping[str, Field],
    ) -> None:
        """Add the properties of both sides that only one side requires."""
        for name in sorted(before.keys() & after.keys()):
            was, is_ = before[name], after[name]
            if was.required == is_.required:
                continue
            readings = ("optional", "required") if is_.required else ("required", "optional")
            rule = f"property-now-{readings[1]}"
            row = self._rows.find(rule, f"{place}.{name}", readings[1])
            fallback = self._decided(rule, f"{place}.{name}", readings, row, is_new=was.required)
            if row is None or row.convert != RULE_SESSION:
                (absent_old if was.required else absent_new)[name] = fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared:
    """The properties that only one side declares, by name, and how to treat them."""

    shapes: dict[str, Call]
    constants: dict[str, Scalar]
    absent: dict[str, Call]
    treated: dict[str, Call]


def _names(*objects: _Object) -> list[str]:
    return [side.name for side in objects if isinstance(side, Struct)]


def _lost(leaf: TypeRef, verb: str) -> str:
    return f"nullable-{verb}" if leaf == NULL else f"union-member-{verb}"

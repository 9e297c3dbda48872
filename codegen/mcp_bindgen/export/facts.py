"""The facts of one revision as frozen views: its methods and types, with history, users and gates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TypeAlias

from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.diagnostics import InputError, did_you_mean
from mcp_bindgen.ir.history import History, Lifetime
from mcp_bindgen.ir.names import closure, contained
from mcp_bindgen.ir.nodes import Definition, Direction, Field, Method, Protocol, Struct
from mcp_bindgen.ir.spell import spell, spell_bounds

MAX_CLOSE = 5
"""The number of suggestions for an unknown name."""
FLAGS = ("paginated", "cacheable", "task_augmentable", "multi_round_trip", "payload")
_SENDERS = {
    Direction.CLIENT_TO_SERVER: "the client",
    Direction.SERVER_TO_CLIENT: "the server",
    Direction.BOTH: "either side",
    Direction.EMBEDDED: "the server, inside a result",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyFacts(Lifetime):
    """One property; `capability` is what must be declared before it may be used."""

    name: str
    type: str
    required: bool
    bounds: str
    doc: str
    deprecated: bool
    inherited: bool = field(compare=False)
    capability: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFacts(Lifetime):
    """One definition; `type` and `bounds` are empty for a struct.

    `users` are the methods whose messages contain it: the part and the method.
    """

    kind: str
    name: str
    doc: str
    deprecated: bool
    bases: tuple[str, ...]
    type: str
    bounds: str
    properties: tuple[PropertyFacts, ...]
    users: tuple[tuple[str, str], ...] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFacts(Lifetime):
    """One method; `sender` is its direction in words, and `capability` what must be declared (``server.tools``)."""

    kind: str
    name: str
    doc: str
    deprecated: bool
    direction: str
    sender: str
    message: str
    params: str | None
    params_required: bool
    result: str | None
    alternatives: tuple[str, ...]
    flags: tuple[str, ...]
    capability: str

    @property
    def results(self) -> tuple[str, ...]:
        """The result and its alternatives."""
        return (self.result, *self.alternatives) if self.result else ()


class Facts:
    """The facts of one revision.

    Args:
        protocol: the revision.
        history: that of all revisions, itself included.
    """

    def __init__(self, protocol: Protocol, history: History) -> None:
        self.protocol = protocol
        self.history = history

    def find(self, name: str) -> MethodFacts | TypeFacts:
        """Return the facts of a method or of a definition.

        Raises:
            InputError: the revision has none of that name.
        """
        method = next((method for method in self.protocol.methods if method.name == name), None)
        if method is not None:
            return self.method(method)
        if name in self.protocol.definitions:
            return self.type(self.protocol.definitions[name])
        having = self.history.revisions(name)
        known = (*self.protocol.definitions, *(method.name for method in self.protocol.methods))
        hint = f"it exists in {', '.join(having)}" if having else did_you_mean(name, known, MAX_CLOSE)
        message = f"{self.protocol.revision} has no method or definition of that name{f'; {hint}' if hint else ''}"
        raise InputError.at(name, message)

    def methods(self) -> Iterator[MethodFacts]:
        """Iterate over the methods, requests first."""
        return map(self.method, self.protocol.methods)

    def types(self) -> Iterator[TypeFacts]:
        """Iterate over the definitions, in the order of the schema."""
        return map(self.type, self.protocol.definitions.values())

    def method(self, method: Method) -> MethodFacts:
        """Return the facts of a method."""
        return MethodFacts(
            kind="method",
            name=method.name,
            doc=self.protocol.definitions[method.message].doc,
            deprecated=method.deprecated,
            direction=method.direction.value,
            sender=_SENDERS[method.direction],
            message=method.message,
            params=method.params,
            params_required=method.params_required,
            result=method.result,
            alternatives=method.alternatives,
            flags=tuple(flag for flag in FLAGS if getattr(method, flag)),
            capability=method.capability,
            **asdict(self.history.of(method.name)),
        )

    def type(self, definition: Definition) -> TypeFacts:
        """Return the facts of a definition."""
        struct = definition if isinstance(definition, Struct) else None
        type_ = None if isinstance(definition, Struct) else definition.type
        return TypeFacts(
            kind="struct" if struct else "alias",
            name=definition.name,
            doc=definition.doc,
            deprecated=definition.deprecated,
            bases=tuple(base.name for base in struct.bases) if struct else (),
            type=spell(type_) if type_ else "",
            bounds=spell_bounds(type_) if type_ else "",
            properties=tuple(self._property(struct, field) for field in struct.fields) if struct else (),
            users=self._users.get(definition.name, ()),
            **asdict(self.history.of(definition.name)),
        )

    def _property(self, struct: Struct, field: Field) -> PropertyFacts:
        place = f"{struct.name}.{field.wire_name}"
        return PropertyFacts(
            name=field.wire_name,
            type=spell(field.type),
            required=field.required,
            bounds=spell_bounds(field.type),
            doc=field.doc,
            deprecated=field.deprecated,
            inherited=field.wire_name not in struct.own,
            capability=self.protocol.capabilities.get(place, ""),
            **asdict(self.history.of_property(struct.name, field.wire_name)),
        )

    @cached_property
    def _users(self) -> dict[str, tuple[tuple[str, str], ...]]:
        found: dict[str, list[tuple[str, str]]] = {}
        definitions = self.protocol.definitions
        for method in self.protocol.methods:
            results = [name for name in (method.result, *method.alternatives) if name]
            for part, roots in (("params", [method.params] if method.params else []), ("result", results)):
                for name in closure(roots, lambda name: contained(definitions[name])):
                    found.setdefault(name, []).append((part, method.name))
        return {name: tuple(users) for name, users in found.items()}


Table: TypeAlias = Callable[[Sequence[str], Iterable[Sequence[str]]], str]
"""Lays out rows below their headings."""


def method_text(found: MethodFacts, facts: Facts, table: Table) -> str:
    """Return a method, with its params; `table` lays out rows."""
    rows = [
        ("kind", "request" if found.result else "notification"),
        ("direction", found.direction.replace("_", " ")),
        ("message", found.message),
        ("params", f"{found.params or 'none of its own'}{'' if found.params_required else ' (optional)'}"),
        ("result", " | ".join([found.result, *found.alternatives]) if found.result else "none"),
        ("needs", found.capability or "nothing"),
        ("flags", ", ".join(flag.replace("_", " ") for flag in found.flags) or "none"),
    ]
    parts = [_heading(found), table(("", ""), rows).lstrip("\n")]
    if found.params:
        parts.append(type_text(facts.type(facts.protocol.definitions[found.params]), table))
    return "\n\n".join(parts)


def type_text(found: TypeFacts, table: Table) -> str:
    """Return a definition; `table` lays out rows."""
    if found.kind == "alias":
        return f"{_heading(found)}\n\n{found.name} = {found.type}{f'  ({found.bounds})' if found.bounds else ''}"
    extends = f"\n\nextends {', '.join(found.bases)}" if found.bases else ""
    rows = [_row(each) for each in found.properties]
    shown = table(("property", "type", "required", "meaning"), rows) if rows else "no properties"
    return f"{_heading(found)}{extends}\n\n{shown}"


def _row(each: PropertyFacts) -> tuple[str, str, str, str]:
    words = [each.doc, f"({each.bounds})" if each.bounds else "", "Deprecated." if each.deprecated else ""]
    return each.name, each.type, "yes" if each.required else "no", " ".join(word for word in words if word)


def _heading(found: MethodFacts | TypeFacts) -> str:
    title = f"{found.name}{' (deprecated)' if found.deprecated else ''}"
    return "\n".join([title, *([found.doc] if found.doc else [])])


def found_text(found: MethodFacts | TypeFacts, facts: Facts, table: Table) -> str:
    """Return a method or a definition; `table` lays out rows."""
    return method_text(found, facts, table) if isinstance(found, MethodFacts) else type_text(found, table)


def revision_facts(protocol: Protocol) -> Mapping[str, object]:
    """Return the facts of a released revision."""
    requests, official = sum(method.is_request for method in protocol.methods), released()[protocol.revision]
    return {
        "revision": protocol.revision,
        "era": protocol.era.value,
        "definitions": len(protocol.definitions),
        "requests": requests,
        "notifications": len(protocol.methods) - requests,
        "schema_json_sha256": official.schema_json_sha256,
        "schema_ts_sha256": official.schema_ts_sha256,
    }


def revision_rows(found: Iterable[Mapping[str, object]]) -> Iterator[tuple[str, ...]]:
    """Iterate over the rows of a table of revisions."""
    for facts in found:
        start = [str(facts[name]) for name in ("revision", "era", "definitions")]
        methods = f"{facts['requests']} + {facts['notifications']}"
        yield (*start, methods, "schema.ts", str(facts["schema_ts_sha256"]))
        yield ("", "", "", "", "schema.json", str(facts["schema_json_sha256"]))

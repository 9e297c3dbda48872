"""Spell IR types for people, in the notation of TypeScript."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_bindgen.ir.names import parts
from mcp_bindgen.ir.nodes import (
    AllOf,
    Bounds,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Opaque,
    Primitive,
    Protocol,
    Ref,
    Shape,
    Struct,
    TypeRef,
    Union,
)


def spell(type_: Shape) -> str:
    """Spell a type on one line: ``string | integer``, ``Tool[]``, ``A & { b?: string }``."""
    match type_:
        case Primitive(kind=kind, known=known):
            return " | ".join([*(json.dumps(value) for value in known), kind.value])
        case Literal(values=values):
            return " | ".join(json.dumps(value) for value in values)
        case Ref(name=name):
            return name
        case ListOf(item=item):
            return f"{_grouped(item)}[]"
        case MapOf(value=value):
            return f"{{ [key: string]: {spell(value)} }}"
        case Union(members=members):
            return " | ".join(spell(member) for member in members)
        case AllOf(members=members):
            return " & ".join(_grouped(member) for member in members)
        case Object(properties=properties, bases=bases):
            inside = "; ".join(f"{p.wire_name}{'' if p.required else '?'}: {spell(p.type)}" for p in properties)
            return " & ".join([*(base.name for base in bases), f"{{ {inside} }}"])


def spell_bounds(type_: Shape) -> str:
    """Spell what is asserted beyond the type: ``minimum 0, maximum 1``, ``format uri``; empty where nothing is."""
    if not isinstance(type_, Primitive | ListOf | MapOf):
        return ""
    format_ = type_.format if isinstance(type_, Primitive) else ""
    stated = [_spell_bound(name.replace("_", " "), value) for name, value in bounds_of(type_.bounds).items()]
    return ", ".join([*stated, f"format {format_}"] if format_ else stated)


def _spell_bound(name: str, value: float | str | bool) -> str:
    if isinstance(value, bool):
        return name if value else f"no {name}"
    whole = isinstance(value, float) and value.is_integer()
    return f"{name} {int(value) if whole else value}"


def bounds_of(bounds: Bounds) -> dict[str, float | int | str | bool]:
    """Return the assertions that are made, by name."""
    return {name: value for name in Bounds.__slots__ if (value := getattr(bounds, name)) is not None}


def is_any(type_: Shape) -> bool:
    """Whether the type admits every value."""
    return isinstance(type_, Primitive) and type_.kind is Kind.ANY


def is_never(type_: Shape | Struct) -> bool:
    """Whether the type admits no value: a property that has it must be absent."""
    return isinstance(type_, Primitive) and type_.kind is Kind.NEVER


def _grouped(type_: Shape) -> str:
    text = spell(type_)
    return f"({text})" if " | " in text or " & " in text else text


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueFact:
    """One opaque fact: the definition or property it is about, the type that is accepted instead, text and place."""

    name: str
    accepted: str
    opaque: Opaque


def opaque_facts(protocol: Protocol) -> Iterator[OpaqueFact]:
    """Iterate over the opaque facts, in the order of the definitions; an inherited one is not repeated."""
    for name, definition in protocol.definitions.items():
        if not isinstance(definition, Struct):
            yield from _of(name, definition.type)
            continue
        if definition.opaque:
            yield OpaqueFact(name=name, accepted="object", opaque=definition.opaque)
        for field in definition.fields:
            if field.wire_name in definition.own:
                yield from _of(f"{name}.{field.wire_name}", field.type)
        if definition.extra is not None:
            yield from _of(f"{name}.*", definition.extra)


def opaque_text(type_: TypeRef | Struct) -> str:
    """Return everything that the schema says about a value beyond its type, empty if nothing."""
    own = [type_.opaque.text] if type_.opaque else []
    if isinstance(type_, Struct):
        extra = opaque_text(type_.extra) if type_.extra is not None else ""
        return "; ".join([*own, extra] if extra else own)
    return "; ".join(fact.opaque.text for fact in _of("", type_))


def _of(name: str, type_: TypeRef) -> Iterator[OpaqueFact]:
    for part in parts(type_):
        if part.opaque:
            yield OpaqueFact(name=name, accepted=spell(part), opaque=part.opaque)

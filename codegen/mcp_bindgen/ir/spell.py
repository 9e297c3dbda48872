"""Spell IR types for people, in the notation of TypeScript."""

import json

from mcp_bindgen.ir.nodes import (
    Bounds,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Ref,
    TypeRef,
    Union,
)


def spell(type_: TypeRef) -> str:
    """Spell a type on one line: ``string | integer``, ``Tool[]``, ``{ [key: string]: any }``."""
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


def spell_bounds(type_: TypeRef) -> str:
    """Spell what is asserted beyond the type: ``minimum 0, maximum 1``, ``format uri``; empty where nothing is."""
    if not isinstance(type_, Primitive | ListOf | MapOf):
        return ""
    return spell_assertions(type_.bounds, type_.format if isinstance(type_, Primitive) else "")


def spell_assertions(bounds: Bounds, format_: str) -> str:
    """Spell bounds and a format, if there is one."""
    stated = [_spell_bound(name.replace("_", " "), value) for name, value in bounds_of(bounds).items()]
    return ", ".join([*stated, f"format {format_}"] if format_ else stated)


def _spell_bound(name: str, value: float | str | bool) -> str:
    if isinstance(value, bool):
        return name if value else f"no {name}"
    whole = isinstance(value, float) and value.is_integer()
    return f"{name} {int(value) if whole else value}"


def bounds_of(bounds: Bounds) -> dict[str, float | int | str | bool]:
    """Return the assertions that are made, by name."""
    return {name: value for name in Bounds.__slots__ if (value := getattr(bounds, name)) is not None}


def is_any(type_: TypeRef) -> bool:
    """Whether the type admits every value."""
    return isinstance(type_, Primitive) and type_.kind is Kind.ANY


def _grouped(type_: TypeRef) -> str:
    text = spell(type_)
    return f"({text})" if " | " in text else text

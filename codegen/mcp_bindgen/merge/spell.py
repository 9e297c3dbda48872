"""Spell shapes for people, in the notation of TypeScript."""

import json

from mcp_bindgen.ingest.shapes import NEVER, AllOf, AnyOf, Array, Object, Record, Shape, is_never
from mcp_bindgen.ir.spell import spell_assertions
from mcp_bindgen.leaves import Kind, Literal, Primitive, Ref


def spell(shape: Shape) -> str:
    """Spell a shape on one line: ``string | integer``, ``Tool[]``, ``A & { b?: string }``."""
    match shape:
        case Primitive() if is_never(shape):
            return NEVER
        case Primitive(kind=kind, known=known):
            return " | ".join([*(json.dumps(value) for value in known), kind.value])
        case Literal(values=values):
            return " | ".join(json.dumps(value) for value in values)
        case Ref(name=name):
            return name
        case Array(item=item):
            return f"{_grouped(item)}[]"
        case Record(value=value):
            return f"{{ [key: string]: {spell(value)} }}"
        case AnyOf(members=members):
            return " | ".join(spell(member) for member in members)
        case AllOf(members=members):
            return " & ".join(_grouped(member) for member in members)
        case Object(properties=properties, bases=bases):
            inside = "; ".join(f"{p.wire_name}{'' if p.required else '?'}: {spell(p.type)}" for p in properties)
            return " & ".join([*(base.name for base in bases), f"{{ {inside} }}"])


def spell_bounds(shape: Primitive | Array | Record) -> str:
    """Spell what is asserted beyond the type: ``minimum 0, maximum 1``, ``format uri``; empty where nothing is."""
    return spell_assertions(shape.bounds, shape.format if isinstance(shape, Primitive) else "")


def is_any(shape: Shape) -> bool:
    """Whether the shape admits every value."""
    return isinstance(shape, Primitive) and shape.kind is Kind.ANY


def _grouped(shape: Shape) -> str:
    text = spell(shape)
    return f"({text})" if " | " in text or " & " in text else text

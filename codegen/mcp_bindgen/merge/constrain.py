"""Add assertions, as keywords of JSON Schema, to a type that was read without them."""

from dataclasses import replace

from mcp_bindgen.ingest.json_keywords import ASSERTIONS, Node, is_pattern, opaque_text, read_bounds, unmet_sizes
from mcp_bindgen.ingest.shapes import with_opaque
from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.json_values import as_object, is_list, is_object
from mcp_bindgen.ir.nodes import (
    UNBOUNDED,
    AllOf,
    Bounds,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Object,
    Opaque,
    Primitive,
    Ref,
    Shape,
    Union,
)
from mcp_bindgen.ir.spell import is_any

_OWNERS = {Kind.STRING: "string", Kind.INTEGER: "number", Kind.NUMBER: "number"}
_OF_OBJECTS = ("minProperties", "maxProperties")


def constrain(shape: Shape, words: Node, where: Location) -> Shape:
    """Return a type with further assertions; those on values of another JSON type have no effect, as in JSON Schema."""
    if not words:
        return shape
    values: object = words.get("enum")
    if is_list(values) and not any(is_list(value) or is_object(value) for value in values):
        others = {word: value for word, value in words.items() if word != "enum"}
        return AllOf(members=(constrain(shape, others, where), Literal(values=tuple(values))))
    match shape:
        case Primitive(kind=kind) if kind in _OWNERS:
            lost = ["pattern"] if kind is Kind.STRING and not is_pattern(words.get("pattern", "")) else []
            return _with(replace(shape, bounds=_bounds(_OWNERS[kind], words)), [*lost, "enum"], words, where)
        case ListOf(item=item):
            item = constrain(item, as_object(words.get("items")), where)
            return _with(replace(shape, item=item, bounds=_bounds("array", words)), ["contains"], words, where)
        case MapOf(value=value):
            if words.get("additionalProperties") is False:
                return Object(properties=(), extra=None, indexed=True, opaque=shape.opaque)
            value = constrain(value, as_object(words.get("additionalProperties")), where)
            return replace(shape, value=value, bounds=_bounds("object", words))
        case Object(extra=extra):
            rest: object = words.get("additionalProperties", True)
            extra = None if rest is False or extra is None else constrain(extra, as_object(rest), where)
            lost = unmet_sizes(words, sum(property_.required for property_ in shape.properties))
            return _with(replace(shape, extra=extra), lost, words, where)
        case Union(members=members):
            return replace(shape, members=tuple(constrain(member, words, where) for member in members))
        case Literal():
            return _with(
                shape, [word for word in words if word not in ("items", "contains", *_OF_OBJECTS)], words, where
            )
        case Ref() | AllOf():
            return AllOf(members=(shape, asserted(words, where)))
        case Primitive(kind=Kind.ANY):
            return asserted(words, where) if is_any(shape) else shape
        case Primitive():
            return shape


def asserted(words: Node, where: Location) -> Primitive:
    """Return the type of any value within assertions that apply only to values of their own type."""
    kinds = {ASSERTIONS[word][0] if word in ASSERTIONS else "object" for word in words}
    kind = kinds.pop() if len(kinds) == 1 else "object"
    bounds = UNBOUNDED if kind == "object" else _bounds(kind, words)
    return Primitive(kind=Kind.ANY, bounds=bounds, opaque=Opaque(text=opaque_text(words, list(words)), where=where))


def _bounds(kind: str, words: Node) -> Bounds:
    return read_bounds(kind, words, Location(source=""), Diagnostics())


def _with(shape: Shape, lost: list[str], words: Node, where: Location) -> Shape:
    """Return the type with the words that it cannot express as text."""
    lost = [word for word in lost if word in words]
    return with_opaque(shape, Opaque(text=opaque_text(words, lost), where=where)) if lost else shape

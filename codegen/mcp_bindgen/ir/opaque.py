"""The opaque facts of a protocol: what its schema says and no type can express."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_bindgen.ir.nodes import Opaque, Protocol, Struct, TypeRef, parts
from mcp_bindgen.ir.spell import spell


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

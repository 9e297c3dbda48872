"""Give inline params the `_meta` of the base params that they replace.

Up to 2025-11-25 a message may write its params inline, over those that it inherits. The prose allows `_meta` on every
request and notification all the same, and the inherited params declare it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mcp_bindgen.ir.leaves import structs
from mcp_bindgen.ir.names import field_of, lineage, method_constant
from mcp_bindgen.ir.nodes import Definition, Erratum, Field, Ref, Struct, TypeRef, protocol_of
from mcp_bindgen.ir.spell import spell

_META = "_meta"


def add_meta(definitions: Mapping[str, Definition]) -> tuple[dict[str, Definition], tuple[Erratum, ...]]:
    """Return the definitions with `_meta` in all inline params that override inherited ones, and what was changed."""
    changed = dict(definitions)
    errata: list[Erratum] = []
    for name, definition in definitions.items():
        if not isinstance(definition, Struct) or not definition.holder.endswith(".params"):
            continue
        message = definitions.get(definition.holder.removesuffix(".params"))
        if not isinstance(message, Struct) or definition.field(_META):
            continue
        meta = _inherited(message, definitions)
        if meta is None and method_constant(message):
            meta = _common(message, definitions)
        if meta is not None:
            added = replace(meta, doc="")
            changed[name] = replace(definition, fields=(added, *definition.fields), own=definition.own | {_META})
            errata.append(
                Erratum(
                    rule="params-meta",
                    pointer=f"/{message.name}/properties/params",
                    json="not declared",
                    typescript=f"_meta?: {spell(meta.type)}",
                    contradiction=False,
                )
            )
    return changed, tuple(errata)


def add_base_meta(definitions: Mapping[str, Definition], own: Collection[str]) -> dict[str, Definition]:
    """Return the definitions with `_meta` in the params of an extension's messages, as in those of the revision."""
    changed = dict(definitions)
    for name in own:
        message = definitions[name]
        params = message.field("params") if isinstance(message, Struct) and method_constant(message) else None
        base = "RequestParams" if name.endswith("Request") else "NotificationParams"
        meta = field_of(base, _META, definitions)
        for struct in _structs(params.type, definitions) if params and meta else ():
            if meta and struct.name in own and not struct.field(_META):
                changed[struct.name] = replace(struct, fields=(meta, *struct.fields), own=struct.own | {_META})
    return changed


def _inherited(message: Struct, definitions: Mapping[str, Definition]) -> Field | None:
    """The `_meta` of the params that the message inherits before it replaces them."""
    for base in lineage(message.name, definitions):
        params = field_of(base, "params", definitions)
        found = _meta_of(params.type, definitions) if params else None
        if found is not None:
            return found
    return None


def _common(message: Struct, definitions: Mapping[str, Definition]) -> Field | None:
    """The `_meta` that all named params of this kind of message have in common, from the base they share."""
    kind = "Request" if message.name.endswith("Request") else "Notification"
    roots: set[str] = set()
    for name, definition in definitions.items():
        if isinstance(definition, Struct) and name.endswith(kind) and method_constant(definition):
            params = definition.field("params")
            for target in _structs(params.type, definitions) if params else ():
                if not target.holder:
                    roots.add((target.name, *lineage(target.name, definitions))[-1])
    shared = [meta for root in roots if (meta := _meta_of(Ref(name=root), definitions))]
    return shared[0] if len(shared) == 1 else None


def _structs(type_: TypeRef, definitions: Mapping[str, Definition]) -> Iterator[Struct]:
    return structs(type_, protocol_of(definitions))


def _meta_of(type_: TypeRef, definitions: Mapping[str, Definition]) -> Field | None:
    found = [struct.field(_META) for struct in _structs(type_, definitions)]
    return found[0] if found else None

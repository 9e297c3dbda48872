"""Let definitions accept what the prose of the protocol allows, and its schemas do not say.

Up to 2025-11-25 a message may write its params inline, over those that it inherits. The prose allows `_meta` on every
request and notification all the same, and the inherited params declare it.

Up to 2025-11-25, schema.ts types the properties of a tool's schemas as objects. Servers in languages with a type for
any value list ``true`` all the same (draft 2020-12, core 4.3.2), and a client that refuses that loses all of their
tools. Readers accept it; what is written is an object. The root of a schema stays an object, and so do the fields of a
form.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mcp_bindgen.ir.leaves import structs
from mcp_bindgen.ir.names import field_of, lineage, method_constant
from mcp_bindgen.ir.nodes import ANY, Definition, Difference, Field, Literal, MapOf, Ref, Struct, TypeRef, protocol_of
from mcp_bindgen.ir.spell import spell

_META = "_meta"


def add_meta(definitions: Mapping[str, Definition]) -> tuple[dict[str, Definition], tuple[Difference, ...]]:
    """Return the definitions with `_meta` in all inline params that override inherited ones, and what was changed."""
    changed = dict(definitions)
    errata: list[Difference] = []
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
                Difference(
                    rule="params-meta",
                    pointer=f"/{message.name}/properties/params",
                    right="not declared",
                    left=f"_meta?: {spell(meta.type)}",
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


_PROPERTIES = "properties"
_OBJECT = MapOf(value=ANY)
_SCHEMAS = MapOf(value=MapOf(value=ANY, is_schema=True))


def admit_booleans(definitions: Mapping[str, Definition]) -> tuple[dict[str, Definition], tuple[Difference, ...]]:
    """Return the definitions with subschemas that may be boolean, and what was changed."""
    changed = dict(definitions)
    errata: list[Difference] = []
    for name, definition in definitions.items():
        if not isinstance(definition, Struct) or not _is_schema(definition):
            continue
        fields = (replace(f, type=_SCHEMAS) if f.wire_name == _PROPERTIES else f for f in definition.fields)
        changed[name] = replace(definition, fields=tuple(fields))
        errata.append(
            Difference(
                rule="boolean-subschema",
                pointer=f"/{name}/properties/{_PROPERTIES}",
                right=spell(_OBJECT),
                left=spell(_OBJECT),
                contradiction=False,
            )
        )
    return changed, tuple(errata)


def _is_schema(struct: Struct) -> bool:
    """Return whether an object is the schema of an object, whose properties are any schemas."""
    type_, properties = struct.field("type"), struct.field(_PROPERTIES)
    is_of_objects = type_ is not None and type_.constant == Literal(values=("object",))
    return is_of_objects and properties is not None and properties.type == MapOf(value=_OBJECT)

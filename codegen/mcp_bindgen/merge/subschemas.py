"""Let the properties of a tool's schemas be true or false, as JSON Schema does.

Up to 2025-11-25, schema.ts types them as objects. Servers in languages with a type for any value list ``true`` all the
same (draft 2020-12, core 4.3.2), and a client that refuses that loses all of their tools. Readers accept it; what is
written is an object. The root of a schema stays an object, and so do the fields of a form.
"""

from collections.abc import Mapping
from dataclasses import replace

from mcp_bindgen.ir.nodes import ANY, Definition, Erratum, Literal, MapOf, Struct
from mcp_bindgen.ir.spell import spell

_PROPERTIES = "properties"
_OBJECT = MapOf(value=ANY)
_SCHEMAS = MapOf(value=MapOf(value=ANY, is_schema=True))


def admit_booleans(definitions: Mapping[str, Definition]) -> tuple[dict[str, Definition], tuple[Erratum, ...]]:
    """Return the definitions with subschemas that may be boolean, and what was changed."""
    changed = dict(definitions)
    errata: list[Erratum] = []
    for name, definition in definitions.items():
        if not isinstance(definition, Struct) or not _is_schema(definition):
            continue
        fields = (replace(f, type=_SCHEMAS) if f.wire_name == _PROPERTIES else f for f in definition.fields)
        changed[name] = replace(definition, fields=tuple(fields))
        errata.append(
            Erratum(
                rule="boolean-subschema",
                pointer=f"/{name}/properties/{_PROPERTIES}",
                json=spell(_OBJECT),
                typescript=spell(_OBJECT),
                contradiction=False,
            )
        )
    return changed, tuple(errata)


def _is_schema(struct: Struct) -> bool:
    """Return whether an object is the schema of an object, whose properties are any schemas."""
    type_, properties = struct.field("type"), struct.field(_PROPERTIES)
    is_of_objects = type_ is not None and type_.constant == Literal(values=("object",))
    return is_of_objects and properties is not None and properties.type == MapOf(value=_OBJECT)

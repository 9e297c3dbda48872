"""Write the IR as a JSON Schema document (draft 2020-12): schema.json without its losses.

Every definition is in ``$defs``, including inline ones.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from mcp_bindgen.diagnostics import escape_pointer
from mcp_bindgen.ir.names import closure, contained
from mcp_bindgen.ir.nodes import (
    Bounds,
    Definition,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.spell import bounds_of, is_any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ROOT = "#/$defs/"


def json_schema(protocol: Protocol, *, documented: bool = False, roots: Collection[str] = ()) -> dict[str, Any]:
    """Return the definitions of a protocol as one JSON Schema document.

    Args:
        protocol: the revision.
        documented: whether to add titles, descriptions, defaults and deprecations.
        roots: the definitions that the document accepts a value of; it contains only what they need. By default it
            contains everything and accepts any value.
    """
    schemas = Schemas(documented=documented)
    names = closure(roots, lambda name: contained(protocol.definitions[name])) if roots else protocol.definitions.keys()
    title = {"title": f"Model Context Protocol {protocol.revision}"} if documented else {}
    definitions = {n: schemas.definition(d) for n, d in protocol.definitions.items() if n in names}
    accepted = [{"$ref": reference(name)} for name in roots]
    chosen = {} if not accepted else accepted[0] if len(accepted) == 1 else {"anyOf": accepted}
    return {"$schema": DIALECT, **title, **chosen, "$defs": definitions}


def dump(document: Mapping[str, Any]) -> str:
    """Return the text of a document, in ASCII."""
    return json.dumps(document, indent=2) + "\n"


def reference(name: str, root: str = ROOT) -> str:
    """Return a reference to a definition in the document, as a URI fragment."""
    return f"{root}{quote(escape_pointer(name))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schemas:
    """Spells types as schemas; `root` is where definitions are in their document, as a URI fragment."""

    documented: bool = False
    root: str = ROOT

    def definition(self, definition: Definition) -> dict[str, Any]:
        """Return the schema of a definition."""
        said = self._said(definition.doc, definition.deprecated)
        if not isinstance(definition, Struct):
            return {**self.schema(definition.type), **said}
        return {
            **said,
            "type": "object",
            "properties": {field.wire_name: self.field(field) for field in definition.fields},
            "required": [field.wire_name for field in definition.fields if field.required],
            **self._members("additionalProperties", definition.extra),
        }

    def field(self, field: Field) -> dict[str, Any]:
        """Return the schema of a property."""
        default = {"default": json.loads(field.default)} if self.documented and field.default else {}
        return {**self.schema(field.type), **self._said(field.doc, field.deprecated), **default}

    def schema(self, type_: TypeRef) -> dict[str, Any]:
        """Return the schema of a type."""
        match type_:
            case Primitive(kind=Kind.ANY):
                return {}
            case Primitive(kind=Kind.NEVER):
                return {"not": {}}
            case Primitive(kind=kind, bounds=bounds, format=format_, known=known):
                annotations = {"format": format_, "examples": list(known)}
                return {"type": kind.value, **_assertions(bounds), **{k: v for k, v in annotations.items() if v}}
            case Literal(values=(value,)):
                return {"const": value}
            case Literal(values=values):
                return {"enum": list(values)}
            case Ref(name=name):
                return {"$ref": reference(name, self.root)}
            case ListOf(item=item, bounds=bounds):
                return {"type": "array", **self._members("items", item), **_assertions(bounds)}
            case MapOf(value=value, bounds=bounds):
                return {"type": "object", **self._members("additionalProperties", value), **_assertions(bounds)}
            case Union(members=members):
                return {"anyOf": [self.schema(member) for member in members]}

    def _members(self, keyword: str, type_: TypeRef | None) -> dict[str, Any]:
        """Return the schema of undeclared properties: empty for any type, false for a closed object."""
        if type_ is None:
            return {keyword: False}
        return {} if is_any(type_) else {keyword: self.schema(type_)}

    def _said(self, doc: str, deprecated: bool) -> dict[str, Any]:
        said = {"description": doc, "deprecated": deprecated} if self.documented else {}
        return {keyword: value for keyword, value in said.items() if value}


def _assertions(bounds: Bounds) -> dict[str, Any]:
    return {_camel(name): value for name, value in bounds_of(bounds).items()}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)

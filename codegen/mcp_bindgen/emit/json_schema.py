"""Write the IR as a JSON Schema document (draft 2020-12): schema.json without its losses.

Every definition is in ``$defs``, including inline ones.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from mcp_bindgen.ir.diagnostics import InputError, did_you_mean
from mcp_bindgen.ir.json_values import escaped
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
PARTS: Final = ("params", "result")


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
    return f"{root}{quote(escaped(name))}"


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
                return {"type": kind.value, **assertions(bounds), **{k: v for k, v in annotations.items() if v}}
            case Literal(values=(value,)):
                return {"const": value}
            case Literal(values=values):
                return {"enum": list(values)}
            case Ref(name=name):
                return {"$ref": reference(name, self.root)}
            case ListOf(item=item, bounds=bounds):
                return {"type": "array", **self._members("items", item), **assertions(bounds)}
            case MapOf(value=value, bounds=bounds):
                return {"type": "object", **self._members("additionalProperties", value), **assertions(bounds)}
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


def assertions(bounds: Bounds) -> dict[str, Any]:
    """Return bounds as keywords of JSON Schema."""
    return {_camel(name): value for name, value in bounds_of(bounds).items()}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def roots_of(protocol: Protocol, method: str | None, part: str | None) -> list[str]:
    """Return the definitions that a part of a method's messages may be.

    Raises:
        InputError: there is no such method, or no such part of it.
    """
    if method is None and part is not None:
        raise InputError.at("--part", "names a part of a method; give --method, too")
    if part is not None and part not in PARTS:
        hint = did_you_mean(part, PARTS) or f"the parts are {' and '.join(PARTS)}"
        raise InputError.at(part, f"no such part of a method; {hint}")
    found = next((each for each in protocol.methods if each.name == method), None)
    if method is None:
        return []
    if found is None:
        hint = did_you_mean(method, (each.name for each in protocol.methods)) or "`mcp-bindgen show` shows a method"
        raise InputError.at(method, f"{protocol.revision} has no such method; {hint}")
    parts = {"params": (found.params,), "result": (found.result, *found.alternatives)}
    chosen = parts if part is None else {part: parts[part]}
    names = [name for each in chosen.values() for name in each if name]
    if not names:
        raise InputError.at(method, f"has no {part or 'params and no result'} in {protocol.revision}")
    return names

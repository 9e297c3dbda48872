"""OpenRPC 1.3 documents: of a revision, with a method for each of its messages, and of the tools of one server."""

import re
from collections.abc import Iterator
from typing import Any

from mcp_bindgen.emit.json_schema import Schemas, reference
from mcp_bindgen.ir.facts import params_structs
from mcp_bindgen.ir.json_values import escaped, is_list, is_object
from mcp_bindgen.ir.names import closure, contained, unique
from mcp_bindgen.ir.nodes import Constant, Field, Method, Protocol, Ref, Struct, TypeRef, Union
from mcp_bindgen.tool_clients.contract import Contract, Tool

VERSION = "1.3.2"
ROOT = "#/components/schemas/"
MAX_RECURSION = 100
"""The maximum nesting depth of a tool's schema in the document."""
_SCHEMAS = Schemas(documented=True, root=ROOT)
_KEY = re.compile(r"[^A-Za-z0-9._-]+")


def openrpc(protocol: Protocol) -> dict[str, Any]:
    """Return the document of a revision.

    ``x-mcp-direction`` says who sends a message, ``x-mcp-capability`` what must have been declared, ``x-mcp-params``
    is the type of all params together, and ``x-mcp-recursive`` lists the types that contain themselves: a tool that
    replaces every reference never ends.
    """
    definitions = protocol.definitions
    direct = {name: set(contained(definition)) for name, definition in definitions.items()}
    errors = {c.name: _error(c) for c in protocol.constants if isinstance(c.value, int) and c.value < 0}
    return {
        "openrpc": VERSION,
        "info": {"title": "Model Context Protocol", "version": protocol.revision},
        "methods": [_method(protocol, method) for method in protocol.methods],
        "components": {
            "schemas": {name: _SCHEMAS.definition(definition) for name, definition in definitions.items()},
            **({"errors": errors} if errors else {}),
        },
        "x-mcp-recursive": [name for name in definitions if name in closure(direct[name], direct.__getitem__)],
    }


def _error(constant: Constant) -> dict[str, Any]:
    return {"code": constant.value, "message": constant.doc or constant.name}


def _method(protocol: Protocol, method: Method) -> dict[str, Any]:
    stated = {
        "description": protocol.definitions[method.message].doc,
        "deprecated": method.deprecated,
        "x-mcp-capability": method.capability,
        "x-mcp-params": {"$ref": reference(method.params, ROOT)} if method.params else None,
    }
    results: list[TypeRef] = [Ref(name=name) for name in (method.result, *method.alternatives) if name]
    result = results[0] if len(results) == 1 else Union(members=tuple(results))
    return {
        "name": method.name,
        **{name: value for name, value in stated.items() if value},
        "x-mcp-direction": method.direction.value,
        "paramStructure": "by-name",
        "params": list(_params(protocol, method)),
        **({"result": {"name": "result", "schema": _SCHEMAS.schema(result)}} if results else {}),
    }


def _params(protocol: Protocol, method: Method) -> Iterator[dict[str, Any]]:
    """Iterate over the params by name; of several forms, each is a union, and required if every form requires it."""
    forms = params_structs(protocol, method)
    for name in dict.fromkeys(field.wire_name for form in forms for field in form.fields):
        found = [field for form in forms if (field := form.field(name)) is not None]
        types = tuple(dict.fromkeys(field.type for field in found))
        required = len(found) == len(forms) and all(field.required for field in found)
        yield _param(found[0], types[0] if len(types) == 1 else Union(members=types), required, protocol, forms)


def _param(
    field: Field, type_: TypeRef, required: bool, protocol: Protocol, forms: tuple[Struct, ...]
) -> dict[str, Any]:
    gates = (protocol.capabilities.get(f"{form.name}.{field.wire_name}") for form in forms)
    stated = {
        "description": field.doc,
        "deprecated": field.deprecated,
        "x-mcp-capability": next((gate for gate in gates if gate), ""),
    }
    said = {name: value for name, value in stated.items() if value}
    return {"name": field.wire_name, **said, "required": required, "schema": _SCHEMAS.schema(type_)}


def openrpc_of(contract: Contract) -> dict[str, Any]:
    """Return the document of a server's tools: a method for each, sent as ``tools/call`` (``x-mcp-method``)."""
    schemas: dict[str, Any] = {}
    return {
        "openrpc": VERSION,
        "info": {"title": contract.server or "MCP server", "version": contract.version or "0"},
        "methods": [_tool(tool, schemas) for tool in contract.tools],
        "components": {"schemas": schemas},
    }


def _tool(tool: Tool, schemas: dict[str, Any]) -> dict[str, Any]:
    arguments = _stored(tool.input_schema, f"{tool.name}.arguments", schemas)
    schema = tool.input_schema if is_object(tool.input_schema) else {}
    properties = schema.get("properties")
    required = schema.get("required")
    params = [
        {
            "name": name,
            "required": is_list(required) and name in required,
            "schema": {"$ref": f"{arguments}/properties/{escaped(name)}"},
        }
        for name in (properties if is_object(properties) else {})
    ]
    output = tool.output_schema
    result = {} if output is None else {"$ref": _stored(output, f"{tool.name}.result", schemas)}
    return {
        "name": tool.name,
        **({"description": tool.description} if tool.description else {}),
        "x-mcp-method": "tools/call",
        "x-mcp-params": {"$ref": arguments},
        **{f"x-mcp-{name}": tool.raw[name] for name in ("annotations", "execution") if is_object(tool.raw.get(name))},
        "paramStructure": "by-name",
        "params": params,
        "result": {"name": "structuredContent" if output is not None else "content", "schema": result},
    }


def _stored(schema: Any, name: str, schemas: dict[str, Any]) -> str:
    """Store a schema as a component, and return the reference to it."""
    key = unique(_KEY.sub("_", name), schemas)
    schemas[key] = _moved(schema, f"{ROOT}{key}", 0)
    return f"{ROOT}{key}"


def _moved(schema: Any, place: str, depth: int) -> Any:
    """Return a schema whose own references lead to its new place; others are kept as text, so that none is fetched."""
    if depth > MAX_RECURSION:
        return {}
    if is_list(schema):
        return [_moved(part, place, depth + 1) for part in schema]
    if not is_object(schema):
        return schema
    found: dict[str, Any] = {}
    for word, value in schema.items():
        if word == "$ref" and isinstance(value, str):
            found |= {word: place + value[1:]} if value.startswith("#") else {"x-mcp-ref": value}
        elif word not in ("$schema", "$id"):
            found[word] = _moved(value, place, depth + 1)
    return found

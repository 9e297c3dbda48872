"""From a contract to the types of its module: those of each tool's arguments and structured content."""

import re
from dataclasses import dataclass, replace

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import ANY, Definition, MapOf, Protocol, Ref, Struct, TypeRef, protocol_of
from mcp_bindgen.json_values import is_list, is_object
from mcp_bindgen.tool_clients.contract import Contract, Tool, dump
from mcp_bindgen.tool_clients.engine import Types, types_of
from mcp_bindgen.tool_clients.names import class_word, method_names, unique
from mcp_bindgen.tool_clients.shape import Schema, Shape, Untypable, shape_of

MAX_SCHEMA = 100_000
"""The maximum length of a tool's schema that the module contains, in characters."""
UNTYPED = MapOf(value=ANY)
"""The type of what cannot be typed: an object."""
BOX = "result"
"""The property in which the type of an output holds a value that is not an object."""
_REFERENCE = re.compile(r'"\$(?:dynamicR|r)ef": ?"([^"]*)"')
_MEMBERS = {"inputSchema": ("Input", "arguments"), "outputSchema": ("Output", "structured content")}
"""The halves of a tool: the suffix of their types, and their description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The arguments or the structured content of a tool.

    Attributes:
        type: its type; None if the tool declares no schema.
        schema: the schema that jsonschema checks, as JSON; empty where the type is exact.
        is_bare: whether values other than objects are structured content; the type and the schema put them into an
            object with the property `BOX`.
    """

    type: TypeRef | None = None
    schema: str = ""
    is_bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One tool: its Python method, and both halves of it."""

    tool: Tool
    method: str
    arguments: Half
    output: Half


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The tools of a module, and their types: a protocol without messages."""

    tools: tuple[Planned, ...]
    types: Protocol


def plan(contract: Contract, client: str, diagnostics: Diagnostics) -> Plan:
    """Plan the module of a contract; what cannot be typed is reported, and falls back to ``dict[str, Any]``."""
    return _Planner(contract, client, diagnostics).plan()


class _Planner:
    def __init__(self, contract: Contract, client: str, diagnostics: Diagnostics) -> None:
        self._contract = contract
        self._diagnostics = diagnostics
        self._taken = {client}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._halves: dict[tuple[str, str], Half] = {}
        self._definitions: dict[str, Definition] = {}

    def plan(self) -> Plan:
        tools = self._contract.tools
        methods = method_names(tool.name for tool in tools)
        for tool in tools:
            if methods[tool.name] != tool.name:
                self._diagnostics.note(tool.where, f"{tool.name!r} is named {methods[tool.name]} in Python")
            # Named after the method, so that tools with colliding names have separate models.
            for member, (suffix, _) in _MEMBERS.items():
                self._shape(tool, member, f"{class_word(methods[tool.name])}{suffix}")
        types = types_of(list(self._shapes.values()), self._taken)
        for tool in tools:
            for member in _MEMBERS:
                if (shape := self._shapes.get((tool.name, member))) is not None:
                    self._read(tool, member, shape, types.get(shape.name))
        planned = (
            Planned(
                tool=tool,
                method=methods[tool.name],
                arguments=self._halves[tool.name, "inputSchema"],
                output=self._halves[tool.name, "outputSchema"],
            )
            for tool in tools
        )
        return Plan(tools=tuple(planned), types=protocol_of(self._definitions))

    def _shape(self, tool: Tool, member: str, wanted: str) -> None:
        """Find the shape of a half, or its fallback."""
        schema = tool.raw.get(member)
        where = tool.where.child(member)
        if schema is None:
            self._halves[tool.name, member] = Half(type=UNTYPED if member == "inputSchema" else None)
            return
        is_bare = member == "outputSchema" and is_object(schema) and _is_bare(schema)
        schema = _boxed(schema) if is_bare else schema
        half = Half(type=UNTYPED, schema=self._carried(tool, member, schema), is_bare=is_bare)
        self._halves[tool.name, member] = half
        try:
            shape = shape_of(schema, unique(wanted, self._taken), self._taken)
        except (Untypable, RecursionError) as error:
            self._untyped(tool, member, str(error) if isinstance(error, Untypable) else "it is nested too deeply")
            return
        for reference in shape.outside:
            self._diagnostics.warning(where, f"{tool.name!r}: $ref {reference[:80]!r} has no target in the schema")
        if shape.why:
            reasons = ", ".join(sorted(shape.why))
            self._diagnostics.note(where, f"{tool.name!r}: the types do not express {reasons}; jsonschema checks")
        self._shapes[tool.name, member] = shape

    def _read(self, tool: Tool, member: str, shape: Shape, found: Types | None) -> None:
        """Take over what the engine found for a half."""
        if found is None:
            self._untyped(tool, member, "datamodel-code-generator cannot type it")
            return
        half = self._halves[tool.name, member]
        schema = half.schema if shape.why else ""
        whole, what = found[shape.name], _MEMBERS[member][1]
        if member == "outputSchema" and isinstance(whole, Struct) and not whole.fields and whole.extra:
            self._halves[tool.name, member] = Half(type=UNTYPED, schema=schema)
            return
        self._halves[tool.name, member] = replace(half, type=Ref(name=shape.name), schema=schema)
        for definition in found.values():
            own = f"The {what} of the tool `{tool.name}`." if definition is whole else definition.doc
            self._define(definition, own or f"Part of the {what} of the tool `{tool.name}`.")

    def _untyped(self, tool: Tool, member: str, why: str) -> None:
        message = f"{tool.name!r}: {why}; typed as dict[str, Any]"
        self._diagnostics.warning(tool.where.child(member), message)

    def _define(self, definition: Definition, doc: str) -> None:
        self._definitions[definition.name] = replace(definition, doc=doc)

    def _carried(self, tool: Tool, member: str, schema: object) -> str:
        """Return the schema for the module, empty if it is not needed."""
        where = tool.where.child(member)
        if not is_object(schema):
            return ""
        try:
            text = dump(schema)
        except RecursionError:
            text = "." * (MAX_SCHEMA + 1)
        if len(text) > MAX_SCHEMA:
            self._diagnostics.warning(where, f"{tool.name!r}: too large for a module; only the server checks it")
            return ""
        return text


def _is_bare(schema: Schema) -> bool:
    """Whether a schema describes values other than objects (2026-07-28), and can be put into another schema."""
    lists = [schema[name] for name in ("anyOf", "oneOf") if is_list(schema.get(name))]
    branches = [schema, *(each for found in lists for each in found if is_object(each))]
    if all(each.get("type", "object") == "object" for each in branches):
        return False
    try:
        references = _REFERENCE.findall(dump(schema))
    except RecursionError:
        return False
    return all(each.startswith(("#/$defs/", "#/definitions/")) for each in references)


def _boxed(schema: Schema) -> Schema:
    """Return the schema of an object that holds a value in `BOX`; references to definitions stay valid."""
    shared: Schema = {name: schema[name] for name in ("$schema", "$defs", "definitions") if name in schema}
    value = {name: schema[name] for name in schema if name not in shared}
    return {**shared, "type": "object", "properties": {BOX: value}, "required": [BOX]}

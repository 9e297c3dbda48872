"""From a contract to the types of its module: those of each tool's arguments and structured content."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import ANY, Definition, MapOf, Protocol, Ref, Struct, TypeRef, protocol_of
from mcp_bindgen.tool_clients.contract import Contract, Tool, dump
from mcp_bindgen.tool_clients.engine import types_of
from mcp_bindgen.tool_clients.kinds import is_object
from mcp_bindgen.tool_clients.names import class_word, method_names, unique
from mcp_bindgen.tool_clients.shape import Shape, Untypable, shape_of, without_properties

MAX_SCHEMA = 100_000
"""How long the schema of a tool may be to be carried by the module, in characters."""
UNTYPED = MapOf(value=ANY)
"""The type of what cannot be typed: an object."""
_MEMBERS = {"inputSchema": ("Input", "arguments"), "outputSchema": ("Output", "structured content")}
"""The halves of a tool: what their types are called, and what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The arguments or the structured content of a tool.

    Attributes:
        type: its type; None if the tool declares no schema.
        schema: the schema that jsonschema checks, as JSON; empty where the type is exact.
    """

    type: TypeRef | None = None
    schema: str = ""


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
        methods = method_names(tool.name for tool in self._contract.tools)
        for tool in self._contract.tools:
            if methods[tool.name] != tool.name:
                self._diagnostics.note(tool.where, f"{tool.name!r} is called {methods[tool.name]} in Python")
            # Named after the method, so that tools which Python cannot tell apart still have models of their own.
            for member, (suffix, _) in _MEMBERS.items():
                self._shape(tool, member, f"{class_word(methods[tool.name])}{suffix}")
        self._read_shapes()
        tools = tuple(
            Planned(
                tool=tool,
                method=methods[tool.name],
                arguments=self._halves[tool.name, "inputSchema"],
                output=self._halves[tool.name, "outputSchema"],
            )
            for tool in self._contract.tools
        )
        return Plan(tools=tools, types=protocol_of(self._definitions))

    def _shape(self, tool: Tool, member: str, wanted: str) -> None:
        """Find the shape of a half, or what it is without one."""
        schema = tool.raw.get(member)
        where = tool.where.child(member)
        if schema is None:
            self._halves[tool.name, member] = Half(type=UNTYPED if member == "inputSchema" else None)
            return
        if without_properties(schema):
            self._halves[tool.name, member] = self._empty(tool, member, schema, wanted)
            return
        self._halves[tool.name, member] = Half(type=UNTYPED, schema=self._carried(tool, member))
        try:
            shape = shape_of(schema, unique(wanted, self._taken), self._taken)
        except (Untypable, RecursionError) as error:
            why = str(error) if isinstance(error, Untypable) else "it is nested too deep"
            self._diagnostics.warning(where, f"{tool.name!r}: {why}; typed as dict[str, Any]")
            return
        for reference in shape.outside:
            self._diagnostics.warning(where, f"{tool.name!r}: $ref {reference[:80]!r} leads nowhere in the schema")
        if shape.why:
            reasons = ", ".join(sorted(shape.why))
            self._diagnostics.note(where, f"{tool.name!r}: the types do not express {reasons}; jsonschema checks")
        self._shapes[tool.name, member] = shape

    def _empty(self, tool: Tool, member: str, schema: Mapping[str, Any], wanted: str) -> Half:
        closed = schema.get("additionalProperties") is False
        if member == "outputSchema" and not closed:
            return Half(type=UNTYPED)
        name = unique(wanted, self._taken)
        struct = Struct(name=name, fields=(), own=(), extra=None if closed else ANY)
        self._define(struct, f"The {_MEMBERS[member][1]} of the tool `{tool.name}`.")
        return Half(type=Ref(name=name))

    def _read_shapes(self) -> None:
        """Let the engine find the types of all shapes."""
        types = types_of(list(self._shapes.values()), self._taken)
        tools = {tool.name: tool for tool in self._contract.tools}
        for (name, member), shape in self._shapes.items():
            found = types.get(shape.name)
            if found is None:
                why = "datamodel-code-generator has no types for it"
                place = tools[name].where.child(member)
                self._diagnostics.warning(place, f"{name!r}: {why}; typed as dict[str, Any]")
                continue
            half = self._halves[name, member]
            schema = "" if shape.is_exact else half.schema
            self._halves[name, member] = replace(half, type=Ref(name=shape.name), schema=schema)
            what = _MEMBERS[member][1]
            whole = f"The {what} of the tool `{name}`."
            for definition in found.values():
                is_whole = definition.name == shape.name
                self._define(
                    definition, whole if is_whole else definition.doc or f"Part of the {what} of the tool `{name}`."
                )

    def _define(self, definition: Definition, doc: str) -> None:
        self._definitions[definition.name] = replace(definition, doc=doc)

    def _carried(self, tool: Tool, member: str) -> str:
        """Return the schema as the module carries it, empty if it is of no use."""
        schema = tool.raw.get(member)
        where = tool.where.child(member)
        if not is_object(schema):
            return ""
        try:
            text = dump(schema)
        except RecursionError:
            text = "." * (MAX_SCHEMA + 1)
        if len(text) > MAX_SCHEMA:
            self._diagnostics.warning(where, f"{tool.name!r}: too large for a module; the server alone checks it")
            return ""
        return text

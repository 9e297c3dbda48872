"""From a contract to what its module will hold: the models and the method of each tool, and what could not be typed."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.tools.contract import Contract, Tool, dump
from mcp_bindgen.tools.engine import classes_of
from mcp_bindgen.tools.kinds import is_object
from mcp_bindgen.tools.names import class_word, method_names, unique
from mcp_bindgen.tools.rebuild import Class
from mcp_bindgen.tools.shape import Shape, Untypable, shape_of, without_properties

RESERVED_CLASSES = frozenset(
    "Absent Annotated Any CallOptions ConfigDict Field Integer Literal MappingProxyType Number Tool ToolClient"
    " ToolModel ToolResult".split()
)
"""Names that every module imports."""
MAX_SCHEMA = 100_000
"""How long the schema of a tool may be to be carried by the module, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """The arguments or the structured content of a tool.

    Attributes:
        name: the model; empty if it is untyped.
        models: the models that it needs, itself last.
        schema: the schema that jsonschema checks, as JSON; empty where the model is exact.
        declared: whether the tool declares a schema at all.
    """

    name: str = ""
    models: tuple[Class, ...] = ()
    schema: str = ""
    declared: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One tool: its Python method, and both halves of it."""

    tool: Tool
    method: str
    arguments: Half
    output: Half


def plan(contract: Contract, client: str, diagnostics: Diagnostics) -> tuple[Planned, ...]:
    """Plan the module of a contract; what cannot be typed is reported, and falls back to ``dict[str, Any]``."""
    planner = _Planner(contract, client, diagnostics)
    return planner.plan()


class _Planner:
    def __init__(self, contract: Contract, client: str, diagnostics: Diagnostics) -> None:
        self._contract = contract
        self._diagnostics = diagnostics
        self._taken = {client, *RESERVED_CLASSES}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._empty: dict[tuple[str, str], Class] = {}

    def plan(self) -> tuple[Planned, ...]:
        methods = method_names(tool.name for tool in self._contract.tools)
        for tool in self._contract.tools:
            if methods[tool.name] != tool.name:
                self._diagnostics.note(tool.where, f"{tool.name!r} is called {methods[tool.name]} in Python")
            # Its names go by the method, so that tools which Python cannot tell apart still have models of their own.
            word = class_word(methods[tool.name])
            self._shape(tool, "inputSchema", f"{word}Input")
            self._shape(tool, "outputSchema", f"{word}Output")
        classes = classes_of(list(self._shapes.values()))
        return tuple(
            Planned(
                tool=tool,
                method=methods[tool.name],
                arguments=self._half(tool, "inputSchema", classes),
                output=self._half(tool, "outputSchema", classes),
            )
            for tool in self._contract.tools
        )

    def _shape(self, tool: Tool, member: str, wanted: str) -> None:
        schema = tool.raw.get(member)
        if schema is None:
            return
        name = unique(wanted, self._taken)
        if without_properties(schema):
            self._empty[tool.name, member] = Class(
                name=name, fields=(), is_closed=schema.get("additionalProperties") is False
            )
            return
        where = tool.where.child(member)
        try:
            shape = shape_of(schema, name, self._taken)
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

    def _half(self, tool: Tool, member: str, classes: Mapping[str, tuple[Class, ...]]) -> Half:
        schema = tool.raw.get(member)
        if schema is None:
            return Half(declared=False)
        empty = self._empty.get((tool.name, member))
        if empty is not None:
            return Half(name=empty.name, models=(empty,))
        shape = self._shapes.get((tool.name, member))
        text = self._carried(tool, member)
        if shape is None:
            return Half(schema=text)
        if shape.name not in classes:
            what = "datamodel-code-generator has no types for it"
            self._diagnostics.warning(tool.where.child(member), f"{tool.name!r}: {what}; typed as dict[str, Any]")
            return Half(schema=text)
        return Half(name=shape.name, models=classes[shape.name], schema="" if shape.is_exact else text)

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

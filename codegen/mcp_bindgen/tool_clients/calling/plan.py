"""From a contract to the types of its module: those of each tool's arguments and structured content."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.classes import ClassViews
from mcp_bindgen.emit.python.expressions import Expression, Symbol, expression
from mcp_bindgen.emit.python.inheritance import Inheritance
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.spelling import ABSENT_TYPE, NONE, Speller, constant, either, generic
from mcp_bindgen.emit.python.stubs import OPTIONS
from mcp_bindgen.ir.diagnostics import Diagnostics, printable
from mcp_bindgen.ir.facts import admits, admits_null
from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.ir.nodes import ANY, Definition, Field, MapOf, Protocol, Ref, Scalar, Struct, TypeRef, protocol_of
from mcp_bindgen.tool_clients.contract import DIGESTED, Contract, Tool, describe, digest, dump, effective
from mcp_bindgen.tool_clients.typing.keywords import MAX_DESCRIPTION
from mcp_bindgen.tool_clients.typing.names import class_word, convention, method_names, unique
from mcp_bindgen.tool_clients.typing.schema_types import Schema, Types, schema_types
from mcp_bindgen.tool_clients.typing.unions import Untypable

MAX_SCHEMA = 100_000
"""The maximum length of a tool's schema that the module contains, in characters."""
MAX_UNKNOWN = 5
"""The maximum number of unknown keywords that are named."""
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
        self._definitions: dict[str, Definition] = {}

    def plan(self) -> Plan:
        tools = self._contract.tools
        methods = method_names(tool.name for tool in tools)
        for tool in tools:
            if methods[tool.name] != tool.name:
                self._diagnostics.note(tool.where, f"{tool.name!r} is named {methods[tool.name]} in Python")
        # Named after the method, so that tools with colliding names have separate models, and before what is nested.
        names = {
            (tool.name, member): unique(f"{class_word(methods[tool.name])}{suffix}", self._taken)
            for tool in tools
            for member, (suffix, _) in _MEMBERS.items()
            if tool.raw.get(member) is not None
        }
        planned = (
            Planned(
                tool=tool,
                method=methods[tool.name],
                arguments=self._half(tool, "inputSchema", names) or Half(type=UNTYPED),
                output=self._half(tool, "outputSchema", names) or Half(),
            )
            for tool in tools
        )
        return Plan(tools=tuple(planned), types=protocol_of(self._definitions))

    def _half(self, tool: Tool, member: str, names: Mapping[tuple[str, str], str]) -> Half | None:
        """Return a half of a tool, None if it declares no schema; one that cannot be typed falls back."""
        schema = tool.raw.get(member)
        if schema is None:
            return None
        is_bare = member == "outputSchema" and is_object(schema) and _is_bare(schema)
        schema = _boxed(schema) if is_bare else schema
        half = Half(type=UNTYPED, schema=self._carried(tool, member, schema), is_bare=is_bare)
        try:
            types = schema_types(schema, names[tool.name, member], self._taken)
        except (Untypable, RecursionError) as error:
            why = str(error) if isinstance(error, Untypable) else "it is nested too deeply"
            self._diagnostics.warning(tool.where.child(member), f"{tool.name!r}: {why}; typed as dict[str, Any]")
            return half
        self._note(tool, member, types)
        half = replace(half, schema=half.schema if types.why else "")
        whole = types.definitions[types.name]
        if member == "outputSchema" and isinstance(whole, Struct) and not whole.fields and whole.extra:
            return half
        what = _MEMBERS[member][1]
        for name, definition in types.definitions.items():
            own = f"The {what} of the tool `{tool.name}`." if definition is whole else definition.doc
            doc = own or f"Part of the {what} of the tool `{tool.name}`."
            self._definitions[name] = replace(definition, doc=doc)
        return replace(half, type=Ref(name=types.name))

    def _note(self, tool: Tool, member: str, types: Types) -> None:
        """Report what the types of a half leave out."""
        where = tool.where.child(member)
        for reference in types.outside:
            self._diagnostics.warning(where, f"{tool.name!r}: $ref {reference[:80]!r} has no target in the schema")
        if types.unknown:
            words = ", ".join(map(repr, sorted(types.unknown)[:MAX_UNKNOWN]))
            self._diagnostics.note(where, f"{tool.name!r}: JSON Schema has no keyword {words}; it has no effect")
        if types.why:
            reasons = ", ".join(sorted(types.why))
            self._diagnostics.note(where, f"{tool.name!r}: the types do not express {reasons}; jsonschema checks")

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
    if all(each.get("type", "object") in ("object", ["object"]) for each in branches):
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


MODULE = "tools"
MAX_DEFAULT = 200
"""The maximum length of a default that is filled in, in characters; the server fills in longer ones."""
WRAPS = "x-fastmcp-wrap-result"
"""The keyword by which FastMCP marks an output that it wrapped because it is not an object."""
_WRAPPED = "result"
_MODEL = expression(Symbol("mcp_runtime.tools"), ".ToolModel")
_RESULT = Symbol("mcp_runtime.tools.ToolResult")


def client_view(contract: Contract, client: str, plan: Plan, diagnostics: Diagnostics) -> views.ToolClient:
    """Return the view of the client of a contract."""
    return _Views(contract, client, plan, diagnostics).client()


class _Views:
    def __init__(self, contract: Contract, client: str, plan: Plan, diagnostics: Diagnostics) -> None:
        self._contract = contract
        self._client = client
        self._plan = plan
        types = plan.types
        self._names = Names(types, contract.server, diagnostics, convention(types.definitions))
        modules = dict.fromkeys(types.definitions, MODULE)
        self._speller = Speller(types, self._names, modules)
        self._classes = ClassViews(types, self._names, self._speller, Inheritance(types, self._names), modules)

    def client(self) -> views.ToolClient:
        definitions = [definition for module in self._classes.modules() for definition in module.definitions]
        models = {view.name: _of_tools(view) for view in definitions}
        defaults = {name: self._defaults(view) for name, view in models.items() if isinstance(view, views.Class)}
        return views.ToolClient(
            name=self._client,
            server=_line(f"{self._contract.server} {self._contract.version}".strip()),
            definitions=tuple(models.values()),
            defaults={name: found for name, found in defaults.items() if found},
            tools=tuple(self._tool(one, models, defaults) for one in self._plan.tools),
            exports=tuple(sorted([self._client, *models])),
        )

    def _defaults(self, view: views.Class) -> dict[str, Scalar]:
        """Return the values that a model's constructor fills in, by field."""
        definition = self._plan.types.definitions[view.definition]
        fields = definition.fields if isinstance(definition, Struct) else ()
        stated = {field.wire_name: _scalar(field.default) for field in fields}
        given = {field: stated[field.wire_name] for field in view.fields if not field.is_required}
        return {field.name: value for field, value in given.items() if self._is_default(field.schema_type, value)}

    def _is_default(self, type_: TypeRef, value: Any) -> bool:
        """Whether a default is a short scalar that a type allows; the server fills in others."""
        if value is None:
            return admits_null(self._plan.types, type_)
        is_short = isinstance(value, str | int | float) and len(str(value)) <= MAX_DEFAULT
        return is_short and admits(self._plan.types, type_, value)

    def _tool(
        self,
        one: Planned,
        models: Mapping[str, views.Class | views.Alias],
        defaults: Mapping[str, Mapping[str, Scalar]],
    ) -> views.Tool:
        tool = one.tool
        model = models.get(one.arguments.type.name) if isinstance(one.arguments.type, Ref) else None
        fields = model.fields if isinstance(model, views.Class) else None
        stated: Mapping[str, Scalar] = defaults.get(model.name if model else "", {})
        parameters = [_parameter(field, stated) for field in fields or ()]
        wrapped = self._wrapped(one)
        data = self._plain(one.output) if wrapped is None else self._speller.static(wrapped.type)
        return views.Tool(
            name=tool.name,
            method=one.method,
            record=f"_{one.method.upper()}",
            signature=views.Signature(
                parameters=(*sorted(parameters, key=_has_default), OPTIONS), result=generic(_RESULT, data)
            ),
            arguments=tuple(views.Argument(name=field.name, value=field.name) for field in fields or ()),
            whole=None if fields is not None else self._plain(one.arguments),
            input=None if one.arguments.type == UNTYPED else self._exact(one.arguments),
            output=self._exact(one.output),
            data=data,
            is_bare=one.output.is_bare,
            wrapped="" if wrapped is None else self._names.attribute(self._struct(one.output), wrapped.wire_name),
            input_schema=one.arguments.schema,
            output_schema=one.output.schema,
            digests={member: digest(tool.raw[member]) for member in DIGESTED if tool.raw.get(member) is not None},
            hints=effective(tool),
            task=tool.task,
            is_gated=tool.is_gated,
            doc="\n\n".join(_doc(tool, fields or ())),
        )

    def _plain(self, half: Half) -> Expression:
        return NONE if half.type is None else self._speller.static(half.type)

    def _exact(self, half: Half) -> Expression | None:
        return None if half.type is None else self._speller.annotation(half.type)

    def _struct(self, half: Half) -> Struct:
        found = self._plan.types.resolve(half.type) if half.type is not None else None
        return found if isinstance(found, Struct) else Struct(name="", fields=(), own=frozenset())

    def _wrapped(self, one: Planned) -> Field | None:
        """Return the property that holds the data, if the server wrapped it."""
        schema = one.tool.output_schema
        if one.output.is_bare:
            return self._struct(one.output).field(BOX)
        if not is_object(schema) or schema.get(WRAPS) is not True:
            return None
        return self._struct(one.output).field(_WRAPPED)


def _of_tools(view: views.Class | views.Alias) -> views.Class | views.Alias:
    """Return a model as one of a tool: with the base for tools, and without a link to the specification."""
    if isinstance(view, views.Alias):
        return replace(view, link="")
    return replace(view, bases=(_MODEL,), link="")


def _parameter(field: views.Field, defaults: Mapping[str, Scalar]) -> views.Parameter:
    type_, default = field.plain, field.default
    if not field.is_required:
        # If the schema states a default, ABSENT is not needed even if null is a valid value.
        has_own = field.name in defaults
        type_ = type_ if field.is_nullable and has_own else either(type_, ABSENT_TYPE if field.is_nullable else NONE)
        default = constant(defaults[field.name]) if has_own else default
    return views.Parameter(
        name=field.name, field=field.name, type=type_, schema_type=field.schema_type, default=default, doc=field.doc
    )


def _scalar(default: str) -> Any:
    """Return a list with the default as a Python value, or an empty one; in JSON Schema, 1.0 is an integer."""
    value: Any = json.loads(default or "[]")
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _has_default(parameter: views.Parameter) -> bool:
    return parameter.default is not None


def _doc(tool: Tool, fields: tuple[views.Field, ...]) -> Iterator[str]:
    """Iterate over the paragraphs of the documentation of a tool."""
    yield tool.description[:MAX_DESCRIPTION].strip() or f"Call the tool `{_line(tool.name)}`."
    described = [f"    {field.name}: {_line(' '.join(field.doc.split()))}" for field in fields if field.doc]
    if described:
        yield "\n".join(["Args:", *described])
    yield f"Tool ``{_line(tool.name)}``."
    if tool.is_gated:
        yield "The server shows it only to clients that declare capabilities (sampling, elicitation or roots)."
    if tool.task:
        yield f"Running as a task is {tool.task}."
    stated = describe(tool)
    if stated:
        yield f"The server says: {stated}."


def _line(text: str) -> str:
    return printable(text).replace("\n", "\\n")

"""From a contract to the source text of its module."""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_bindgen.diagnostics import Diagnostics, printable
from mcp_bindgen.emit.header import header
from mcp_bindgen.emit.python.docstrings import docstring
from mcp_bindgen.emit.python.render import Page as TemplatePage
from mcp_bindgen.emit.python.render import Templates
from mcp_bindgen.tools.contract import DIGESTED, Contract, digest
from mcp_bindgen.tools.kinds import is_object
from mcp_bindgen.tools.names import RESERVED_PARAMETERS
from mcp_bindgen.tools.plan import Half, Planned, plan
from mcp_bindgen.tools.rebuild import Class, Field

TEMPLATE = "tools.py.j2"
MAX_DOC = 4_000
"""How much of a description becomes part of a docstring, in characters."""
MAX_DEFAULT = 200
"""How long a default may be that stands in a signature, in characters."""

_HINTS = (
    ("readOnlyHint", "read_only", False),
    ("destructiveHint", "destructive", True),
    ("idempotentHint", "idempotent", False),
    ("openWorldHint", "open_world", True),
)
"""Annotations, their names in Python, and their defaults (specification, Tools, ToolAnnotations)."""
_FROM_TYPING = ("Annotated", "Any", "Literal")
_FROM_MODEL = ("ABSENT", "Absent", "Integer", "Number")
_FROM_PYDANTIC = ("ConfigDict", "Field")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model: its name and the lines of its body."""

    name: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of the client."""

    name: str
    parameters: str
    result: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What the template repeats and inserts."""

    doc: str
    imports: tuple[str, ...]
    exports: str
    models: tuple[Model, ...]
    constants: tuple[str, ...]
    client: str
    client_doc: str
    table: str
    methods: tuple[Method, ...]


def module(contract: Contract, client: str, diagnostics: Diagnostics) -> str:
    """Return the module that calls the tools of a contract: black-formatted, the same for the same contract."""
    planned = plan(contract, client, diagnostics)
    page = TemplatePage(path="tools.py", template=TEMPLATE, context={"page": _page(contract, client, planned)})
    return Templates().render([page], _header(contract))[page.path]


def _page(contract: Contract, client: str, planned: Sequence[Planned]) -> Page:
    classes = {model.name: model for one in planned for half in (one.arguments, one.output) for model in half.models}
    models = tuple(_model(class_) for class_ in classes.values())
    constants = tuple(line for one in planned for line in _constant(one))
    methods = tuple(_method(one) for one in planned)
    used = "\n".join([*(line for model in models for line in model.lines), *(m.parameters + m.result for m in methods)])
    server = f"{contract.server} {contract.version}".strip()
    return Page(
        doc=docstring(f"Typed calls of the tools of {server}.", 0),
        imports=tuple(_imports(used, bool(methods))),
        exports=json.dumps(sorted([client, *classes])),
        models=models,
        constants=constants,
        client=client,
        client_doc=docstring(f"The tools of {server}.", 4),
        table="{" + ", ".join(f"{one.tool.name!r}: {_constant_name(one)}" for one in planned) + "}",
        methods=methods,
    )


def _header(contract: Contract) -> tuple[str, ...]:
    return (
        f"server:   {contract.server} {contract.version}".rstrip(),
        f"contract: {digest(json.loads(contract.lock()))}, {len(contract.tools)} tools",
        *header("mcp-bindgen tools generate"),
    )


def _line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


def _imports(used: str, any_tools: bool) -> Iterator[str]:
    yield "from types import MappingProxyType"
    for source, names in (("typing", _FROM_TYPING), ("pydantic", _FROM_PYDANTIC), ("mcp_runtime.model", _FROM_MODEL)):
        found = [name for name in names if _mentions(used, name)]
        if found:
            yield f"from {source} import {', '.join(found)}"
    if any_tools:
        yield "from mcp_runtime.stub import CallOptions"
    used_here = ["Tool", "ToolClient", "ToolModel", "ToolResult"] if any_tools else ["ToolClient"]
    yield f"from mcp_runtime.tools import {', '.join(used_here)}"


def _mentions(used: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", used) is not None


def _model(class_: Class) -> Model:
    lines = ["model_config = ConfigDict(extra='forbid')"] if class_.is_closed else []
    lines += [_field(field) for field in class_.fields]
    return Model(name=class_.name, lines=tuple(lines or ["pass"]))


def _field(field: Field) -> str:
    type_ = f"{field.type} | None" if field.may_be_null or field.may_be_absent else field.type
    default = ""
    if field.may_be_absent:
        type_, default = (f"{type_} | Absent", " = ABSENT") if field.may_be_null else (type_, " = None")
    return f"{field.name}: {_aliased(type_, field)}{default}"


def _aliased(type_: str, field: Field) -> str:
    return type_ if field.wire == field.name else f"Annotated[{type_}, Field(alias={field.wire!r})]"


def _constant_name(one: Planned) -> str:
    return f"_{one.method.upper()}"


def _constant(one: Planned) -> Iterator[str]:
    tool = one.tool
    stated = [f"name={tool.name!r}"]
    if one.arguments.name:
        stated.append(f"input={one.arguments.name}")
    if one.output.declared:
        stated.append(f"output={one.output.name or 'dict'}")
    for key, half in (("input_schema", one.arguments), ("output_schema", one.output)):
        if half.schema:
            stated.append(f"{key}={half.schema!r}")
    digests = {member: digest(tool.raw[member]) for member in DIGESTED if tool.raw.get(member) is not None}
    stated.append(f"digests={digests!r}")
    stated += [f"{name}={tool.hint(hint, default)}" for hint, name, default in _HINTS]
    yield f"{_constant_name(one)}: Tool[{_data(one.output)}] = Tool({', '.join(stated)})"


def _data(half: Half) -> str:
    if not half.declared:
        return "None"
    return half.name or "dict[str, Any]"


def _method(one: Planned) -> Method:
    fields = one.arguments.models[-1].fields if one.arguments.name else ()
    names = _parameters(fields)
    doc = f'{" " * 8}"""{docstring(_doc(one, fields, names), 8)}"""'.split("\n")
    options = "options: CallOptions | None = None"
    if one.arguments.name:
        signature = sorted((_parameter(one, field, names[field.name]) for field in fields), key=lambda p: " = " in p)
        parameters = ", ".join(["self", "*", *signature, options])
        values = ", ".join(f"{field.name!r}: {names[field.name]}" for field in fields)
        call = f"return await self._call({_constant_name(one)}, {{{values}}}, options)"
    else:
        parameters = f"self, arguments: dict[str, Any], *, {options}"
        call = f"return await self._call_untyped({_constant_name(one)}, arguments, options)"
    return Method(
        name=one.method,
        parameters=parameters,
        result=f"ToolResult[{_data(one.output)}]",
        lines=(*(line.removeprefix(" " * 8) for line in doc), call),
    )


def _parameters(fields: Sequence[Field]) -> dict[str, str]:
    """Name the parameters as the fields, but for names that every method has."""
    taken = {field.name for field in fields}
    found: dict[str, str] = {}
    for field in fields:
        name = field.name
        while name in RESERVED_PARAMETERS or (name != field.name and name in taken):
            name += "_"
        found[field.name] = name
    return found


def _parameter(one: Planned, field: Field, name: str) -> str:
    if not field.may_be_absent:
        return f"{name}: {field.plain}{' | None' if field.may_be_null else ''}"
    default = _default(one, field)
    if default is not None:
        return f"{name}: {field.plain} | None = {default}"
    if field.may_be_null:
        return f"{name}: {field.plain} | None | Absent = ABSENT"
    return f"{name}: {field.plain} | None = None"


def _default(one: Planned, field: Field) -> str | None:
    """Return the default that the schema states as source text, None if it states none that a signature can have."""
    value = _property(one, field).get("default")
    match field.plain:
        case "str" if isinstance(value, str) and len(value) <= MAX_DEFAULT:
            return repr(value)
        case "int" if type(value) is int:
            return repr(value)
        case "float" if type(value) in (int, float):
            return repr(value)
        case "bool" if isinstance(value, bool):
            return repr(value)
        case _:
            pass
    if field.plain.startswith("Literal[") and isinstance(value, str | int) and _is_among(value, field.plain):
        return repr(value)
    states_null = field.may_be_null and "default" in _property(one, field) and value is None
    return "None" if states_null else None


def _is_among(value: str | int, literal: str) -> bool:
    if not literal.endswith("]") or " | " in literal.replace(repr(value), ""):
        return False
    node = ast.parse(literal, mode="eval").body
    if not isinstance(node, ast.Subscript):
        return False
    choices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(ast.unparse(choice) == repr(value) for choice in choices)


def _property(one: Planned, field: Field) -> dict[str, Any]:
    schema = one.tool.input_schema
    properties: Any = schema.get("properties") if is_object(schema) else None
    found: Any = properties.get(field.wire) if is_object(properties) else None
    return found if is_object(found) else {}


def _doc(one: Planned, fields: Sequence[Field], names: dict[str, str]) -> str:
    tool = one.tool
    parts = [tool.description[:MAX_DOC].strip() or f"Call the tool `{_line(tool.name)}`."]
    described = [
        f"    {names[field.name]}: {_line(' '.join(text.split()))[:MAX_DOC]}"
        for field in fields
        if isinstance(text := _property(one, field).get("description"), str) and text.strip()
    ]
    if described:
        parts.append("\n".join(["Args:", *described]))
    hints = [name.replace("_", " ") for hint, name, default in _HINTS if tool.hint(hint, default)]
    parts.append(f"Tool ``{_line(tool.name)}``; by its own account {', '.join(hints) or 'of no consequence'}.")
    return "\n\n".join(parts)

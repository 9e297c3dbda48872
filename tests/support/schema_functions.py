"""The public functions that take a peer's schema, found by their signatures, and how the tests call each of them."""

import ast
import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import mcp_bindgen
import mcp_runtime
from mcp_bindgen.check.arguments import Arguments, Validator
from mcp_bindgen.ir.diagnostics import InputError, Location
from mcp_bindgen.live.inspecting.arguments import parse_arguments
from mcp_bindgen.mock.lock import Answers
from mcp_bindgen.tool_clients import listing
from mcp_bindgen.tool_clients.comparing import narrowing
from mcp_bindgen.tool_clients.contract import Contract, Tool
from mcp_bindgen.tool_clients.typing import keywords
from mcp_bindgen.tool_clients.typing.schema_types import schema_types
from mcp_bindgen.tool_clients.typing.unions import Untypable
from mcp_bindgen.values.schema import Least, NoValue, plain_form, value_of
from mcp_runtime.bridge import fallbacks
from mcp_runtime.client_features import forms
from mcp_runtime.core.transports.http import mirrored
from mcp_runtime.host.dialects import anthropic, gemini, openai, reading
from mcp_runtime.host.dialects.lowering import lower
from mcp_runtime.host.dialects.restoring import restore
from mcp_runtime.json_schema.check import Check, UnusableSchema
from mcp_runtime.json_schema.keywords import malformed
from mcp_runtime.json_schema.meter import KeywordMeter, TooManySteps
from mcp_runtime.tools import errors
from support.hostile_schemas import VALUE

Use = Callable[[dict[str, Any]], object]
_Function = ast.FunctionDef | ast.AsyncFunctionDef
REFUSALS: Final = (UnusableSchema, TooManySteps, reading.Inexpressible, NoValue, InputError, Untypable, RecursionError)
"""How the functions say that a schema cannot be used."""


def _tool(schema: dict[str, Any]) -> Tool:
    return Tool(name="t", raw={"inputSchema": schema, "outputSchema": schema}, where=Location(source="x"))


def _answers(schema: dict[str, Any]) -> Answers:
    return Answers(Contract(server="s", version="1", tools=(_tool(schema),)), {}, 0)


def _more(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "required": ["zz"]}


def _changed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with other properties, some of which are required."""
    properties = {f"{name}q": each for name, each in schema["properties"].items()}
    return {**schema, "properties": properties, "required": ["zz"]}


def _arguments(schema: dict[str, Any]) -> object:
    made = Arguments(schema)
    return [*made.valid(), *made.invalid()]


ROWS: Final[Mapping[str, Use]] = {
    "mcp_runtime.bridge.fallbacks:name_titles": fallbacks.name_titles,
    "mcp_runtime.bridge.fallbacks:spell_booleans": fallbacks.spell_booleans,
    "mcp_runtime.bridge.fallbacks:wrap_schema": fallbacks.wrap_schema,
    "mcp_runtime.client_features.forms:Form": lambda s: forms.Form(s, is_trusted=False).problems(VALUE),
    "mcp_runtime.client_features.forms:defaults": lambda s: [
        forms.defaults(s),
        *map(forms.choices, s["properties"].values()),
    ],
    "mcp_runtime.client_features.forms:problems": lambda s: forms.problems(s, VALUE),
    "mcp_runtime.core.transports.http.mirrored:parameters": mirrored.parameters,
    **{
        f"mcp_runtime.host.dialects.lowering:lower for {dialect.name}": partial(lower, dialect=dialect)
        for dialect in (openai.STRICT, openai.LOOSE, anthropic.RULES, gemini.RULES)
    },
    "mcp_runtime.host.dialects.reading:modern": reading.modern,
    "mcp_runtime.host.dialects.restoring:restore": lambda s: restore(s, VALUE),
    "mcp_runtime.json_schema.check:Check": lambda s: Check(s, is_trusted=False).find(VALUE),
    "mcp_runtime.json_schema.keywords:malformed": malformed,
    "mcp_runtime.json_schema.meter:KeywordMeter": lambda s: KeywordMeter(s, 50_000, float("inf")),
    "mcp_runtime.tools.errors:compile_schema": lambda s: errors.compile_schema(json.dumps(s)),
    "mcp_runtime.tools.errors:find_mismatch_of": lambda s: asyncio.run(errors.find_mismatch_of(json.dumps(s), VALUE)),
    "mcp_runtime.tools.errors:mismatch_of": lambda s: errors.mismatch_of(json.dumps(s), VALUE),
    "mcp_bindgen.check.arguments:Arguments": _arguments,
    "mcp_bindgen.check.arguments:Validator": lambda s: [*map(Validator(s).mismatch, [VALUE] * 20)],
    "mcp_bindgen.live.inspecting.arguments:parse_arguments": lambda s: parse_arguments(
        {"name": "t", "inputSchema": s}, ["x={}"]
    ),
    "mcp_bindgen.mock.lock:Answers.answer": lambda s: _answers(s).answer(_tool(s), {}),
    "mcp_bindgen.mock.lock:Answers.mismatch": lambda s: _answers(s).mismatch(_tool(s), VALUE),
    "mcp_bindgen.mock.lock:Answers.result": lambda s: _answers(s).result(_tool(s), {}),
    "mcp_bindgen.tool_clients.typing.keywords:default": keywords.default,
    "mcp_bindgen.tool_clients.typing.keywords:description": keywords.description,
    "mcp_bindgen.tool_clients.listing:spell_arguments": listing.spell_arguments,
    "mcp_bindgen.tool_clients.comparing.narrowing:gaps with anything": lambda s: narrowing.gaps(s, {}),
    "mcp_bindgen.tool_clients.comparing.narrowing:gaps from anything": lambda s: narrowing.gaps({}, s),
    "mcp_bindgen.tool_clients.comparing.narrowing:gaps with more": lambda s: narrowing.gaps(s, _more(s)),
    "mcp_bindgen.tool_clients.comparing.narrowing:gaps from more": lambda s: narrowing.gaps(_more(s), s),
    "mcp_bindgen.tool_clients.comparing.narrowing:gaps with others": lambda s: narrowing.gaps(s, _changed(s)),
    "mcp_bindgen.tool_clients.comparing.narrowing:smallest": narrowing.smallest,
    "mcp_bindgen.tool_clients.typing.schema_types:schema_types": lambda s: schema_types(s, "X", set()),
    "mcp_bindgen.values.schema:value_of": lambda s: [value_of(s, chance) for chance in (Least(), Random(1))],
    "mcp_bindgen.values.schema:plain_form": lambda s: [plain_form(one, s) for one in s["properties"].values()],
}
"""Uses each function with a schema and, where it takes one, `VALUE`."""
_OWN: Final = "the schema is the program's own"
_INNER: Final = "part of another row, whose meter counts it"
EXEMPT: Final[Mapping[str, str]] = {
    "mcp_runtime.app.functions:Function": _OWN,
    "mcp_runtime.app.schemas:RawArguments": _OWN,
    "mcp_runtime.app.shapes:Shape": _OWN,
    "mcp_runtime.app.tools:Tool": _OWN,
    "mcp_runtime.client_features.forms:ask_form": _OWN,
    "mcp_runtime.core.described:described": _OWN,
    "mcp_runtime.core.json.values:with_exact_constants": _OWN,
    "mcp_runtime.host.dialects.reading:Reader.fragments": _INNER,
    "mcp_runtime.host.dialects.reading:properties_of": _INNER,
    "mcp_runtime.host.dialects.reading:types": _INNER,
    "mcp_runtime.tools.errors:compiled": _INNER,
    "mcp_runtime.tools.errors:unblocking": _INNER,
    "mcp_bindgen.check.probe:ToolOptions.arguments": _INNER,
    "mcp_bindgen.check.probe:ToolOptions.wants": "it reads the name and the annotations",
    "mcp_bindgen.check.probes.basic:call_as_task": "it reads the name",
    "mcp_bindgen.live.inspecting.arguments:read_value": _INNER,
    "mcp_bindgen.tool_clients.contract:describe": "it reads the annotations",
    "mcp_bindgen.tool_clients.contract:effective": "it reads the annotations",
    "mcp_bindgen.tool_clients.listing:spell_type": _INNER,
    "mcp_bindgen.tool_clients.listing:types_of": _INNER,
    "mcp_bindgen.tool_clients.comparing.narrowing:closed": _INNER,
    "mcp_bindgen.tool_clients.comparing.narrowing:meaning": _INNER,
    "mcp_bindgen.tool_clients.comparing.narrowing:plain": _INNER,
    "mcp_bindgen.tool_clients.comparing.narrowing:read": _INNER,
}
"""Functions that need no row, and why."""

_FOLDERS: Final = ("check", "live", "mock", "tool_clients", "values")
"""The folders of the generator that read what a server lists; the others read schemas of the protocol."""


def takers() -> Iterator[str]:
    """Yield the public functions and classes with a parameter for a JSON Schema, or for a tool that contains one."""
    runtime, generator = (Path(package.__path__[0]) for package in (mcp_runtime, mcp_bindgen))
    for folder in (runtime, *(generator / name for name in _FOLDERS)):
        for path in sorted(folder.rglob("*.py")):
            root = runtime if folder is runtime else generator
            module = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
            yield from (f"{module}:{name}" for name, node in _public(path) if any(map(_is_schema, _parameters(node))))


def _public(path: Path) -> Iterator[tuple[str, _Function]]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, _Function) and not node.name.startswith("_"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, _Function) and not method.name.removeprefix("__init__").startswith("_"):
                    yield f"{node.name}.{method.name}".removesuffix(".__init__"), method


def _parameters(node: _Function) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _is_schema(parameter: ast.arg) -> bool:
    """Return whether a parameter is a schema, or a tool as its server lists it."""
    annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
    is_tool = parameter.arg == "tool" and ("Mapping" in annotation or "Tool" in annotation)
    return is_tool or parameter.arg.rpartition("_")[2] == "schema"

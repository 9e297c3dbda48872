"""Probes of tools, from their schemas: valid arguments, then one violation at a time; and what models need of them."""

import asyncio
import json
import random
import re
from collections.abc import Mapping
from typing import Any, Final

from mcp_bindgen.check.client import Silent, list_of, object_of
from mcp_bindgen.check.probes import Context, NotJudged, code_of, probe, told

MAX_LIST: Final = 40_000
"""The number of characters of a list of tools, as JSON, that takes a small part of a context."""
INTERNAL: Final = -32603
_TRACE: Final = re.compile(r"Traceback \(most recent call last\)|^\s+at .+\(.+:\d+:\d+\)", re.MULTILINE)
_PORTABLE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]*")


@probe("tools.inputs-validated", also=("tools.errors-in-results", "contract.internals"), declares=True)
async def arguments(context: Context) -> str | None:
    """Call each tool with valid arguments, and with invalid ones."""
    loop = asyncio.get_running_loop()
    end = loop.time() + context.options.seconds
    for tool in await context.listed("tools"):
        if object_of(tool.get("execution")).get("taskSupport") == "required":
            continue
        name, made = str(tool.get("name")), context.options.arguments(tool)
        if made.smallest is None:
            continue
        good, bad = [("", each) for each in made.valid()], list(made.invalid())
        order = random.Random(f"{context.options.seed} {name}")
        order.shuffle(good)
        order.shuffle(bad)
        for what, each in (*good, *bad):
            if not context.options.wants(tool) or loop.time() > end:
                break
            await _try(context, name, what, each)
    return None


async def _try(context: Context, name: str, what: str, given: dict[str, Any]) -> None:
    """Call a tool; `what` is wrong with its arguments, empty if nothing is."""
    context.options.calls += 1
    start = len(context.peer.said)
    try:
        answer = await context.peer.ask("tools/call", {"name": name, "arguments": given})
    except Silent as silent:
        raise NotJudged(f"{f'{name} {what}'.rstrip()}: {silent}") from None
    result = object_of(answer.get("result"))
    shown = tuple(context.peer.said[start:])
    is_asking = result.get("resultType", "complete") != "complete" or "task" in result
    if what and "result" in answer and result.get("isError") is not True and not is_asking:
        context.find("tools.inputs-validated", name, f"{name} {what} is answered by a result", shown)
    if not what and code_of(answer) == INTERNAL:
        reason = f"{name} with valid arguments is answered by {told(answer)}, not by a result with isError"
        context.find("tools.errors-in-results", name, reason, shown)
    if _TRACE.search("\n".join(str(object_of(each).get("text")) for each in list_of(result.get("content")))):
        context.find("contract.internals", name, f"the text of {name} shows a stack trace", shown)


@probe("tools.name-unique", also=("tools.name-length", "tools.name-characters"))
async def names(context: Context) -> str | None:
    """Look at the names of tools."""
    found = [str(tool.get("name")) for tool in await context.listed("tools")]
    for name in dict.fromkeys(found):
        if found.count(name) > 1:
            context.find("tools.name-unique", name, f"{found.count(name)} tools have the name {name}")
        if not 1 <= len(name) <= 128:
            context.find("tools.name-length", name[:40], f"a name of a tool has {len(name)} characters")
        if not _NAME.fullmatch(name):
            context.find("tools.name-characters", name, f"the name of a tool is {name!r}")
    return None


@probe("messages.schema-valid")
async def schemas(context: Context) -> str | None:
    """Look at the schemas of tools that name no dialect, or 2020-12."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for tool in await context.listed("tools"):
        for key in ("inputSchema", "outputSchema"):
            schema: Any = tool.get(key)
            dialect = object_of(schema).get("$schema", "2020-12")
            try:
                if object_of(schema) and "2020-12" in str(dialect):
                    Draft202012Validator.check_schema(object_of(schema))
            except (SchemaError, RecursionError) as error:
                why = str(getattr(error, "message", error))[:200]
                context.find("messages.schema-valid", f"{tool.get('name')}.{key}", f"{tool.get('name')}.{key}: {why}")
    return None


@probe("contract.portable", also=("contract.name", "contract.described", "contract.size"), declares=True)
async def contract(context: Context) -> str | None:
    """Look at the tools as the models of three providers would."""
    tools = await context.listed("tools")
    for tool in tools:
        name, schema = str(tool.get("name")), object_of(tool.get("inputSchema"))
        if lost := sorted(_lost(schema)):
            context.find("contract.portable", name, f"{name} cannot be expressed for {'; '.join(lost[:3])}")
        if not _PORTABLE.fullmatch(name):
            context.find("contract.name", name, f"not every provider accepts the name {name!r}")
        properties = object_of(schema.get("properties"))
        bare = [key for key, each in properties.items() if not object_of(each).get("description")]
        if bare or not tool.get("description"):
            missing = ", ".join(bare) if tool.get("description") else "the tool itself"
            context.find("contract.described", name, f"{name} has no description of {missing}")
    if (size := len(json.dumps(tools))) > MAX_LIST:
        context.find("contract.size", "", f"the list of tools has {size:,} characters")
    return None


def _lost(schema: Mapping[str, Any]) -> set[str]:
    """Return what providers cannot express of a schema."""
    from mcp_runtime.host.dialects import anthropic, gemini, openai
    from mcp_runtime.host.dialects.lowering import lower
    from mcp_runtime.host.dialects.reading import Inexpressible

    lost: set[str] = set()
    for dialect in (anthropic.RULES, gemini.RULES, openai.LOOSE):
        try:
            losses = [loss for loss in lower(schema, dialect).losses if loss.keyword != "additionalProperties"]
            lost |= {f"{dialect.name}: {loss.keyword} of {loss.pointer or '/'}" for loss in losses}
        except (Inexpressible, RecursionError) as error:
            lost.add(f"{dialect.name}: {error}")
    return lost

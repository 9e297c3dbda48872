"""Probes of the page "tools", and of what models need: valid arguments, one violation at a time, and the list."""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcp_bindgen.check.client import NotJudged, Silent, code_of, told
from mcp_bindgen.check.probe import Context, Found, probe
from mcp_bindgen.ir.json_values import as_list, as_object
from mcp_bindgen.live.recording.readings import boolean_schemas
from mcp_runtime.core.transports.http.mirrored import parameters

MAX_LIST: Final = 40_000
"""The number of characters of a list of tools, as JSON, that takes a small part of a context."""
INTERNAL: Final = -32603
_TRACE: Final = re.compile(r"Traceback \(most recent call last\)|^\s+at .+\(.+:\d+:\d+\)", re.MULTILINE)
_PORTABLE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]*")


@probe("robust.arguments", also=("tools.errors-in-results", "contract.internals"), declares=True)
async def arguments(context: Context) -> str | None:
    """Call each tool with valid arguments, and with invalid ones."""
    loop = asyncio.get_running_loop()
    end = loop.time() + context.options.seconds
    for tool in await context.listed("tools"):
        if as_object(tool.get("execution")).get("taskSupport") == "required" or not context.options.wants(tool):
            continue
        made, order = context.options.arguments(tool), random.Random(f"{context.options.seed} {tool.get('name')!a}")
        good, bad = [("", each) for each in made.valid()], list(made.invalid())
        order.shuffle(good)
        order.shuffle(bad)
        for what, each in (*good, *bad) if good else ():
            if not context.options.wants(tool) or loop.time() > end:
                break
            await _try(context, str(tool.get("name")), what, each)
    return None


async def _try(context: Context, name: str, what: str, given: dict[str, Any]) -> None:
    """Call a tool; `what` is wrong with its arguments, empty if nothing is."""
    context.options.calls += 1
    start = len(context.peer.said)
    try:
        answer = await context.peer.ask("tools/call", {"name": name, "arguments": given})
    except Silent as silent:
        raise NotJudged(f"{f'{name} {what}'.rstrip()}: {silent}") from None
    result, shown = as_object(answer.get("result")), tuple(context.peer.said[start:])
    is_asking = result.get("resultType", "complete") != "complete" or "task" in result
    if what and "result" in answer and result.get("isError") is not True and not is_asking:
        context.find(Found("robust.arguments", f"{name} {what} is answered by a result", name, shown))
    if not what and code_of(answer) == INTERNAL:
        reason = f"{name} with valid arguments is answered by {told(answer)}, not by a result with isError"
        context.find(Found("tools.errors-in-results", reason, name, shown))
    if _TRACE.search("\n".join(str(as_object(each).get("text")) for each in as_list(result.get("content")))):
        context.find(Found("contract.internals", f"the text of {name} shows a stack trace", name, shown))


@probe("tools.name-unique", also=("tools.name-length", "tools.name-characters"))
async def names(context: Context) -> str | None:
    """Look at the names of tools."""
    for name, number in Counter(str(tool.get("name")) for tool in await context.listed("tools")).items():
        if number > 1:
            context.find(Found("tools.name-unique", f"{number} tools have the name {name}", name))
        if not 1 <= len(name) <= 128:
            context.find(Found("tools.name-length", f"a name of a tool has {len(name)} characters", name[:40]))
        if not _NAME.fullmatch(name):
            context.find(Found("tools.name-characters", f"the name of a tool is {name!r}", name))
    return None


@probe("robust.schemas")
async def schemas(context: Context) -> str | None:
    """Look at the schemas of properties, which older clients take for objects."""
    for tool in await context.listed("tools") if context.peer.is_legacy else ():
        if place := next(boolean_schemas([tool]), None):
            name = str(tool.get("name"))
            pointer = place.pointer.removeprefix("/result/tools/0")
            context.find(Found("robust.schemas", f"{name}: {pointer} {place.reason}", name))
    return None


@probe("contract.portable", also=("contract.name", "contract.described", "contract.size"), declares=True)
async def contract(context: Context) -> str | None:
    """Look at the tools as the models of three providers would."""
    tools = await context.listed("tools")
    for tool in tools:
        name, schema = str(tool.get("name")), as_object(tool.get("inputSchema"))
        if lost := sorted(set(_lost(schema))):
            reason = f"{name} cannot be expressed for {'; '.join(lost[:3])}"
            context.find(Found("contract.portable", reason, name))
        try:
            parameters({} if context.peer.is_legacy else schema)
        except ValueError as error:
            context.find(Found("contract.portable", f"clients over HTTP leave out {name}: {error}", name))
        if not _PORTABLE.fullmatch(name):
            context.find(Found("contract.name", f"not every provider accepts the name {name!r}", name))
        properties = as_object(schema.get("properties"))
        bare = [key for key, each in properties.items() if not as_object(each).get("description")]
        if bare or not tool.get("description"):
            missing = ", ".join(bare) if tool.get("description") else "the tool itself"
            context.find(Found("contract.described", f"{name} has no description of {missing}", name))
    if (size := len(json.dumps(tools))) > MAX_LIST:
        context.find(Found("contract.size", f"the list of tools has {size:,} characters"))
    return None


def _lost(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what providers cannot express of a schema."""
    from mcp_runtime.host.dialects import anthropic, gemini, openai
    from mcp_runtime.host.dialects.lowering import lower
    from mcp_runtime.host.dialects.reading import Inexpressible

    for dialect in (anthropic.RULES, gemini.RULES, openai.LOOSE):
        try:
            losses = [loss for loss in lower(schema, dialect).losses if loss.keyword != "additionalProperties"]
            yield from (f"{dialect.name}: {loss.keyword} of {loss.pointer or '/'}" for loss in losses)
        except (Inexpressible, RecursionError) as error:
            yield f"{dialect.name}: {error}"
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            yield f"{dialect.name}: a malformed schema"

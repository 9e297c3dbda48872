"""Visit a live server: inspect what it offers, or send one request."""

import json
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final

from mcp_bindgen.ir.diagnostics import InputError, did_you_mean
from mcp_bindgen.ir.json_values import is_object
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.inspecting.arguments import parse_arguments, prompt_arguments
from mcp_bindgen.live.output import ServerOutput
from mcp_bindgen.live.target import Ask, Target, opened, probe_timeout

if TYPE_CHECKING:
    from mcp_runtime import CallOptions
    from mcp_runtime.middleware.trace import Traced

LISTS: Final = (
    ("tools", "tools/list", "tools"),
    ("resources", "resources/list", "resources"),
    ("resources", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts/list", "prompts"),
)
"""What a server lists: the capability, the request, and the property of its result."""
MAX_BYTES: Final = 64 << 20
"""About how much of what a server lists is kept."""


class Visit:
    """A conversation with a server, in the newest revision that it speaks or in one that is wanted.

    Args:
        target: the server.
        said: what its lines go to.
        timeout: seconds for the whole visit.
        packages: the bindings to speak with, the first choice first; by default all, the newest first.
        trace: is told of every message; None for nobody.
        tell: receives a line for progress, log messages and what the server asks, while a call runs; None for nobody.
        ask: answers what the server asks its user; None to decline it.
        masked: whether the messages that it is told of have their secrets masked.
    """

    def __init__(
        self,
        target: Target,
        said: ServerOutput,
        *,
        timeout: float,
        packages: Sequence[Any] = (),
        trace: "Callable[[Traced], None] | None" = None,
        tell: Callable[[str], None] | None = None,
        ask: Ask | None = None,
        masked: bool = True,
    ) -> None:
        self._target = target
        self._said = said
        self._packages: Sequence[Any] = packages or packages_of(reversed(revisions()))
        self._trace = trace
        self._tell = tell
        self._ask = ask
        self._probe_timeout = probe_timeout(timeout)
        self._masked = masked

    async def greet(self) -> str:
        """Begin a conversation, and return the name of the server."""
        async with self._client() as client:
            return str(client.connection.peer_info.get("name", "the server"))

    async def look(self) -> dict[str, Any]:
        """Return what the server is and offers, by wire names; ``notes`` say what could not be listed, and why."""
        from mcp_runtime.app.tools import why_odd
        from mcp_runtime.core.errors import McpError
        from mcp_runtime.core.protocol.dispatch import Side
        from mcp_runtime.tools import list_items

        async with self._client() as client:
            connection = client.connection
            declared: Mapping[str, Any] = connection.declared[Side.SERVER]
            lists: dict[str, list[dict[str, Any]]] = {}
            notes: list[str] = []
            left = MAX_BYTES
            for capability, method, name in LISTS:
                if capability not in declared:
                    continue
                found = lists[name] = []

                def note(page: Mapping[str, Any], unusable: Sequence[Any], method: str = method) -> None:
                    notes.extend(f"{method}: {item}" for item in unusable)

                try:
                    async for item in list_items(client, method, name, on_page=note):
                        left -= len(json.dumps(item))
                        if left < 0:
                            raise McpError(f"{method}: more than {MAX_BYTES >> 20} MiB; the rest is skipped")
                        found.append(item)
                except McpError as error:
                    if name != "resourceTemplates" or found:
                        notes.append(str(error))
            notes += [
                f"tools/list: {why}" for tool in lists.get("tools", ()) if (why := why_odd(str(tool.get("name"))))
            ]
            return {
                "revision": connection.revision,
                "info": connection.peer_info,
                "capabilities": declared,
                "instructions": connection.instructions,
                **lists,
                "notes": notes,
            }

    async def asked(
        self, call: str | None, read: str | None, prompt: str | None, pairs: Sequence[str]
    ) -> dict[str, Any]:
        """Call a tool, read a resource or get a prompt, whichever is named, or look at everything."""
        if call is not None:
            return await self.call(call, pairs)
        if read is not None:
            return await self.read(read)
        if prompt is not None:
            return await self.prompt(prompt, pairs)
        return await self.look()

    async def call(self, name: str, pairs: Sequence[str]) -> dict[str, Any]:
        """Call a tool with arguments that are spelled ``key=value``; returns the result by wire names.

        Raises:
            InputError: there is no such tool, or the arguments are not what its schema asks for.
        """
        from mcp_bindings.extensions.tasks import EXTENSION
        from mcp_runtime.core.errors import PeerError
        from mcp_runtime.core.protocol.names import MISSING_CAPABILITY
        from mcp_runtime.extensions.tasks import Tasks
        from mcp_runtime.tools import list_tools

        async with self._client() as client:
            tool = await _named("tool", name, list_tools(client))
            arguments = parse_arguments(tool, pairs)
            execution = tool.get("execution")
            if is_object(execution) and execution.get("taskSupport") == "required":
                return _wire(await self._as_task(client, name, arguments))
            # Servers of the modern era send log messages only to those who ask for them.
            is_asked = self._tell is not None and client.connection.requester.is_modern
            meta = {"meta": {"io.modelcontextprotocol/logLevel": "info"}} if is_asked else {}
            try:
                return _wire(await client.call_tool(name=name, arguments=arguments, options=self._options(), **meta))
            except PeerError as error:
                if error.code != MISSING_CAPABILITY or EXTENSION.id not in str(error.data):
                    raise
        self._packages = packages_of([EXTENSION.revision])
        async with self._client([Tasks()]) as client:
            return _wire(await client.call_tool(name=name, arguments=arguments, options=self._options(), **meta))

    def _options(self) -> "CallOptions | None":
        """Return options that report progress; None for nobody."""
        from mcp_runtime import CallOptions

        tell = self._tell
        if tell is None:
            return None

        def report(progress: float, total: float | None, message: str | None) -> None:
            of = "" if total is None else f" of {total:g}"
            tell(f"progress: {progress:g}{of}{f': {message}' if message else ''}")

        return CallOptions(progress=report)

    async def _as_task(self, client: Any, name: str, arguments: dict[str, Any]) -> Any:
        from mcp_runtime.extensions.tasks import run_as_task

        method: Any = client.__binding__.methods["tools/call"]
        return await run_as_task(client, method, method.params.build({"name": name, "arguments": arguments}))

    async def read(self, uri: str) -> dict[str, Any]:
        """Read a resource; returns the result by wire names."""
        async with self._client() as client:
            return _wire(await client.read_resource(uri=uri))

    async def prompt(self, name: str, pairs: Sequence[str]) -> dict[str, Any]:
        """Get a prompt with arguments that are spelled ``key=value``; returns the result by wire names.

        Raises:
            InputError: there is no such prompt, or it does not take these arguments.
        """
        from mcp_runtime.tools import list_items

        async with self._client() as client:
            prompt = await _named("prompt", name, list_items(client, "prompts/list", "prompts"))
            return _wire(await client.get_prompt(name=name, arguments=prompt_arguments(prompt, pairs) or None))

    async def skills(self, uri: str | None) -> dict[str, Any]:
        """Return the skills that a server lists, or one skill by its URI, whose SKILL.md is verified.

        Raises:
            InputError: the server has no skills.
        """
        from mcp_bindings.extensions.skills import EXTENSION
        from mcp_runtime.core.errors import MissingCapability
        from mcp_runtime.extensions.skills import Skills, iter_skills, load_skill

        self._packages = packages_of([EXTENSION.revision])
        try:
            async with self._client([Skills()]) as client:
                if uri is None:
                    return {"skills": [_wire(entry) async for entry in iter_skills(client)]}
                skill = await load_skill(client, uri)
                return {"contents": [{"uri": uri, "text": skill.text}], "skill": _wire(skill.entry)}
        except MissingCapability:
            raise InputError.at("--skills", f"the server does not declare {EXTENSION.id}") from None

    def _client(self, extensions: Sequence[Any] = ()) -> AbstractAsyncContextManager[Any]:
        from mcp_runtime.middleware.trace import Tracer

        tracer = None
        if self._trace is not None:
            tracer = Tracer(self._trace, keep=0) if self._masked else Tracer(self._trace, masker=None, keep=0)
        return opened(
            self._target,
            self._said,
            self._packages,
            "inspect provides no sampling",
            extensions=extensions,
            name="mcp-bindgen inspect",
            probe_timeout=self._probe_timeout,
            trace=tracer,
            tell=self._tell,
            ask=self._ask,
        )


def _wire(result: Any) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(result.model_dump_json())
    return value


async def _named(kind: str, name: str, listed: AsyncIterable[dict[str, Any]]) -> dict[str, Any]:
    names: list[str] = []
    async for item in listed:
        if item.get("name") == name:
            return item
        names.append(str(item.get("name")))
    hint = did_you_mean(name, names) or f"inspect the server alone to see its {kind}s"
    raise InputError.at(name, f"the server has no {kind} of that name; {hint}")

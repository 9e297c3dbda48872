"""Answer a server that asks its user, at the terminal: forms field by field, and visits to a web page."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcp_bindgen.ir.diagnostics import InputError, printable
from mcp_bindgen.ir.json_values import as_list, as_object, is_list
from mcp_bindgen.live.inspecting.arguments import read_value
from mcp_bindgen.live.output import ServerOutput
from mcp_bindgen.tool_clients.listing import MAX_SHOWN, spell_type, types_of

_DECLINED: Final[Mapping[str, Any]] = {"action": "decline"}
_WORDS: Final = {"y": "true", "yes": "true", "n": "false", "no": "false"}


class Forms:
    """The person at the terminal, who answers one question at a time.

    Args:
        said: its clock stops while the person answers.
        tell: prints a line.
    """

    def __init__(self, said: ServerOutput, tell: Callable[[str], None]) -> None:
        self._said = said
        self._tell = tell
        self._turn = asyncio.Lock()

    async def answer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of ``elicitation/create``, keyed by wire names; the end of input (Ctrl-D) declines."""
        async with self._turn:
            with self._said.paused():
                self._tell(f"the server asks its user: {params.get('message')} (Ctrl-D declines)")
                try:
                    if params.get("mode") == "url":
                        await self._line(f"  open {params.get('url')} and press Enter: ")
                        return {"action": "accept"}
                    return {"action": "accept", "content": await self._fields(as_object(params.get("requestedSchema")))}
                except EOFError:
                    self._tell("declined")
                    return _DECLINED

    async def _fields(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        required, found = as_list(schema.get("required")), dict[str, Any]()
        for name, field in as_object(schema.get("properties")).items():
            value = await self._field(name, as_object(field), is_required=name in required)
            if value is not None:
                found[name] = value
        return found

    async def _field(self, name: str, field: Mapping[str, Any], *, is_required: bool) -> Any:
        """Ask until the text is a value of the field; an empty one is its default, or leaves out an optional field."""
        from mcp_runtime.client_features.forms import choices, problems

        labels, default = choices(field), field.get("default")
        kind = _spelled(labels) if labels else spell_type(field, field)
        about = f" [{_shown(default)}]" if default is not None else "" if is_required else " (optional)"
        while True:
            text = await self._line(f"  {field.get('title') or name}: {kind}{about}: ")
            if not text and (default is not None or not is_required):
                return default
            try:
                value = _value(name, text, field, labels)
            except InputError as error:
                self._tell(f"  {error}")
                continue
            wrong = problems({"properties": {name: field}}, {name: value})
            if not wrong:
                return value
            self._tell(f"  {wrong[0].removeprefix('/')}")

    async def _line(self, prompt: str) -> str:
        """Read a line from the terminal while the conversation goes on."""
        print(printable(prompt).replace("\n", " "), end="", file=sys.stderr, flush=True)
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":
            line = await asyncio.to_thread(sys.stdin.readline)
        else:
            ready = asyncio.Event()
            loop.add_reader(sys.stdin, ready.set)
            try:
                await ready.wait()
            finally:
                loop.remove_reader(sys.stdin)
            line = os.read(sys.stdin.fileno(), 4096).decode(errors="replace")  # one line at most: it is a terminal
        if not line:
            raise EOFError
        return line.strip()


def _spelled(labels: Mapping[str, str]) -> str:
    shown = [value if value == label else f"{value} ({label})" for value, label in labels.items()][:MAX_SHOWN]
    return " | ".join(shown + ["..."] * (len(labels) > MAX_SHOWN))


def _shown(default: object) -> str:
    if is_list(default):
        return ", ".join(map(str, default)) or "none"
    return default if isinstance(default, str) else json.dumps(default)


def _value(name: str, text: str, field: Mapping[str, Any], labels: Mapping[str, str]) -> Any:
    """Read what was typed: values or labels of choices, with commas if there may be several, or a value by its type."""
    if not labels:
        return read_value(name, _WORDS.get(text.lower(), text) if "boolean" in types_of(field, field) else text, field)
    by_label = {label: value for value, label in labels.items()}
    if "array" in types_of(field, field):
        return [by_label.get(part, part) for part in map(str.strip, text.split(",")) if part]
    return by_label.get(text, text) if text not in labels else text

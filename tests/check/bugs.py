"""Bugs in a server, each with the requirement that it breaks: ``python -m check.bugs REVISION NAME`` runs one.

Without a name the server has none; a name in brackets is a fault of the catalogue, as `script_of` spells it.
"""

import json
import re
import sys
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from check.planted_server import TOOL, Refused, Server
from observe.faults import CLIENT, OPENINGS, Fault


def _error(code: Any) -> Callable[[dict[str, Any]], Any]:
    def refuse(params: dict[str, Any]) -> Any:
        raise Refused(code)

    return refuse


def _in_result(method: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Any, Any], Any]:
    def edit(message: Any, answer: Any) -> Any:
        if message["method"] == method and "result" in answer:
            answer["result"] = change(answer["result"])
        return answer

    return edit


Edit: TypeAlias = Callable[[Any, Any], Any]
"""Changes an answer; it also takes the message."""
Plant: TypeAlias = Callable[[Server], Any]


def _edit(edit: Edit, *, pages: bool = True) -> Plant:
    def plant(server: Server) -> None:
        server.edit, server.pages = edit, pages

    return plant


def _notify(answer: Callable[[Any], Any]) -> Plant:
    def plant(server: Server) -> None:
        server.notify = answer

    return plant


def _careless(server: Server) -> None:
    server.checks_levels = False


def _handles(method: str, handler: Callable[[dict[str, Any]], Any]) -> Callable[[Server], None]:
    return lambda server: server.changed.update({method: handler})


def _any_of(name: str) -> dict[str, Any]:
    """Return the tool with a property of any value in one of its schemas."""
    return {**TOOL, name: {**TOOL[name], "properties": {**TOOL[name]["properties"], "any": True}}}


def _without(server: Server, name: str) -> None:
    server.offers = {key: value for key, value in server.offers.items() if key != name}


def _says(text: str) -> Callable[[Any, Any], Any]:
    def edit(message: Any, answer: Any) -> Any:
        print(text, flush=True)
        return answer

    return edit


def _null_error(message: Any) -> Any:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no"}}


def _ends(message: Any, answer: Any) -> Any:
    return sys.exit(3) if message["method"] == "ping" else answer


def _echo(message: Any, answer: Any) -> Any:
    if message["method"] == "initialize":
        answer["result"]["protocolVersion"] = message["params"]["protocolVersion"]
    return answer


OLD, NEW = "2025-11-25", "2026-07-28"
SPACED: Final[dict[str, Any]] = {**TOOL, "name": "a b", "annotations": {"readOnlyHint": False}}
INVALID: Final[dict[str, Any]] = {"type": "object", "properties": {"a": {"type": "int"}}}
OK: Final[dict[str, Any]] = {"content": [], "structuredContent": {"n": 1}}
BUGS: Final[dict[str, tuple[str, str, Callable[[Server], Any]]]] = {
    "noise": (OLD, "stdio.stdout-clean", _edit(edit=_says("Listening."))),
    "half": (OLD, "stdio.one-line", _edit(edit=_says('{"jsonrpc": "2.0",'))),
    "no ping": (OLD, "ping.answered", _handles("ping", _error(-32601))),
    "pong": (OLD, "ping.answered", _handles("ping", lambda params: {"pong": True})),
    "dies": (OLD, "ping.answered", _edit(edit=_ends)),
    "ids as numbers": (
        OLD,
        "messages.answer-id",
        _edit(edit=lambda m, a: {**a, "id": 0 if m["id"] == "a-text" else a["id"]}),
    ),
    "no answer to 0": (OLD, "messages.answer-id", _edit(edit=lambda m, a: a if m["id"] else None)),
    "ASCII ids": (OLD, "stdio.utf-8", _edit(edit=lambda m, a: {**a, "id": "?"} if not str(m["id"]).isascii() else a)),
    "both": (
        OLD,
        "messages.result-or-error",
        _edit(edit=lambda m, a: {**a, "error": {"code": 1, "message": "x"}} if m["method"] == "prompts/list" else a),
    ),
    "code text": (
        OLD,
        "messages.error-members",
        _edit(
            edit=lambda m, a: (
                {**a, "error": {"code": "E", "message": "x"}} if m["method"] == "mcp-bindgen/unknown" else a
            )
        ),
    ),
    "unknown method works": (OLD, "messages.json-rpc", _handles("mcp-bindgen/unknown", lambda params: {})),
    "answers notifications": (OLD, "messages.notification-no-answer", _notify(_null_error)),
    "answers cancellations": (
        OLD,
        "cancellation.invalid-ignored",
        _notify(lambda m: _null_error(m) if m["method"].endswith("cancelled") else None),
    ),
    "undeclared tools": (OLD, "tools.declared", lambda server: _without(server, "tools")),
    "undeclared prompts": (OLD, "prompts.declared", lambda server: _without(server, "prompts")),
    "undeclared resources": (OLD, "resources.declared", lambda server: _without(server, "resources")),
    "undeclared completions": (OLD, "completion.not-supported", lambda server: _without(server, "completions")),
    "any cursor": (
        OLD,
        "pagination.invalid",
        _handles("tools/list", lambda p: {"tools": [TOOL], "nextCursor": "2"} if "cursor" not in p else {"tools": []}),
    ),
    "no schema": (
        OLD,
        "tools.input-schema",
        _edit(edit=_in_result("tools/list", lambda r: {"tools": [{"name": "x"}]})),
    ),
    "invalid schema": (
        OLD,
        "messages.schema-valid",
        _edit(
            pages=False,
            edit=_in_result(
                "tools/list",
                lambda r: {"tools": [{**TOOL, "inputSchema": INVALID}]},
            ),
        ),
    ),
    "name with a space": (
        OLD,
        "tools.name-characters",
        _edit(
            pages=False,
            edit=_in_result("tools/list", lambda r: {"tools": [SPACED]}),
        ),
    ),
    "boolean argument": (
        OLD,
        "robust.schemas",
        _edit(pages=False, edit=_in_result("tools/list", lambda r: {"tools": [_any_of("inputSchema")]})),
    ),
    "boolean result": (
        OLD,
        "robust.schemas",
        _edit(pages=False, edit=_in_result("tools/list", lambda r: {"tools": [_any_of("outputSchema")]})),
    ),
    "name twice": (
        OLD,
        "tools.name-unique",
        _edit(pages=False, edit=_in_result("tools/list", lambda r: {"tools": [TOOL, TOOL]})),
    ),
    "no output": (
        OLD,
        "tools.output-conforms",
        _edit(edit=_in_result("tools/call", lambda r: r if "task" in r or r.get("isError") else {"content": []})),
    ),
    "any arguments": (
        OLD,
        "robust.arguments",
        _handles("tools/call", lambda params: OK if "task" not in params else _error(-32603)(params)),
    ),
    "internal error": (OLD, "tools.errors-in-results", _handles("tools/call", _error(-32603))),
    "no contents": (OLD, "messages.base-protocol", _edit(edit=_in_result("resources/read", lambda r: {}))),
    "unknown prompt": (
        OLD,
        "prompts.unknown",
        _handles(
            "prompts/get", lambda p: {"messages": []} if p["name"] != "teach" or "arguments" in p else _error(-32602)(p)
        ),
    ),
    "missing arguments": (
        OLD,
        "prompts.missing-arguments",
        _handles("prompts/get", lambda p: {"messages": []} if p["name"] == "teach" else _error(-32602)(p)),
    ),
    "unknown resource": (
        OLD,
        "resources.not-found",
        _handles(
            "resources/read",
            lambda p: {"contents": [{"uri": p["uri"], "text": ""}]} if p["uri"] == "note://a" else _error(0)(p),
        ),
    ),
    "any level": (OLD, "logging.invalid-level", _handles("logging/setLevel", lambda p: {})),
    "unknown completion": (
        OLD,
        "completion.invalid-params",
        _handles("completion/complete", lambda p: {"completion": {"values": []}}),
    ),
    "many completions": (
        OLD,
        "completion.at-most-100",
        _edit(edit=_in_result("completion/complete", lambda r: {"completion": {"values": ["a"] * 101}})),
    ),
    "unknown task": (OLD, "tasks.unknown-id", _handles("tasks/cancel", _error(-32603))),
    "any page of tasks": (
        OLD,
        "tasks.unknown-cursor",
        _handles("tasks/list", lambda p: {"tasks": [], **({} if "cursor" in p else {"nextCursor": "2"})}),
    ),
    "echoes the revision": (OLD, "lifecycle.version-other", _edit(edit=_echo)),
    "no name": (
        OLD,
        "lifecycle.initialize-result",
        _edit(edit=_in_result("initialize", lambda r: {k: v for k, v in r.items() if k != "serverInfo"})),
    ),
    "no resultType": (
        NEW,
        "modern.result-type",
        _edit(edit=_in_result("tools/list", lambda r: {k: v for k, v in r.items() if k != "resultType"})),
    ),
    "no ttl": (
        NEW,
        "alone.cache-hints",
        _edit(edit=_in_result("prompts/list", lambda r: {k: v for k, v in r.items() if k != "ttlMs"})),
    ),
    "old code": (NEW, "resources.unknown", _handles("resources/read", _error(-32002))),
    "any level of a request": (NEW, "alone.logs-level", _careless),
    "any revision": (
        NEW,
        "modern.unsupported-version",
        _edit(
            edit=lambda m, a: (
                {**a, "error": {"code": -32600, "message": "no"}} if a.get("error", {}).get("code") == -32022 else a
            )
        ),
    ),
    "any meta": (
        NEW,
        "modern.meta-required",
        _edit(
            edit=lambda m, a: (
                {**a, "error": {"code": -32600, "message": "no"}}
                if a.get("error", {}).get("code") == -32602
                and "name" not in json.dumps(m)
                and "uri" not in json.dumps(m)
                and "cursor" not in json.dumps(m)
                else a
            )
        ),
    ),
    "handshake refused without a hint": (
        NEW,
        "modern.initialize-refused",
        _edit(
            edit=lambda m, a: {**a, "error": {"code": -32601, "message": "no"}} if m["method"] == "initialize" else a
        ),
    ),
}
"""Bugs: the revision of the server, the requirement that it breaks, and how it is planted."""


def script_of(fault: Fault) -> str:
    """Return what the client of a fault declares, and the lines of the server: the request of each, and its id."""
    opening = max((each for each in OPENINGS.values() if fault.lines[: len(each)] == each), key=len)
    asked, script = ("initialize" if fault.requirement == "lifecycle.server-waits" else "", None), list[Any]()
    for sender, line in fault.lines[len(opening) - (fault.requirement == "lifecycle.initialize-result") :]:
        if sender == CLIENT:
            message = json.loads(line)
            asked = (_kind(message), message["id"]) if "id" in message and "method" in message else asked
        else:
            script.append([*asked, line.decode()])
    # The server lists its own tools, unless the list is the fault.
    script = [each for each in script if each[0] != "tools/list" or script[-1][0] == "tools/list"]
    declared: list[str] = list(json.loads(opening[0][1])["params"]["capabilities"]) if opening else []
    undeclared = ("sampling.tools-not-sent", "sampling.tools-declared", "elicitation.no-undeclared-mode")
    for each in script[:-1]:
        each[2] = each[2].replace('"content": []', '"content": [], "structuredContent": {"n": 1}')
    return json.dumps([[] if fault.requirement in undeclared else declared, *script])


def _kind(message: dict[str, Any]) -> str:
    """Return the method of a request, and whether it is to be a task."""
    return str(message["method"]) + (" task" if "task" in message.get("params", {}) else "")


class Player:
    """Plays the lines of a fault, each once, when its request arrives."""

    def __init__(self, script: str) -> None:
        self._declared, *self._lines = json.loads(script)
        self._client: list[str] = []

    def play(self, message: dict[str, Any]) -> bool:
        """Send what is due at a message of the client; return whether it is answered by that."""
        if message["method"] == "initialize":
            self._client = list(message["params"]["capabilities"])
        text, at = json.dumps(message), _kind(message) if "id" in message else ""
        is_answered = False
        while (
            self._lines and self._lines[0][0] == at and "mcp-bindgen-check-unknown" not in text and "loud" not in text
        ):
            _, id_, line = self._lines[0]
            needs = re.match(r'.*"method": "(sampling|elicitation|roots|notifications/elicitation)/', line)
            name = needs[1].rpartition("/")[2] if needs else ""
            if name and (name in self._client) is not (name in self._declared):
                return False
            self._lines.pop(0)
            token = message.get("params", {}).get("_meta", {}).get("progressToken")
            line = line.replace('"progressToken": "t"', f'"progressToken": {json.dumps(token)}') if token else line
            own = f'"id": {json.dumps(id_)}, '
            line = line.replace('"sub"', json.dumps(message.get("id"))).replace(
                '"requestId": 1', f'"requestId": {message.get("id")}'
            )
            if id_ is not None and own in line and "method" not in json.loads(line):
                line, is_answered = line.replace(own, f'"id": {json.dumps(message["id"])}, ', 1), True
            print(line, flush=True)
            if id_ is not None and self._lines and self._lines[0][1] != id_:
                break
        return is_answered


def main(revision: str, name: str = "") -> None:
    server, player = Server(revision), Player(name if name.startswith("[") else "[[]]")
    if name in BUGS:
        BUGS[name][2](server)
    for line in sys.stdin:
        message: Any = json.loads(line)
        if "method" not in message or player.play(message):
            continue
        if (answer := server.answer(message)) is not None:
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

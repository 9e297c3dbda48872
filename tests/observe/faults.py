"""Conversations with one fault each: the lines of a client and a server, and where and why they break the protocol.

`python -m observe.faults LINES` plays the server of one, so that a program can be tested between it and a client.
"""

import json
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

Said: TypeAlias = tuple[str, bytes]
"""The sender of a line, ``>`` for the client and ``<`` for the server, and the line."""

CLIENT, SERVER = ">", "<"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A conversation that breaks the protocol once.

    Attributes:
        name: what the fault is.
        requirement: the id of the requirement that it breaks (schema/requirements).
        lines: all lines in order; the fault is in the last one.
        pointer: where in the message it is, as a JSON pointer.
        reason: a part of the reported reason.
    """

    name: str
    requirement: str
    lines: tuple[Said, ...]
    pointer: str
    reason: str


def call(id_: Any, method: str, params: dict[str, Any] | None = None) -> bytes:
    """Return a request."""
    return _line({"jsonrpc": "2.0", "id": id_, "method": method, **({} if params is None else {"params": params})})


def note(method: str, params: dict[str, Any] | None = None) -> bytes:
    """Return a notification."""
    return _line({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})


def result(id_: Any, value: dict[str, Any]) -> bytes:
    """Return a result."""
    return _line({"jsonrpc": "2.0", "id": id_, "result": value})


def hello(revision: str = "2025-11-25", *, rich: bool = False, bare: bool = False) -> tuple[Said, ...]:
    """Return the handshake of a revision, with roots, tools and logging; if rich, much more; if bare, none."""
    client: dict[str, Any] = {} if bare else {"roots": {"listChanged": True}}
    server: dict[str, Any] = {} if bare else {"tools": {}, "logging": {}}
    if rich:
        client |= {"sampling": {}, "elicitation": {}}
        server |= {"completions": {}, "tasks": {"requests": {"tools": {"call": {}}}}, "tools": {"listChanged": True}}
    return _handshake(revision, client, server)


def _handshake(revision: str, client: dict[str, Any], server: dict[str, Any]) -> tuple[Said, ...]:
    """Return the handshake in which both declare these capabilities."""
    info = {"name": "x", "version": "1"}
    common = {"protocolVersion": revision}
    client_params = {**common, "capabilities": client, "clientInfo": info}
    server_result: dict[str, Any] = {**common, "capabilities": server, "serverInfo": info}
    return (
        (CLIENT, call("hello", "initialize", client_params)),
        (SERVER, result("hello", server_result)),
        (CLIENT, note("notifications/initialized")),
    )


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


OPENINGS: Final = {
    "2025-11-25": hello(),
    "rich": hello(rich=True),
    "bare": hello(bare=True),
    "pages": _handshake(
        "2025-11-25", {"sampling": {"tools": {}}, "elicitation": {"url": {}}}, {"resources": {}, "prompts": {}}
    ),
    "2025-03-26": hello("2025-03-26"),
    "tasks": _handshake(
        "2025-11-25", {}, {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
    ),
    "unconfirmed": hello()[:2],
    "asked": hello()[:1],
    "nothing": (),
}


def _fault(row: dict[str, Any]) -> Fault:
    own = [(line[0], line[2:].encode()) for line in row["said"].splitlines() if line]
    lines = (*OPENINGS[row["after"]], *own)
    return Fault(name=row["name"], requirement=row["requirement"], lines=lines, pointer=row["at"], reason=row["why"])


FAULTS: Final = tuple(map(_fault, tomllib.loads(Path(__file__).with_name("faults.toml").read_text("utf-8"))["fault"]))


def play(lines: list[list[str]]) -> None:
    """Play the server of a conversation: wait for each line of the client, and write the others."""
    for who, line in lines:
        if who == SERVER:
            sys.stdout.buffer.write(line.encode() + b"\n")
            sys.stdout.buffer.flush()
        elif not sys.stdin.buffer.readline():
            return
    sys.stdin.buffer.read()


if __name__ == "__main__":
    play(json.loads(sys.argv[1]))

"""A client that lets the user at the terminal fill in forms, and asks before it opens a web page.

Run it in a terminal: python examples/elicitation_client.py
"""

import argparse
import asyncio
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from terminal import ask

from mcp_bindings import connect_stdio
from mcp_bindings.v2025_11_25 import (
    CallToolResult,
    Client,
    ClientContext,
    ClientHandlers,
    ElicitationCompleteNotificationParams,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    TextContent,
)
from mcp_bindings.v2025_11_25.errors import PeerUrlElicitationRequiredError
from mcp_runtime.client_features import Visits, choices, defaults, inspect_url, problems, required_elicitations

SERVER = Path(__file__).with_name("elicitation_server.py")


class Person(ClientHandlers):
    """Answers with what the person at the terminal types."""

    def __init__(self) -> None:
        self.visits = Visits()

    async def elicit(self, params: ElicitRequestParams, ctx: ClientContext) -> ElicitResult:
        who = str(ctx.connection.peer_info.get("name"))
        if isinstance(params, ElicitRequestURLParams):
            agreed = await self.visit(who, params.message, params.url, params.elicitation_id)
            return ElicitResult(action="accept" if agreed else "decline")
        return await fill_in(who, params)

    async def on_elicitation_complete(self, params: ElicitationCompleteNotificationParams, ctx: ClientContext) -> None:
        self.visits.complete(params.elicitation_id)

    async def visit(self, who: str, message: str, url: str, id_: str) -> bool:
        """Open a page if the user agrees, after showing the whole URL; it is neither fetched nor inspected."""
        view = inspect_url(url)
        warnings = "".join(f"\n  careful: {warning}" for warning in view.warnings)
        text = f"{who} wants you to visit a page at {view.host}:\n  {view.url}{warnings}\n  {message}"
        if await ask(text, "Open it? [y]es, [n]o:") not in ("y", "yes"):
            return False
        self.visits.begin(id_)
        await asyncio.to_thread(webbrowser.open, url)
        return True


async def fill_in(who: str, params: ElicitRequestFormParams) -> ElicitResult:
    """Ask for one field after the other, then show everything before it is sent."""
    schema = params.requested_schema.model_dump(mode="json")
    content: dict[str, Any] = defaults(schema)
    text = f"{who} asks: {params.message}"
    for name, field in schema["properties"].items():
        while True:
            typed = await ask(text, prompt(name, field))
            text = ""
            if typed is None:
                return ElicitResult(action="cancel")
            if typed:
                content[name] = read(field, typed)
            only = {"properties": {name: field}, "required": [n for n in schema.get("required", []) if n == name]}
            wrong = problems(only, content)
            if not wrong:
                break
            text = wrong[0]
    shown = "\n".join(f"  {name}: {value}" for name, value in content.items())
    if await ask(shown, f"Send this to {who}? [y]es, [n]o:") in ("y", "yes"):
        return ElicitResult(action="accept", content=content)
    return ElicitResult(action="decline")


def prompt(name: str, field: Mapping[str, Any]) -> str:
    offered = ", ".join(value if value == label else f"{value} ({label})" for value, label in choices(field).items())
    start = f" [{field['default']}]" if field.get("default") is not None else ""
    return f"{field.get('title', name)}{f' {offered}' if offered else ''}{start}:"


def read(field: Mapping[str, Any], typed: str) -> Any:
    """Convert the input to the type of the field; if that fails it stays text, and validation refuses it."""
    if field["type"] == "boolean":
        return {"y": True, "yes": True, "n": False, "no": False}.get(typed.lower(), typed)
    if field["type"] == "array":
        return typed.replace(",", " ").split()
    if field["type"] in ("integer", "number"):
        try:
            return float(typed) if "." in typed else int(typed)
        except ValueError:
            return typed
    return typed


async def call(client: Client, person: Person, tool: str) -> CallToolResult | None:
    """Call a tool; if it requires a visit to a web page first, call it again after that."""
    for _ in range(3):
        try:
            return await client.call_tool(name=tool)
        except PeerUrlElicitationRequiredError as error:
            for page in required_elicitations(error):
                if not await person.visit(client.connection.peer_info["name"], page.message, page.url, page.id):
                    return None
                if not await person.visits.wait(page.id, timeout=300):
                    await ask("The server did not say that this is done.", "Press Enter to go on:")
    return None


async def main(tools: list[str]) -> None:
    person = Person()
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, handlers=person)
        for tool in tools:
            result = await call(client, person, tool)
            blocks = result.content if result else []
            print(f"{tool}:", *(block.text for block in blocks if isinstance(block, TextContent)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", nargs="*", default=["tea", "cellar"])
    asyncio.run(main(**vars(parser.parse_args())))

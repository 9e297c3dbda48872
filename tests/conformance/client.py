"""The client that the official conformance suite starts: it uses everything that a server offers.

    python -m conformance.client URL        # in tests/

It calls every listed tool, with arguments from the suite or generated from the tool's schema,
reads every resource and gets every prompt. It does not know the scenario, and has no special case for any name.
"""

import asyncio
import json
import os
import sys
from functools import partial
from typing import Any

import httpx2

from mcp_bindings import v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_runtime.auth import ClientCredentials, JwtBearer, OAuth, Registered
from mcp_runtime.client_features.forms import defaults
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.extensions.skills import iter_skills, load_skill
from mcp_runtime.opening import open_any
from mcp_runtime.tools import list_items, list_tools

SKILLS = "io.modelcontextprotocol/skills"
SAMPLES: dict[str, Any] = {"string": "tea", "integer": 2, "number": 3.5, "boolean": True, "array": []}
"""A value of each type of JSON Schema but objects."""


def filled_in(params: Any) -> dict[str, Any]:
    """Return the defaults of a form."""
    return defaults(params.model_dump(mode="json")["requestedSchema"])


class Answers20250618(v2025_06_18.ClientHandlers):
    """Accepts forms with their defaults."""

    async def elicit(self, params: Any, ctx: Any) -> Any:
        return v2025_06_18.ElicitResult(action="accept", content=filled_in(params))


class Answers20251125(v2025_11_25.ClientHandlers):
    """Accepts forms with their defaults."""

    async def elicit(self, params: Any, ctx: Any) -> Any:
        return v2025_11_25.ElicitResult(action="accept", content=filled_in(params))


class Answers20260728(v2026_07_28.ClientHandlers):
    """Accepts forms with their defaults."""

    async def elicit(self, params: Any, ctx: Any) -> Any:
        return v2026_07_28.ElicitResult(action="accept", content=filled_in(params))


async def main(url: str) -> None:
    """Use a server."""
    clients = v2026_07_28.Client, v2025_11_25.Client, v2025_06_18.Client, v2025_03_26.Client
    handlers = Answers20260728(), Answers20251125(), Answers20250618()
    async with connect_http(url, auth=await authorizer(url)) as peer:
        options = ClientOptions(name="conformance", timeout=60)
        client = await open_any(peer, *clients, handlers=handlers, options=options)
        declared = client.connection.declared[Side.SERVER]
        if "tools" in declared:
            await call_tools(client)
        if SKILLS in (declared.get("extensions") or {}):
            await use_skills(client)
        elif "resources" in declared:
            async for resource in list_items(client, "resources/list", "resources"):
                print(await client.read_resource(uri=resource["uri"]))
        if "prompts" in declared:
            async for prompt in list_items(client, "prompts/list", "prompts"):
                print(await client.get_prompt(name=prompt["name"]))


async def authorizer(url: str) -> Any:
    """Return what obtains tokens, with what the scenario gives it."""
    given: dict[str, str] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "private_key_pem" in given:
        return ClientCredentials(given["client_id"], issuer=await issuer_of(url), key=given["private_key_pem"])
    if "idp_id_token" in given:
        secret, assertion = given["client_secret"], partial(identity, given)
        return JwtBearer(given["client_id"], issuer=await issuer_of(url), secret=secret, assertion=assertion)
    if "valid_jwt" in given:
        return JwtBearer(
            given["client_id"], issuer=await issuer_of(url), assertion=partial(workload, given), is_workload=True
        )
    if "issuer" in given:
        return OAuth(client=Registered(given["client_id"], given["issuer"], given["client_secret"]), visit=visit)
    if "client_secret" in given:
        return ClientCredentials(given["client_id"], issuer=await issuer_of(url), secret=given["client_secret"])
    return OAuth(visit=visit, document="https://conformance-test.local/client-metadata.json")


async def visit(url: str) -> str:
    """Sign in: the issuer asks nothing, and redirects at once."""
    async with httpx2.AsyncClient() as http:
        return str((await http.get(url)).headers["location"])


async def issuer_of(url: str) -> str:
    """Return the issuer of a server. The suite does not name it where a program would have it configured."""
    async with httpx2.AsyncClient() as http:
        parts = httpx2.URL(url)
        found = await http.get(parts.copy_with(path=f"/.well-known/oauth-protected-resource{parts.path}"))
        return str(found.json()["authorization_servers"][0])


async def identity(given: dict[str, str], issuer: str, resource: str) -> str:
    """Exchange the person's token for an assertion (RFC 8693)."""
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "subject_token": given["idp_id_token"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": issuer,
        "resource": resource,
        "client_id": given["idp_client_id"],
    }
    async with httpx2.AsyncClient() as http:
        return str((await http.post(given["idp_token_endpoint"], data=form)).json()["access_token"])


async def workload(given: dict[str, str], issuer: str, resource: str) -> str:
    """Return the assertion of the workload."""
    return given["valid_jwt"]


async def use_skills(client: Any) -> None:
    """List skills, and load each where the suite serves some that must be refused."""
    async for entry in iter_skills(client):
        print(entry.uri)
        if "verify" in os.environ.get("MCP_CONFORMANCE_SCENARIO", ""):
            skill = await load_skill(client, entry)
            for file in entry.resources:
                await skill.read(file.uri.removeprefix(entry.uri.removesuffix("SKILL.md")))


async def call_tools(client: Any) -> None:
    """Call every tool; a server may list tools that it does not have."""
    tools = [tool async for tool in list_tools(client)]
    wanted: list[dict[str, Any]] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls", [])
    given = {call["name"]: call["arguments"] for call in wanted}
    for tool in tools:
        made = arguments_of(tool["inputSchema"], like=tools[0]["inputSchema"])
        try:
            result = await client.call_tool(name=tool["name"], arguments=given.get(tool["name"], made))
            print(f"{tool['name']}: {result.model_dump_json()}")
        except PeerError as error:
            print(f"{tool['name']}: {error}")


def arguments_of(schema: dict[str, Any], *, like: Any) -> dict[str, Any]:
    """Make arguments for a tool: a sample for each required one; objects are like a given one."""
    properties: dict[str, Any] = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    return {name: SAMPLES.get(properties.get(name, {}).get("type"), like) for name in required}


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

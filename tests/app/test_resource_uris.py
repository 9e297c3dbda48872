"""Resources are found by every spelling of their URI that means the same, and by no other."""

import asyncio
import random
from importlib import import_module
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime import is_subscribed, requires_scopes, resource_updated
from mcp_runtime.app.uri_templates import UriTemplate
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.functions import scopes_of
from mcp_runtime.core.handlers import connections_of
from mcp_runtime.core.protocol.uris import canonical
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.memory import connect_memory

UNRESERVED = "abzAZ09-._~"
OTHERS = " éßñ漢字шЖא🙂"
RESERVED = "/?#[]@!$&'()*+,;=:%"


def escaped(character: str, chance: random.Random) -> str:
    digits = "".join(f"%{byte:02x}" for byte in character.encode())
    return "".join(each.upper() if chance.random() < 0.5 else each for each in digits)


def segment(chance: random.Random) -> str:
    return "x" + "".join(chance.choices(UNRESERVED + OTHERS, k=chance.randint(1, 8)))


def spelling(text: str, chance: random.Random) -> str:
    """Return another spelling of the same: any characters that may be escaped are, in either case."""
    free = UNRESERVED + OTHERS
    return "".join(escaped(each, chance) if each in free and chance.random() < 0.5 else each for each in text)


def reader(text: Any) -> Any:
    def read() -> Any:
        return text

    return read


def taker(name: str) -> Any:
    def read(item: str, filter: str = "") -> str:
        return f"{name}: {item} {filter}"

    return read


async def text_of(client: Any, uri: str) -> str:
    """Return the text of a resource; empty if it is not found."""
    try:
        [found] = (await client.read_resource(uri=uri)).contents
    except PeerError as error:
        assert error.code == (-32602 if client.connection.revision == "2026-07-28" else -32002)
        return ""
    assert found.uri == uri, "contents carry the URI of the client"
    return str(found.text)


@pytest.mark.parametrize("revision", ["2024_11_05", "2025_11_25", "2026_07_28"])
@pytest.mark.parametrize("seed", range(4))
async def test_every_spelling_is_the_same_resource(seed: int, revision: str) -> None:
    chance = random.Random(seed)
    names = list({canonical(name): name for name in (segment(chance) for _ in range(8))})
    app: Any = modern.App("x")
    for name in names:
        app.resource(f"fixed://x/{spelling(name, chance)}")(reader(name))
        app.resource(f"many://{spelling(name, chance)}/{{item}}{{?filter}}")(taker(name))
    async with connect_memory(app) as peer:
        client = await import_module(f"mcp_bindings.v{revision}").Client.open(peer)
        for name in names:
            for _ in range(3):
                item, kind = segment(chance), segment(chance)
                assert await text_of(client, f"fixed://x/{spelling(name, chance)}") == name
                uri = spelling(f"{name}/{item}?filter=", chance)
                uri = "many://" + uri.replace(escaped("f", chance), "f") + spelling(kind, chance)
                assert await text_of(client, uri) == f"{name}: {item} {kind}"
                assert await text_of(client, f"{uri}#{segment(chance)}") == f"{name}: {item} {kind}"


@pytest.mark.parametrize("character", [*RESERVED, "\\"])
async def test_reserved_characters_and_their_escapes_are_different(character: str) -> None:
    app: Any = modern.App("x")
    app.resource(f"n://x/a%{ord(character):02X}b")(reader("escaped"))
    async with connect_memory(app) as peer:
        client = await modern.Client.open(peer)
        assert await text_of(client, f"n://x/a%{ord(character):02x}b") == "escaped"
        assert await text_of(client, f"n://x/a{character}b") == ""


@pytest.mark.parametrize(
    "uri",
    ["n://x/./caf%C3%A9", "n://x/y/../café", "n://x/%2E/café", "N://x/café", "n://X/café", "n://x/café/", "n://x/cafe"],
)
async def test_nothing_else_is_changed(uri: str) -> None:
    app: Any = modern.App("x")
    app.resource("n://x/café")(reader("found"))
    async with connect_memory(app) as peer:
        assert await text_of(await modern.Client.open(peer), uri) == ""


async def test_an_exact_match_is_first_and_two_others_are_none() -> None:
    app: Any = modern.App("x")
    app.resource("n://caf%C3%A9")(reader("upper"))
    app.resource("n://caf%c3%a9")(reader("lower"))
    app.resource("n://{any}")(taker_of_one())
    async with connect_memory(app) as peer:
        client = await modern.Client.open(peer)
        assert [await text_of(client, uri) for uri in ("n://caf%C3%A9", "n://caf%c3%a9")] == ["upper", "lower"]
        with pytest.raises(PeerError, match=r"several resources match it \(n://caf%C3%A9, n://caf%c3%a9\)"):
            await client.read_resource(uri="n://café")
        app.remove_resource("n://caf%c3%a9")
        assert await text_of(client, "n://café") == "upper", "a resource comes before templates"
        app.remove_resource("n://caf%C3%A9")
        assert await text_of(client, "n://caf%C3%A9") == "any café"


def taker_of_one() -> Any:
    def read(any: str) -> str:
        return f"any {any}"

    return read


@pytest.mark.parametrize("whole", [False, True])
async def test_contents_of_an_author_get_the_uri_of_the_client_and_the_metadata(whole: bool) -> None:
    app: Any = modern.App("x")

    def read() -> Any:
        mine = modern.TextResourceContents(uri="n://café", text="a", meta={"own": 1})
        found = [mine, modern.TextResourceContents(uri="n://caf%C3%A9", text="b")]
        found.append(modern.TextResourceContents(uri="n://café/part", text="c"))
        return modern.ReadResourceResult(contents=list(found), ttl_ms=0, cache_scope="private") if whole else found

    app.resource("n://café", meta={"ui": {"a": [1]}})(read)
    async with connect_memory(app) as peer:
        client = await modern.Client.open(peer)
        found = (await client.read_resource(uri="n://caf%c3%a9")).model_dump(mode="json")["contents"]
    assert [each["uri"] for each in found] == ["n://caf%c3%a9", "n://caf%c3%a9", "n://café/part"]
    assert [each.get("_meta") for each in found] == [{"own": 1}, {"ui": {"a": [1]}}, None]


@pytest.mark.parametrize("revision", ["2024_11_05", "2025_03_26", "2025_06_18", "2025_11_25", "2026_07_28"])
@pytest.mark.parametrize("value", ["<html>", b"<html>", {"a": 1}])
async def test_metadata_is_in_the_list_and_in_the_contents(revision: str, value: Any) -> None:
    meta = {"ui": {"csp": {"connectDomains": ["https://api.example.com"]}}}
    app: Any = modern.App("x")
    app.resource("ui://w", meta=meta)(reader(value))
    app.resource("ui://w/{item}", meta=meta)(taker_of(value))
    async with connect_memory(app) as peer:
        client = await import_module(f"mcp_bindings.v{revision}").Client.open(peer)
        assert (await client.list_resources()).model_dump(mode="json")["resources"][0]["_meta"] == meta
        for uri in ("ui://w", "ui://w/a"):
            [found] = (await client.read_resource(uri=uri)).model_dump(mode="json")["contents"]
            assert found["_meta"] == meta


def taker_of(value: Any) -> Any:
    def read(item: str) -> Any:
        return value

    return read


async def test_scopes_belong_to_the_entry_whatever_the_spelling() -> None:
    app: Any = modern.App("x")
    app.resource("n://secret café")(requires_scopes("deep")(reader("secret")))

    @requires_scopes("wide", only=["n://secret café"])
    async def read(params: Any, ctx: Any) -> None: ...

    chance = random.Random(5)
    for _ in range(8):
        uri = f"n://{spelling('secret café', chance)}"
        assert app.__scopes_for__("resources/read", uri) == ("deep",)
        assert scopes_of(read, uri) == ("wide",)
    assert app.__scopes_for__("resources/read", "n://secret%2Fcafé") == scopes_of(read, "n://secret%2Fcafé") == ()


class Watched(legacy.Server):
    """Lets clients of either era watch its resources."""

    options = ServerOptions(resource_updates=True)

    async def list_resources(self, params: Any, ctx: Any) -> Any:
        return legacy.ListResourcesResult(resources=[])

    async def read_resource(self, params: Any, ctx: Any) -> Any:
        return legacy.ReadResourceResult(contents=[])

    async def subscribe(self, params: Any, ctx: Any) -> Any:
        return legacy.EmptyResult()

    async def unsubscribe(self, params: Any, ctx: Any) -> Any:
        return legacy.EmptyResult()


@pytest.mark.parametrize("seed", range(6))
async def test_updates_carry_the_uri_of_the_client(seed: int) -> None:
    chance = random.Random(seed)
    name, part = segment(chance), segment(chance)
    known, own = f"n://{spelling(name, chance)}", f"n://{spelling(name, chance)}"
    server = Watched()
    async with connect_memory(server) as peer:
        client = await legacy.Client.open(peer)
        updates: Any = client.connection.notifications(legacy.methods.NOTIFICATIONS_RESOURCES_UPDATED)
        await client.subscribe(uri=own)
        [connection] = connections_of(server)
        assert is_subscribed(connection, known) and not is_subscribed(connection, f"{known}%2F{part}")
        assert await resource_updated(server, known) == 1
        assert await resource_updated(server, f"{known}/{part}") == 1
        assert await resource_updated(server, f"{known}x") == 0
        async with asyncio.timeout(10):
            whole, inner = (await anext(updates)).uri, (await anext(updates)).uri
        assert whole == own
        assert inner.startswith(f"{own}/") and canonical(inner) == canonical(f"n://{name}/{part}")
        await client.unsubscribe(uri=known)
        assert await resource_updated(server, own) == 0


@pytest.mark.parametrize("seed", range(6))
async def test_so_do_those_of_clients_that_listen(seed: int) -> None:
    chance = random.Random(seed)
    name = segment(chance)
    known, own = f"n://{spelling(name, chance)}", f"n://{spelling(name, chance)}"
    app: Any = modern.App("x", options=ServerOptions(resource_updates=True))
    app.resource(known)(reader("x"))
    async with connect_memory(app) as peer:
        client = await modern.Client.open(peer)
        async with await client.listen(resources=[own]) as changes:
            assert await resource_updated(app, known) == 1
            async with asyncio.timeout(10):
                assert (await anext(changes)).uri == own


@pytest.mark.parametrize("template", ["{}", "{{?{}}}"])
@pytest.mark.parametrize("number", [20, 21, 200])
def test_a_template_has_at_most_twenty_variables(template: str, number: int) -> None:
    names = [f"v{each}" for each in range(number)]
    path = "/".join(f"{{{name}}}" for name in names)
    uri = "note://" + template.format(",".join(names) if "?" in template else path)
    if number > 20:
        with pytest.raises(ValueError, match="there may be 20"):
            UriTemplate(uri)
    else:
        assert UriTemplate(uri).names == tuple(names)

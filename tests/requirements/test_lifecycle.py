"""The lifecycle (basic/lifecycle): the handshake, the revision in use, timeouts."""

import asyncio
import json
from typing import Any

import pytest

from mcp_bindgen.check.requirements import LEGACY
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import (
    LocalProtocolError,
    MissingCapability,
    PeerError,
    RequestTimeout,
    UnsupportedRevision,
)
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.extensions.tasks import Tasks
from mcp_runtime.extensions.vendor import vendor_request
from mcp_runtime.memory import memory_pair
from mcp_runtime.opening import open_any
from support.own import OWN, own
from support.roles import TEXT, Hold, RawServer, answering, make_handlers, make_server, returns
from support.talk import Raw, bindings, raw, talk
from support.tasking import quick

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement

ANYTHING: type[dict[str, Any]] = dict
INFO = {"name": "raw", "version": "0"}


@requirement("lifecycle.initialize-first")
async def test_a_server_refuses_requests_before_the_handshake(revision: str) -> None:
    async with raw(own(make_server(revision, list_tools=returns("ListToolsResult", tools=[])))) as line:
        error = (await line.ask("tools/list"))["error"]
        assert error["code"] == -32600 and "initialize first" in error["message"]
        await line.shake_hands(revision)
        assert (await line.ask("tools/list", id_=2))["result"] == {"tools": []}


@requirement("lifecycle.initialize-first", "lifecycle.initialize-params", "lifecycle.initialized")
async def test_a_client_begins_identifies_itself_and_confirms(revision: str) -> None:
    handlers = make_handlers(revision, create_message=returns("CreateMessageResult"))
    async with answering(revision, handlers=handlers, name="me", version="3") as server:
        first, second = server.got
        assert first["method"] == "initialize"
        assert first["params"] == {
            "protocolVersion": revision,
            "capabilities": {"sampling": {}},
            "clientInfo": {"name": "me", "version": "3"},
        }
        assert second == {"jsonrpc": "2.0", "method": "notifications/initialized"}


@requirement("lifecycle.initialize-result")
async def test_a_server_declares_its_capabilities_and_identity(revision: str) -> None:
    options = ServerOptions(name="me", version="3", instructions="Ask.")
    async with raw(make_server(revision, options, list_tools=returns("ListToolsResult", tools=[]))) as line:
        assert await line.shake_hands(revision) == {
            "protocolVersion": revision,
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "me", "version": "3"},
            "instructions": "Ask.",
        }


@requirement("lifecycle.client-waits")
async def test_a_client_asks_nothing_before_it_is_answered(revision: str) -> None:
    here, there = memory_pair()
    server = Raw(None)  # type: ignore[arg-type]  # a peer that says nothing has no connection
    await there.start(server)
    server.send = there.send
    peer = Peer(here)
    opening = asyncio.create_task(bindings(revision).Client.open(peer))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [message["method"] for message in server.got] == ["initialize"]
    assert peer.connection is not None and peer.connection.binding is not None
    methods = peer.connection.binding.methods
    with pytest.raises((LocalProtocolError, MissingCapability)):
        await peer.connection.request(methods["tools/list"], None, None)  # type: ignore[arg-type]
    with pytest.raises(LocalProtocolError, match="not allowed in state 'initializing'"):
        await peer.connection.request(vendor_request("acme/x", None, ANYTHING), None, None)
    ping = asyncio.create_task(peer.connection.request(vendor_request("ping", None, ANYTHING), None, None))
    await asyncio.sleep(0)
    assert [message["method"] for message in server.got] == ["initialize", "ping"]
    for task in (opening, ping):
        task.cancel()
    await asyncio.wait((opening, ping))


@requirement("lifecycle.server-waits")
async def test_a_server_asks_nothing_before_the_confirmation(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        capabilities: dict[str, Any] = {"roots": {}, "sampling": {}}
        params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": INFO}
        await line.ask("initialize", params, id_="hello")
        with pytest.raises(LocalProtocolError, match="not allowed in state 'initialized'"):
            await line.server.stub.list_roots()
        await line.server.log("info", "early")
        pinging = asyncio.create_task(line.server.request(vendor_request("ping", None, ANYTHING), None, None))
        await asyncio.sleep(0)
        assert [message["method"] for message in line.got[1:]] == ["notifications/message", "ping"]
        line.tell(method="notifications/initialized")
        line.tell(id=line.got[-1]["id"], result={})
        await pinging
        asking = asyncio.create_task(line.server.stub.list_roots())
        await asyncio.sleep(0)
        assert line.got[-1]["method"] == "roots/list"
        asking.cancel()


@requirement("lifecycle.server-waits")
async def test_changes_are_sent_to_confirmed_clients_only(revision: str) -> None:
    server = make_server(
        revision,
        ServerOptions(list_changed=True),
        list_resources=returns("ListResourcesResult", resources=[]),
        subscribe=returns("EmptyResult"),
    )
    async with raw(server) as early, raw(server) as ready:
        await early.ask(
            "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": INFO}, id_="hello"
        )
        await ready.shake_hands(revision)
        for line in (early, ready):
            await line.ask("resources/subscribe", {"uri": "file:///x"}, id_=2)
        assert await list_changed(server, "resources") == 1
        assert await resource_updated(server, "file:///x") == 1
        received = [[message["method"] for message in line.got if "method" in message] for line in (early, ready)]
        assert received == [[], ["notifications/resources/list_changed", "notifications/resources/updated"]]


@requirement("lifecycle.version-supported")
async def test_a_client_asks_for_its_own_revision(revision: str) -> None:
    async with answering(revision) as server:
        assert server.got[0]["params"]["protocolVersion"] == revision == bindings(revision).REVISION


@requirement("lifecycle.version-latest")
async def test_a_client_of_several_asks_for_the_newest(revision: str) -> None:
    others = [other for other in LEGACY if other <= revision]
    if len(others) == 1:
        async with answering(revision) as server:
            assert server.got[0]["params"]["protocolVersion"] == revision
        return
    here, there = memory_pair()
    server = RawServer(others[0], {})
    server.send = there.send
    await there.start(server)
    clients = [bindings(other).Client for other in others]
    client: Any = await open_any(Peer(here), *clients)
    assert server.got[0]["params"]["protocolVersion"] == revision
    assert client.connection.revision == others[0]
    await client.connection.aclose()


@requirement("lifecycle.version-echo", "lifecycle.one-version")
async def test_a_server_of_all_revisions_answers_with_the_same(revision: str) -> None:
    async with raw(*(make_server(other) for other in LEGACY)) as line:
        assert (await line.shake_hands(revision))["protocolVersion"] == revision
        assert line.server.revision == revision


@requirement("lifecycle.version-other")
@pytest.mark.parametrize("wanted", ["2026-07-28", "1.0.0", ""])
async def test_a_server_answers_with_a_revision_that_it_supports(revision: str, wanted: str) -> None:
    async with raw(own(make_server(revision))) as line:
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": info}
        assert (await line.ask("initialize", params))["result"]["protocolVersion"] == revision


@requirement("lifecycle.version-other-latest")
async def test_a_server_offers_its_newest_revision(revision: str) -> None:
    async with raw(*(own(make_server(other)) for other in LEGACY if other <= revision)) as line:
        assert (await line.shake_hands("1.0.0"))["protocolVersion"] == revision


@requirement("lifecycle.version-disconnect", "lifecycle.error-version")
async def test_a_client_disconnects_from_a_server_of_another_revision(revision: str) -> None:
    other = next(each for each in LEGACY if each != revision)
    here, there = memory_pair()
    server = await start_server(there, own(make_server(other)))
    with pytest.raises(UnsupportedRevision, match=f"speaks {revision}, the peer speaks {other}"):
        await bindings(revision).Client.open(Peer(here), options=OWN)
    assert await server.wait_closed() == "the peer closed the connection"


@requirement("lifecycle.error-version")
async def test_a_refusal_that_names_other_revisions_is_understood(revision: str) -> None:
    here, there = memory_pair()
    server = Raw(None)  # type: ignore[arg-type]
    server.send = there.send
    await there.start(server)
    opening = asyncio.create_task(bindings(revision).Client.open(Peer(here)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    data = {"supported": ["1.0.0"], "requested": revision}
    server.tell(id=server.got[0]["id"], error={"code": -32602, "message": "Unsupported", "data": data})
    with pytest.raises(UnsupportedRevision, match=r"the peer speaks 1\.0\.0"):
        await opening


@requirement("lifecycle.one-version", "lifecycle.respect-version")
async def test_the_revision_cannot_be_changed(revision: str) -> None:
    async with raw(*(make_server(other) for other in LEGACY)) as line:
        await line.shake_hands(revision)
        params = {"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": INFO}
        assert (await line.ask("initialize", params, id_=2))["error"]["code"] == -32600
        assert line.server.revision == revision


@requirement("lifecycle.respect-version")
async def test_features_of_newer_revisions_are_absent(revision: str) -> None:
    """A server of all revisions answers in the negotiated one."""
    servers = [make_server(other, call_tool=returns("CallToolResult", content=[TEXT])) for other in LEGACY]
    async with raw(*servers) as line:
        await line.shake_hands(revision, tasks={}, elicitation={})
        assert (await line.ask("tasks/list", {}, id_=2))["error"]["code"] == -32601
        assert line.server.binding is not None
        methods = line.server.binding.methods
        assert ("elicitation/create" in methods) is (revision >= "2025-06-18")
        assert ("tasks/list" in methods) is (revision >= "2025-11-25")
        line.send(json.dumps([{"jsonrpc": "2.0", "id": 3, "method": "ping"}]).encode())
        assert isinstance(line.got[-1], list) is (revision == "2025-03-26")


@requirement("lifecycle.respect-version")
async def test_features_of_newer_revisions_are_not_answered_by_clients(revision: str) -> None:
    newest = LEGACY[-1]
    server = RawServer(revision, {"tasks": {}})
    here, there = memory_pair()
    server.send = there.send
    await there.start(server)
    handlers = [make_handlers(newest, create_message=returns("CreateMessageResult"), elicit=returns("ElicitResult"))]
    options = ClientOptions(extensions=[Tasks(quick())])
    others = [other for other in LEGACY if other != newest][:2]
    clients = [bindings(each).Client for each in {revision, newest, *others}]
    client: Any = await open_any(Peer(here), *clients, handlers=handlers, options=options)
    assert client.connection.revision == revision
    assert server.got[0]["params"]["protocolVersion"] == newest
    assert ("result" in await server.ask("tasks/list", {}, id_="s1")) is (revision == newest)
    if revision < "2025-06-18":
        assert (await server.ask("elicitation/create", {"message": "m"}, id_="s2"))["error"]["code"] == -32601
    await client.connection.aclose()


@requirement("lifecycle.respect-capabilities", "lifecycle.error-capabilities")
async def test_a_client_sends_nothing_that_was_not_declared(revision: str) -> None:
    async with talk(make_server(revision, ServerOptions(logging=False))) as both:
        before = len(both.sent)
        client = both.client
        calls = [client.list_tools, client.list_prompts, client.list_resources, client.list_resource_templates]
        for call in calls:
            with pytest.raises(MissingCapability, match="the peer did not declare"):
                await call()
        for name, arguments in (("subscribe", {"uri": "x:y"}), ("set_level", {"level": "info"})):
            with pytest.raises(MissingCapability):
                await getattr(client, name)(**arguments)
        assert len(both.sent) == before


@requirement("lifecycle.respect-capabilities")
async def test_a_flag_that_is_false_declares_nothing(revision: str) -> None:
    async with answering(revision, capabilities={"resources": {"subscribe": False}}) as server:
        with pytest.raises(MissingCapability, match=r"server\.resources\.subscribe"):
            await server.client.subscribe(uri="file:///x")
        listing = asyncio.create_task(server.client.list_resources())
        server.tell(id=(await server.asked("resources/list"))["id"], result={"resources": []})
        await listing


@requirement("lifecycle.respect-capabilities")
async def test_a_server_sends_nothing_that_was_not_declared(revision: str) -> None:
    async with raw(make_server(revision, ServerOptions(logging=False))) as line:
        await line.shake_hands(revision)
        before = len(line.got)
        with pytest.raises(MissingCapability, match=r"client\.roots"):
            await line.server.stub.list_roots()
        binding = line.server.binding
        assert binding is not None
        for name in ("notifications/message", "notifications/tools/list_changed", "notifications/resources/updated"):
            with pytest.raises(MissingCapability):
                await line.server.notify(binding.methods[name], None)  # type: ignore[arg-type]
        assert len(line.got) == before


@requirement("lifecycle.respect-capabilities")
async def test_undeclared_methods_are_not_answered(revision: str) -> None:
    async with raw(make_server(revision, ServerOptions(logging=False))) as line:
        await line.shake_hands(revision)
        for id_, method in enumerate(("tools/list", "prompts/list", "resources/list", "logging/setLevel")):
            assert (await line.ask(method, {}, id_=id_))["error"]["code"] == -32601
    async with answering(revision) as server:
        for id_, method in enumerate(("roots/list", "sampling/createMessage")):
            assert (await server.ask(method, {}, id_=f"s{id_}"))["error"]["code"] == -32601


@requirement("lifecycle.respect-capabilities")
async def test_a_handler_with_a_withdrawn_capability_is_not_called(revision: str) -> None:
    options = ServerOptions(capabilities={"tools": None})
    async with raw(make_server(revision, options, list_tools=returns("ListToolsResult", tools=[]))) as line:
        assert "tools" not in (await line.shake_hands(revision))["capabilities"]
        assert (await line.ask("tools/list"))["error"]["code"] == -32601


@requirement("lifecycle.error-capabilities")
async def test_a_client_can_require_a_capability(revision: str) -> None:
    here, there = memory_pair()
    server = await start_server(there, make_server(revision))
    with pytest.raises(MissingCapability, match="this client needs the capability tools"):
        await bindings(revision).Client.open(Peer(here), require=["tools"])
    assert await server.wait_closed() == "the peer closed the connection"


@requirement("lifecycle.timeouts", "lifecycle.error-timeout")
async def test_every_request_has_a_timeout_including_the_handshake(revision: str) -> None:
    async with answering(revision, timeout=0.02) as server:
        with pytest.raises(RequestTimeout, match=r"ping: no answer within 0\.02 s"):
            await server.client.ping()
    here, there = memory_pair()
    with pytest.raises(RequestTimeout, match="initialize"):
        await bindings(revision).Client.open(Peer(here), options=ClientOptions(timeout=0.02))
    await there.close()


@requirement("lifecycle.timeouts")
async def test_requests_of_a_server_have_a_timeout_too(revision: str) -> None:
    async with raw(make_server(revision, ServerOptions(timeout=0.02))) as line:
        await line.shake_hands(revision)
        with pytest.raises(RequestTimeout):
            await line.server.request(vendor_request("ping", None, ANYTHING), None, None)


@requirement("lifecycle.timeout-cancels", "lifecycle.timeout-per-request")
async def test_each_request_can_have_its_own_timeout_which_cancels_it(revision: str) -> None:
    async with answering(revision, timeout=60) as server:
        with pytest.raises(RequestTimeout):
            await server.client.ping(options=CallOptions(timeout=0.02))
        asked = await server.asked("ping")
        last = server.got[-1]
        assert last["method"] == "notifications/cancelled" and last["params"]["requestId"] == asked["id"]
        server.tell(id=asked["id"], result={})
        assert not server.errors and server.client.connection.open_requests == 0


@requirement("lifecycle.timeout-maximum")
async def test_progress_does_not_extend_the_maximum_time(revision: str) -> None:
    async with answering(revision) as server:
        seen: list[float] = []
        options = CallOptions(
            timeout=0.3, max_time=0.6, progress=lambda progress, total, message: seen.append(progress)
        )
        call = asyncio.create_task(server.client.ping(options=options))
        token = (await server.asked("ping"))["params"]["_meta"]["progressToken"]
        for progress in range(16):
            server.tell(method="notifications/progress", params={"progressToken": token, "progress": progress})
            await asyncio.sleep(0.05)
        with pytest.raises(RequestTimeout, match=r"0\.6 s"):
            await call
        assert 5 <= len(seen) < 16


@requirement("lifecycle.error-timeout")
async def test_a_request_that_is_not_answered_harms_no_other(revision: str) -> None:
    hold = Hold()
    server = make_server(revision, call_tool=hold.handler, list_tools=returns("ListToolsResult", tools=[]))
    async with talk(server) as both:
        with pytest.raises(RequestTimeout):
            await both.client.call_tool(name="slow", options=CallOptions(timeout=0.02))
        assert (await both.client.list_tools()).tools == []
        with pytest.raises(PeerError):
            await both.client.connection.request(vendor_request("no/such", None, ANYTHING), None, None)

"""Completion (server/utilities/completion)."""

import asyncio
from typing import Any

import pytest

from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.middleware.rate_limit import RATE_LIMITED, RateLimit
from support.roles import answering, make_server, raises, returns
from support.talk import bindings, raw

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
PARAMS: dict[str, Any] = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "py"}}
SOME = returns("CompleteResult", completion={"values": ["python"], "total": 1, "hasMore": False})


@requirement("completion.declared")
async def test_servers_with_completions_declare_them(revision: str) -> None:
    async with raw(make_server(revision, complete=SOME)) as line:
        assert (await line.shake_hands(revision))["capabilities"]["completions"] == {}
        assert (await line.ask("completion/complete", PARAMS))["result"]["completion"]["values"] == ["python"]
    async with raw(make_server(revision)) as line:
        assert "completions" not in (await line.shake_hands(revision))["capabilities"]


@requirement("completion.not-supported")
async def test_servers_without_completions_refuse_them(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        assert (await line.ask("completion/complete", PARAMS))["error"]["code"] == -32601


@requirement("completion.invalid-params")
async def test_params_that_cannot_be_completed(revision: str) -> None:
    async with raw(make_server(revision, complete=raises(PeerError(-32602, "unknown prompt")))) as line:
        await line.shake_hands(revision)
        for id_, params in enumerate((PARAMS, {"ref": PARAMS["ref"]}, {"argument": PARAMS["argument"]}, {})):
            assert (await line.ask("completion/complete", params, id_=id_))["error"]["code"] == -32602


@requirement("completion.internal-error")
async def test_internal_errors_are_not_exposed(revision: str) -> None:
    async with raw(make_server(revision, complete=raises(KeyError("secret")))) as line:
        await line.shake_hands(revision)
        error = (await line.ask("completion/complete", PARAMS))["error"]
        assert error == {"code": -32603, "message": "internal error"}


@requirement("completion.inputs-validated")
@pytest.mark.parametrize("wrong", [{"ref": {"type": "ref/x", "name": "p"}}, {"argument": {"name": "a", "value": 7}}])
async def test_invalid_params_reach_no_handler(revision: str, wrong: dict[str, Any]) -> None:
    async with raw(make_server(revision, complete=SOME)) as line:
        await line.shake_hands(revision)
        assert (await line.ask("completion/complete", {**PARAMS, **wrong}))["error"]["code"] == -32602


@requirement("completion.rate-limited")
async def test_completions_that_come_too_fast_are_refused(revision: str) -> None:
    limit = RateLimit(rate=0.001, burst=1, methods=["completion/complete"])
    async with raw(make_server(revision, ServerOptions(middleware=(limit,)), complete=SOME)) as line:
        await line.shake_hands(revision)
        assert "result" in await line.ask("completion/complete", PARAMS, id_=1)
        assert (await line.ask("completion/complete", PARAMS, id_=2))["error"]["code"] == RATE_LIMITED


@requirement("completion.partial-results")
@pytest.mark.parametrize(
    "completion", [{"values": []}, {"values": ["a"], "hasMore": True}, {"values": ["a"], "total": 9}]
)
async def test_results_that_are_empty_or_partial(revision: str, completion: dict[str, Any]) -> None:
    async with answering(revision, capabilities={"completions": {}}) as server:
        package = bindings(revision)
        type_ = package.CompleteRequestParams.model_validate(PARAMS)
        call = asyncio.create_task(server.client.complete(ref=type_.ref, argument=type_.argument))
        server.tell(id=(await server.asked("completion/complete"))["id"], result={"completion": completion})
        assert (await call).completion.values == completion["values"]

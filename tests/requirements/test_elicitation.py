"""Elicitation (client/elicitation): a server asks the person behind a client."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.client_features.forms import Action, ask_form, defaults, problems
from mcp_runtime.client_features.url_elicitation import UrlElicitations, Visits, inspect_url
from mcp_runtime.core.errors import LocalProtocolError, MissingCapability, PeerError, RemoteProtocolError
from mcp_runtime.middleware.rate_limit import RATE_LIMITED, RateLimit
from support.asked import asked_in_a_call
from support.roles import answering, build, is_refused, make_handlers, make_server, returns
from support.talk import MODERN, bindings, raw

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
CREATE = "elicitation/create"
COMPLETE = "notifications/elicitation/complete"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORM: dict[str, Any] = {"message": "How many?", "requestedSchema": SCHEMA}
PAGE: dict[str, Any] = {"mode": "url", "message": "Sign in", "url": "https://x.org/1", "elicitationId": "1"}
BOTH: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}


def person(revision: str, action: str = "accept", **content: Any) -> Any:
    given = {"content": content} if content else {}
    return make_handlers(revision, elicit=returns("ElicitResult", action=action, **given))


@requirement("elicitation.declared")
async def test_clients_with_elicitation_declare_it(revision: str) -> None:
    async with answering(revision, handlers=person(revision, n=7)) as server:
        assert server.declared == {"elicitation": {}}
        assert (await server.ask(CREATE, FORM))["result"] == {"action": "accept", "content": {"n": 7}}
    async with answering(revision) as server:
        assert server.declared == {}
        assert is_refused(await server.ask(CREATE, FORM), -32601)


MODES: list[tuple[dict[str, Any], bool, bool]] = [
    ({}, True, False),
    ({"form": {}}, True, False),
    ({"url": {}}, False, True),
    ({"form": {}, "url": {}}, True, True),
]


@requirement("elicitation.one-mode", "elicitation.undeclared-mode-refused")
@pytest.mark.parametrize("more", [{}, {"form": {}}, {"url": {}}, {"form": {}, "url": {}}])
async def test_a_client_refuses_a_mode_that_it_did_not_declare(revision: str, more: dict[str, Any]) -> None:
    async with answering(revision, handlers=person(revision, "decline"), own={"elicitation": more}) as server:
        declared = server.declared["elicitation"]
        form, url = not declared or "form" in declared, "url" in declared
        assert url is ("url" in more) and (form or url)
        for number, (params, taken) in enumerate(((FORM, form), ({**FORM, "mode": "form"}, form), (PAGE, url))):
            answer = await server.ask(CREATE, params, id_=f"s{number}")
            assert "result" in answer if taken else is_refused(answer, -32602)


@requirement("elicitation.one-mode", "elicitation.no-undeclared-mode")
@pytest.mark.parametrize(("modes", "form", "url"), MODES)
async def test_a_server_uses_only_declared_modes(revision: str, modes: dict[str, Any], form: bool, url: bool) -> None:
    for ask, declared in ((ask_in_form, form), (ask_by_page, url)):
        found = await asked_in_a_call(revision, ask, {"action": "decline"}, elicitation=modes)
        assert [question["method"] for question in found.questions] == [CREATE] * declared
        if not declared:
            assert isinstance(found.outcome, MissingCapability) and "elicitation" in str(found.outcome)


async def ask_in_form(ctx: Any) -> Any:
    return await ask_form(ctx.client, "How many?", SCHEMA)


async def ask_by_page(ctx: Any) -> Any:
    pages = UrlElicitations()
    page = pages.begin(ctx.client, message="Sign in", url="https://x.org/1", elicitation_id="1")
    return await pages.ask(ctx.client, page)


@requirement("elicitation.message", "elicitation.form-params", "elicitation.url-params")
async def test_elicitations_have_all_required_properties(revision: str) -> None:
    declined = {"action": "decline"}
    form = await asked_in_a_call(revision, ask_in_form, declined, **BOTH)
    assert form.questions == [{"method": CREATE, "params": FORM}]
    page = await asked_in_a_call(revision, ask_by_page, declined, **BOTH)
    assert page.questions == [{"method": CREATE, "params": page_in(revision)}]


def page_in(revision: str) -> dict[str, Any]:
    """Return the params that ask for a visit to a web page; in the modern era without an id."""
    return {name: value for name, value in PAGE.items() if name != "elicitationId" or revision != MODERN}


@requirement("elicitation.message", "elicitation.form-params", "elicitation.url-params")
@pytest.mark.parametrize("missing", ["message", "requestedSchema", "url", "elicitationId"])
async def test_a_client_refuses_incomplete_elicitations(revision: str, missing: str) -> None:
    async with answering(revision, handlers=person(revision), own=BOTH) as server:
        for number, whole in enumerate((FORM, page_in(revision))):
            params = {name: value for name, value in whole.items() if name != missing}
            answer = await server.ask(CREATE, params, id_=f"s{number}")
            assert is_refused(answer, -32602) if missing in whole else "result" in answer


@requirement("elicitation.no-mode-is-form")
@pytest.mark.parametrize("mode", [{}, {"mode": "form"}])
async def test_a_request_without_a_mode_is_a_form(revision: str, mode: dict[str, Any]) -> None:
    seen: list[Any] = []

    async def elicit(self: Any, params: Any, ctx: Any) -> Any:
        seen.append(params)
        return build(revision, "ElicitResult", action="cancel")

    async with answering(revision, handlers=make_handlers(revision, elicit=elicit)) as server:
        await server.ask(CREATE, {**FORM, **mode})
        assert isinstance(seen[0], bindings(revision).ElicitRequestFormParams)


WRONG_URLS = ["", "x.org", "javascript:alert(1)", "https://", "https://a@b.org", "https://x.org/a b"]


@requirement("elicitation.url-valid")
@pytest.mark.parametrize("url", WRONG_URLS)
async def test_invalid_urls_are_not_sent_in_questions(revision: str, url: str) -> None:
    async def ask(ctx: Any) -> Any:
        more = {} if revision == MODERN else {"elicitation_id": "i"}
        await ctx.client.elicit(mode="url", message="m", url=url, **more)

    found = await asked_in_a_call(revision, ask, **BOTH)
    assert isinstance(found.outcome, LocalProtocolError) and "/url" in str(found.outcome)
    assert not found.questions


@requirement("elicitation.id-unique")
@pytest.mark.parametrize("url", WRONG_URLS)
async def test_no_elicitation_begins_with_an_invalid_url(revision: str, url: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision, **BOTH)
        with pytest.raises(ValueError, match="URL"):
            UrlElicitations().begin(line.server.stub, message="m", url=url)


@requirement("elicitation.required-list")
@pytest.mark.parametrize("url", [*WRONG_URLS, "https://x%2eorg"])
async def test_invalid_urls_are_not_sent_in_errors(revision: str, url: str) -> None:
    page = {"mode": "url", "message": "m", "elicitationId": "i", "url": url}

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        raise PeerError(-32042, "go there", {"elicitations": [page]})

    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision, **BOTH)
        assert (await line.ask("tools/call", {"name": "error"}))["error"]["code"] == -32603


@requirement("elicitation.id-unique")
async def test_an_id_is_given_once(revision: str) -> None:
    pages = UrlElicitations()
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision, **BOTH)
        begun = [pages.begin(line.server.stub, message="m", url="https://x.org") for _ in range(100)]
        assert len({page.id for page in begun}) == 100 and all(len(page.id) > 16 for page in begun)
        with pytest.raises(ValueError, match="another elicitation"):
            pages.begin(line.server.stub, message="m", url="https://x.org", elicitation_id=begun[0].id)


@requirement("elicitation.id-opaque", "elicitation.unknown-complete")
@pytest.mark.parametrize("id_", ["1", "", "a/b?c=%2F \u2028", "x" * 1000])
async def test_ids_are_opaque(revision: str, id_: str) -> None:
    visits, noted = Visits(), list[bool]()

    async def elicit(self: Any, params: Any, ctx: Any) -> Any:
        visits.begin(params.elicitation_id)
        return v.ElicitResult(action="accept")

    async def complete(self: Any, params: Any, ctx: Any) -> None:
        noted.append(visits.complete(params.elicitation_id))

    handlers = make_handlers(revision, elicit=elicit, on_elicitation_complete=complete)
    async with answering(revision, handlers=handlers) as server:
        assert server.declared == BOTH
        assert (await server.ask(CREATE, {**PAGE, "elicitationId": id_}))["result"] == {"action": "accept"}
        for completed_id in (f"{id_}x", id_, id_):
            server.tell(method=COMPLETE, params={"elicitationId": completed_id})
        await asyncio.sleep(0.01)
        assert noted == [False, True, False] and not server.errors


@requirement("elicitation.defaults")
def test_a_form_starts_with_its_defaults(revision: str) -> None:
    fields: dict[str, Any] = {
        "a": {"type": "string", "default": "x"},
        "b": {"type": "number", "default": 0.5},
        "c": {"type": "boolean", "default": False},
        "d": {"type": "string"},
    }
    assert defaults({"type": "object", "properties": fields}) == {"a": "x", "b": 0.5, "c": False}
    assert revision == "2025-11-25"


@requirement("elicitation.complete-to-initiator", "elicitation.complete-id")
async def test_only_the_asked_client_is_notified_with_the_id(revision: str) -> None:
    server, pages = make_server(revision), UrlElicitations()
    async with raw(server) as one, raw(server) as other:
        for line in (one, other):
            await line.shake_hands(revision, **BOTH)
        pages.begin(other.server.stub, message="m", url="https://x.org")
        page = pages.begin(one.server.stub, message="m", url="https://x.org")
        asking = asyncio.ensure_future(pages.ask(one.server.stub, page))
        await asyncio.sleep(0.01)
        one.tell(id=one.got[-1]["id"], result={"action": "accept"})
        assert await asking is Action.ACCEPT
        assert await pages.complete(page.id)
        assert one.got[-1] == {"jsonrpc": "2.0", "method": COMPLETE, "params": {"elicitationId": page.id}}
        assert COMPLETE not in [message.get("method") for message in other.got]


@requirement("elicitation.manual-controls")
async def test_a_visit_that_is_never_done_ends_the_wait(revision: str) -> None:
    visits = Visits()
    visits.begin("1")
    assert not await visits.wait("1", 0.02)
    assert revision == "2025-11-25"


@requirement("elicitation.required-error", "elicitation.required-list")
async def test_a_request_that_has_to_wait_says_for_which_pages(revision: str) -> None:
    pages = UrlElicitations()

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        if params.name == "crash":
            raise KeyError
        begun = [pages.begin(ctx.client, message="Sign in", url="https://x.org/{id}") for _ in range(2)]
        raise pages.required(ctx.client, *begun)

    async with raw(make_server(revision, call_tool=call_tool)) as line:
        await line.shake_hands(revision, **BOTH)
        error = (await line.ask("tools/call", {"name": "x"}, id_=1))["error"]
        assert error["code"] == -32042 and len(error["data"]["elicitations"]) == 2
        for each in error["data"]["elicitations"]:
            assert each == {
                **PAGE,
                "elicitationId": each["elicitationId"],
                "url": f"https://x.org/{each['elicitationId']}",
            }
        assert (await line.ask("tools/call", {"name": "crash"}, id_=2))["error"]["code"] == -32603
        with pytest.raises(ValueError, match="1 to 20"):
            pages.required(line.server.stub)


@requirement("elicitation.declining")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_can_decline_and_cancel(revision: str, action: str) -> None:
    async with answering(revision, handlers=person(revision, action)) as server:
        assert (await server.ask(CREATE, FORM))["result"] == {"action": action}
    found = await asked_in_a_call(revision, ask_in_form, {"action": action, "content": {"n": "wrong"}}, elicitation={})
    assert found.outcome.action is Action(action) and not found.outcome.content


@requirement("elicitation.url-host-highlighted")
def test_a_user_sees_the_whole_url_its_host_and_warnings(revision: str) -> None:
    """The runtime only parses a URL, and never opens it."""
    url = "https://xn--pypal-4ve.com/paypal.com?x=1"
    view = inspect_url(url)
    assert (view.url, view.host) == (url, "xn--pypal-4ve.com")
    assert any("look like" in warning for warning in view.warnings)
    assert not inspect_url("https://x.org/").warnings
    assert revision == "2025-11-25"


@requirement("elicitation.validated-by-client")
async def test_a_client_can_validate_a_form(revision: str) -> None:
    async def elicit(self: Any, params: Any, ctx: Any) -> Any:
        wrong = problems(params.requested_schema.model_dump(mode="json"), {"n": "seven"})
        raise PeerError(-1, "; ".join(wrong))

    async with answering(revision, handlers=make_handlers(revision, elicit=elicit)) as server:
        assert (await server.ask(CREATE, FORM))["error"]["message"] == "/n: 'seven' is not of type 'integer'"


@requirement("elicitation.validated-by-server")
@pytest.mark.parametrize("content", [None, {}, {"n": "7"}, {"n": 7.5}, {"n": True}])
async def test_a_server_refuses_an_invalid_answer(revision: str, content: Any) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision, elicitation={})
        asking = asyncio.ensure_future(ask_form(line.server.stub, "?", SCHEMA))
        await asyncio.sleep(0.01)
        result = {"action": "accept", **({} if content is None else {"content": content})}
        line.tell(id=line.got[-1]["id"], result=result)
        with pytest.raises(RemoteProtocolError, match="/content"):
            await asking


@requirement("elicitation.rate-limited")
async def test_requests_that_come_too_fast_are_refused(revision: str) -> None:
    limit = RateLimit(rate=0.001, burst=1, methods=[CREATE])
    async with answering(revision, handlers=person(revision, n=1), middleware=(limit,)) as server:
        assert "result" in await server.ask(CREATE, FORM, id_="s1")
        assert (await server.ask(CREATE, FORM, id_="s2"))["error"]["code"] == RATE_LIMITED

"""Elicitation: forms, web pages, and notifications that they are complete."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2025_06_18
from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25.errors import InvalidParamsError, PeerUrlElicitationRequiredError
from mcp_runtime.client_features.forms import Action, FormAnswer, ask_form
from mcp_runtime.client_features.url_elicitation import UrlElicitations, Visits, inspect_url, required_elicitations
from mcp_runtime.core.errors import MissingCapability, PeerError, RemoteProtocolError
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import CallOptions
from support.asked import asked_in_a_call
from support.talk import talk

pytestmark = pytest.mark.usefixtures("virtual_time")


class FormPerson(v.ClientHandlers):
    """Answers as the test specifies."""

    def __init__(self, action: Any = "accept", content: dict[str, Any] | None = None) -> None:
        self.answer = v.ElicitResult(action=action, content=content)
        self.asked: list[v.ElicitRequestParams] = []
        self.visits = Visits()
        self.noted: list[bool] = []

    async def elicit(self, params: v.ElicitRequestParams, ctx: v.ClientContext) -> v.ElicitResult | v.CreateTaskResult:
        self.asked.append(params)
        if isinstance(params, v.ElicitRequestURLParams):
            self.visits.begin(params.elicitation_id)
        return self.answer


class Person(FormPerson):
    """Records completed visits, and thereby declares web pages too."""

    async def on_elicitation_complete(
        self, params: v.ElicitationCompleteNotificationParams, ctx: v.ClientContext
    ) -> None:
        self.noted.append(self.visits.complete(params.elicitation_id))


BOTH: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
SMALL = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class Idle(v.Server):
    options = ServerOptions(name="idle")


class Rude(v.Server):
    options = ServerOptions(name="rude", check_capabilities=False)


class TestAskingInAForm:
    """client/elicitation, "Form Mode Elicitation Requests" and "Response Actions"."""

    async def test_the_answer_to_an_accepted_form_is_returned(self) -> None:
        person = Person(content={"n": 7})
        async with talk(Idle(), handlers=person) as both:
            answer = await ask_form(both.server.stub, "How many?", SMALL)
            assert answer == FormAnswer(action=Action.ACCEPT, content={"n": 7})
            [asked] = person.asked
            assert isinstance(asked, v.ElicitRequestFormParams) and asked.mode is None

    async def test_the_schema_may_be_a_model(self) -> None:
        async with talk(Idle(), handlers=Person(content={"n": 7.5})) as both:
            schema = v.ElicitRequestFormParamsRequestedSchema(
                properties={"n": v.NumberSchema(type="integer", minimum=1)}, required=["n"]
            )
            with pytest.raises(RemoteProtocolError, match=r"7\.5 is not of type 'integer'"):
                await ask_form(both.server.stub, "How many?", schema)

    @pytest.mark.parametrize("action", ["decline", "cancel"])
    async def test_content_of_a_declined_form_is_ignored(self, action: str) -> None:
        async with talk(Idle(), handlers=Person(action, {"n": "secret"})) as both:
            assert await ask_form(both.server.stub, "How many?", SMALL) == FormAnswer(action=Action(action))

    @pytest.mark.parametrize("content", [None, {"n": "7"}])
    async def test_an_answer_that_does_not_match_is_a_protocol_error(self, content: dict[str, Any] | None) -> None:
        async with talk(Idle(), handlers=Person(content=content)) as both:
            with pytest.raises(RemoteProtocolError) as raised:
                await ask_form(both.server.stub, "How many?", SMALL)
            assert raised.value.pointer == "/content/n"

    async def test_forms_of_the_previous_revision(self) -> None:
        class Older(v2025_06_18.Server):
            pass

        class OlderPerson(v2025_06_18.ClientHandlers):
            async def elicit(
                self, params: v2025_06_18.ElicitRequestParams, ctx: v2025_06_18.ClientContext
            ) -> v2025_06_18.ElicitResult:
                return v2025_06_18.ElicitResult(action="accept", content={"n": 1})

        async with talk(Older(), handlers=OlderPerson()) as both:
            assert (await ask_form(both.server.stub, "?", SMALL)).content == {"n": 1}

    async def test_a_form_can_have_a_timeout(self) -> None:
        class Slow(Person):
            async def elicit(
                self, params: v.ElicitRequestParams, ctx: v.ClientContext
            ) -> v.ElicitResult | v.CreateTaskResult:
                await asyncio.Event().wait()
                return self.answer

        async with talk(Idle(), handlers=Slow()) as both:
            with pytest.raises(TimeoutError):
                await ask_form(both.server.stub, "?", SMALL, options=CallOptions(timeout=0.02))


class TestModes:
    """2025-11-25, client/elicitation, "Capabilities" and "Error Handling"."""

    @pytest.mark.parametrize(
        ("declared", "form", "url"),
        [
            ({}, True, False),
            ({"elicitation": {"form": {}}}, True, False),
            ({"elicitation": {"url": {}, "form": None}}, False, True),
            ({"elicitation": {"url": {}}}, True, True),
            (BOTH, True, True),
        ],
    )
    async def test_a_mode_that_was_not_declared_is_refused_by_both(
        self, declared: dict[str, Any], form: bool, url: bool
    ) -> None:
        visit = {"mode": "url", "message": "m", "url": "https://x.org", "elicitation_id": "1"}
        for arguments, is_declared in (({"message": "m", "requested_schema": SMALL}, form), (visit, url)):
            async with talk(Rude(), handlers=FormPerson("decline"), capabilities=declared) as both:
                rude: Any = both.server.stub
                if is_declared:
                    assert (await rude.elicit(**arguments)).action == "decline"
                else:
                    with pytest.raises(InvalidParamsError):
                        await rude.elicit(**arguments)
            async with talk(Idle(), handlers=FormPerson("decline"), capabilities=declared) as both:
                idle: Any = both.server.stub
                if not is_declared:
                    with pytest.raises(MissingCapability):
                        await idle.elicit(**arguments)

    async def test_handlers_determine_the_declared_modes(self) -> None:
        class Listener(v.ClientHandlers):
            async def on_elicitation_complete(
                self, params: v.ElicitationCompleteNotificationParams, ctx: v.ClientContext
            ) -> None:
                pass

        cases: list[tuple[Any, Any]] = [(FormPerson(), {"elicitation": {}}), (Person(), BOTH), (Listener(), {})]
        for handlers, declared in cases:
            async with talk(Idle(), handlers=handlers) as both:
                assert both.client.connection.declared[Side.CLIENT] == declared


class TestWebPages:
    """2025-11-25, client/elicitation, "URL Mode"."""

    async def test_only_the_asked_client_is_notified(self) -> None:
        pages, asked, other = UrlElicitations(), Person(), Person()
        server = Idle()
        async with (
            talk(server, handlers=other, capabilities=BOTH),
            talk(server, handlers=asked, capabilities=BOTH) as both,
        ):
            page = pages.begin(both.server.stub, message="Sign in", url="https://x.org/connect?e={id}")
            assert page.url == f"https://x.org/connect?e={page.id}" and len(page.id) > 16
            assert await pages.ask(both.server.stub, page) is Action.ACCEPT
            assert await pages.complete(page.id)
            assert await asked.visits.wait(page.id, 5)
            assert (asked.noted, other.noted) == ([True], [])
            assert not await pages.complete(page.id)
            assert len(pages) == 0

    async def test_a_client_ignores_unknown_and_completed_visits(self) -> None:
        person = Person()
        async with talk(Idle(), handlers=person, capabilities=BOTH) as both:
            person.visits.begin("known")
            stub: Any = both.server.stub
            for id_ in ("unknown", "known", "known"):
                await stub.notify_elicitation_complete(elicitation_id=id_)
            await asyncio.sleep(0.01)
            assert person.noted == [False, True, False]
            assert both.errors == []

    @pytest.mark.parametrize("action", ["decline", "cancel"])
    async def test_refusing_client_gets_no_notification(self, action: str) -> None:
        pages, person = UrlElicitations(), Person(action)
        async with talk(Idle(), handlers=person, capabilities=BOTH) as both:
            page = pages.begin(both.server.stub, message="m", url="https://x.org")
            assert await pages.ask(both.server.stub, page) is Action(action)
            assert not await pages.complete(page.id)

    async def test_pages_end_with_the_connection(self) -> None:
        pages = UrlElicitations()
        async with talk(Idle(), handlers=Person(), capabilities=BOTH) as both:
            page = pages.begin(both.server.stub, message="m", url="https://x.org")
            assert len(pages) == 1
        assert len(pages) == 0 and not await pages.complete(page.id)

    async def test_the_oldest_pages_are_dropped(self) -> None:
        pages = UrlElicitations(limit=2)
        async with talk(Idle(), handlers=Person(), capabilities=BOTH) as both:
            begun = [pages.begin(both.server.stub, message="m", url="https://x.org") for _ in range(3)]
            assert [await pages.complete(page.id) for page in begun] == [False, True, True]

    async def test_a_page_for_another_client_is_not_sent(self) -> None:
        pages = UrlElicitations()
        async with talk(Idle(), handlers=Person(), capabilities=BOTH) as one:
            page = pages.begin(one.server.stub, message="m", url="https://x.org", elicitation_id="1")
            with pytest.raises(ValueError, match="another elicitation"):
                pages.begin(one.server.stub, message="m", url="https://x.org", elicitation_id="1")
            async with talk(Idle(), handlers=Person(), capabilities=BOTH) as other:
                with pytest.raises(ValueError, match="not created for this client"):
                    await pages.ask(other.server.stub, page)

    async def test_a_client_without_web_pages_gets_none(self) -> None:
        async with talk(Idle(), handlers=FormPerson()) as both:
            with pytest.raises(MissingCapability, match=r"elicitation\.url"):
                UrlElicitations().begin(both.server.stub, message="m", url="https://x.org")

    async def test_a_waiting_request_names_its_elicitations(self) -> None:
        pages, person = UrlElicitations(), Person()

        class Locked(v.Server):
            async def call_tool(
                self, params: v.CallToolRequestParams, ctx: v.Context
            ) -> v.CallToolResult | v.CreateTaskResult:
                raise pages.required(ctx.client, pages.begin(ctx.client, message="Sign in", url="https://x.org/{id}"))

        async with talk(Locked(), handlers=person, capabilities=BOTH) as both:
            with pytest.raises(PeerUrlElicitationRequiredError) as raised:
                await both.client.call_tool(name="x")
            [page] = required_elicitations(raised.value)
            assert (page.message, page.url) == ("Sign in", f"https://x.org/{page.id}")
            person.visits.begin(page.id)
            assert not await person.visits.wait(page.id, 0.01)
            person.visits.begin(page.id)
            assert await pages.complete(page.id)
            assert await person.visits.wait(page.id, 5)

    @pytest.mark.parametrize(
        "data",
        [
            None,
            {},
            {"elicitations": []},
            {"elicitations": [1]},
            {"elicitations": [{"mode": "form", "message": "m", "requestedSchema": SMALL}]},
            {"elicitations": [{"mode": "url", "message": "m", "url": "https://x.org"}]},
            {"elicitations": [{"mode": "url", "message": "m", "url": "javascript:alert(1)", "elicitationId": "1"}]},
            {"elicitations": [{"mode": "url", "message": "m", "url": "https://x", "elicitationId": "1"}] * 21},
        ],
    )
    def test_a_malformed_error_is_a_protocol_error(self, data: Any) -> None:
        with pytest.raises(RemoteProtocolError, match="/error/data/elicitations"):
            required_elicitations(PeerError(-32042, "m", data))

    def test_another_error_requires_nothing(self) -> None:
        with pytest.raises(ValueError, match="-1"):
            required_elicitations(PeerError(-1, "m"))


class TestWebPagesOfTheModernEra:
    """2026-07-28: pages have no ids there, and there are no completion notifications."""

    async def test_a_handler_asks_for_a_visit_without_a_completion_notification(self) -> None:
        pages, completed = UrlElicitations(), list[Any]()

        async def ask(ctx: Any) -> Action:
            page = pages.begin(ctx.client, message="Sign in", url="https://x.org/{id}", elicitation_id="1")
            with pytest.raises(ValueError, match="2026-07-28 has no such error"):
                pages.required(ctx.client, page)
            action = await pages.ask(ctx.client, page)
            completed.append(await pages.complete("1"))
            return action

        found = await asked_in_a_call("2026-07-28", ask, {"action": "accept"}, **BOTH)
        params = {"mode": "url", "message": "Sign in", "url": "https://x.org/1"}
        assert found.questions == [{"method": "elicitation/create", "params": params}]
        assert (found.outcome, completed, len(pages)) == (Action.ACCEPT, [False], 0)


class TestLookingAtAUrl:
    """2025-11-25, client/elicitation, "Safe URL Handling"."""

    def test_the_host_of_a_url_is_shown_separately(self) -> None:
        view = inspect_url("https://paypal.com.evil.org/paypal.com?x=1")
        assert (view.host, view.warnings) == ("paypal.com.evil.org", ())

    @pytest.mark.parametrize(
        ("url", "warning"),
        [
            ("http://x.org", "encrypted"),
            ("https://xn--pypal-4ve.com", "look like"),
            ("https://p\u0430ypal.com", "look like"),
            ("https://127.0.0.1/", "number"),
            ("https://[::1]/", "number"),
            ("https://2130706433/", "number"),
            ("https://0x7f.1/", "number"),
            ("https://0177.0.0.01./", "number"),
            ("https://\uff11\uff12\uff17.0.0.1/", "number"),
            ("https://017700000001/", "number"),
            ("https://127.1/", "number"),
            ("https://[::ffff:127.0.0.1]/", "number"),
            ("https://x.org:8443", "8443"),
        ],
    )
    def test_suspicious_urls_have_warnings(self, url: str, warning: str) -> None:
        assert any(warning in each for each in inspect_url(url).warnings)

    @pytest.mark.parametrize(
        "url",
        [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https:///x",
            "x.org",
            "https://user@x.org",
            "https://x.org@evil.org",
            "https://x.org\\@evil.org",
            "https://x.org/a b",
            "https://x.org/\u202e",
            "https://ev%69l.org/",
            "https://[fe80::1%25eth0]/",
            "https://x.org:port",
            "https://[x",
            "https://x.org/" + "a" * 9000,
            "data:text/html,x",
            "https://:pass@x.org/",
            "https://exa\uff056dple.org/",
            "https://x.org/\u200b",
            "https://x.org/\x00",
            "https://x.org/\n",
            " https://x.org/",
            "//x.org/",
        ],
    )
    def test_disguised_urls_are_refused(self, url: str) -> None:
        with pytest.raises(ValueError, match="URL"):
            inspect_url(url)

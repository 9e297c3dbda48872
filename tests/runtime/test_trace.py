"""The trace of a conversation: every message, typed and timed, without its secrets."""

import asyncio
import json
import logging
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.connection import Way
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.middleware.masking import Masker
from mcp_runtime.middleware.trace import Kind, Traced, Tracer
from support.together import together


class Slow(v.Server):
    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        await asyncio.sleep(0.03)
        if params.name == "fail":
            raise PeerError(-5, "failed")
        return v.CallToolResult(content=[v.TextContent(text="password=hunter2")])


def ignore(record: Traced) -> None:
    pass


def send(tracer: Tracer, **members: Any) -> None:
    tracer("sent", json.dumps(members).encode())


def receive(tracer: Tracer, **members: Any) -> None:
    tracer("received", json.dumps(members).encode())


class TestTracer:
    async def test_a_conversation_is_recorded_in_order(self) -> None:
        tracer = Tracer(ignore)
        async with together(v.Client, Slow(), options=ClientOptions(trace=tracer)) as client:
            await client.call_tool(name="work", arguments={"apiKey": "sk-1", "city": "Oslo"})
            with pytest.raises(PeerError):
                await client.call_tool(name="fail")
        records = [(record.way.value, record.kind.value, record.method, record.id) for record in tracer.records]
        assert records == [
            ("sent", "request", "initialize", 1),
            ("received", "result", "initialize", 1),
            ("sent", "notification", "notifications/initialized", None),
            ("sent", "request", "tools/call", 2),
            ("received", "result", "tools/call", 2),
            ("sent", "request", "tools/call", 3),
            ("received", "error", "tools/call", 3),
        ]
        call, result, error = tracer.records[3], tracer.records[4], tracer.records[6]
        assert call.duration is None
        assert result.duration is not None
        assert 0.03 <= result.duration < 60, "seconds"
        assert error.code == -5
        assert call.message is not None
        assert call.message["params"]["arguments"] == {"apiKey": "***", "city": "Oslo"}
        assert result.message is not None
        assert result.message["result"]["content"][0]["text"] == "password=***"

    async def test_a_server_distinguishes_its_conversations(self) -> None:
        tracer = Tracer(ignore)

        class Watched(Slow):
            options = ServerOptions(trace=tracer)

        server = Watched()
        async with together(v.Client, server) as one, together(v.Client, server) as other:
            await asyncio.gather(one.call_tool(name="work"), other.call_tool(name="work"))
        results = [record for record in tracer.records if record.method == "tools/call" and record.kind is Kind.RESULT]
        assert sorted(record.conversation for record in results) == [1, 2]
        assert all(record.way is Way.SENT and record.duration and record.duration >= 0.03 for record in results)

    def test_a_record_prints_on_one_line(self) -> None:
        record = Traced(
            conversation=1,
            at=0.5,
            way=Way.RECEIVED,
            kind=Kind.ERROR,
            method="tools/call\nx",
            id="a\x1b[31m",
            size=120,
            duration=0.0123,
            code=-32602,
            message=None,
        )
        line = "00:00:00.500 #1 <- error tools/call\\nx id=a\\x1b[31m code=-32602 120 B 12.3 ms"
        assert str(record) == line

    def test_without_a_sink_it_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.DEBUG, "mcp_runtime.middleware.trace"):
            send(Tracer(), jsonrpc="2.0", id=1, method="ping")
        assert "-> request ping id=1" in caplog.text

    def test_its_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mcp_runtime.middleware.trace.MAX_OPEN", 10)
        tracer = Tracer(ignore, keep=5, max_size=200)
        for number in range(100):
            send(tracer, id=number, method="tools/list", params={"x": "y" * 100 if number < 99 else "y" * 300})
        assert len(tracer.records) == 5
        assert tracer.records[-2].message is not None
        assert tracer.records[-1].message is None
        assert tracer.records[-1].size > 300
        receive(tracer, id=0, result={})
        assert tracer.records[-1].method is None
        receive(tracer, id=99, result={})
        assert tracer.records[-1].method == "tools/list"

    def test_unreadable_messages_are_recorded(self) -> None:
        tracer = Tracer(ignore)
        for text in (b"{", b"\xff", b"[" * 100_000, b"1", b'{"id": true}', b'{"method": 5, "id": {}}'):
            tracer("received", text)
        assert [record.kind for record in tracer.records] == [Kind.UNREADABLE] * 6

    def test_the_messages_of_a_batch_are_recorded_one_by_one(self) -> None:
        tracer = Tracer(ignore)
        tracer("sent", b'[{"id": 1, "method": "a"}, {"method": "b"}]')
        tracer("received", b'[{"id": 1, "result": {}}]')
        assert [(record.kind.value, record.method) for record in tracer.records] == [
            ("request", "a"),
            ("notification", "b"),
            ("result", "a"),
        ]

    def test_masking_can_be_chosen(self) -> None:
        for masker, shown in ((None, "p"), (Masker(secrets=["city"]), "p"), (Masker(), "***")):
            tracer = Tracer(ignore, masker=masker)
            send(tracer, method="x", params={"password": "p", "city": "Oslo"})
            message = tracer.records[0].message
            assert message is not None
            assert message["params"]["password"] == shown
        assert Masker(secrets=["city"]).mask({"homeCity": "Oslo"}) == {"homeCity": "***"}


class TestMasker:
    @pytest.mark.parametrize(
        "name",
        "authorization X-Api-Key apiKey OPENAI_API_KEY token accessToken GITHUB_TOKEN dbPassword Set-Cookie sessionId"
        " clientSecret private_key tokens api_keys cookies db_pass clientsecret dbpass refreshtoken"
        " X-Amz-Security-Token passwords CREDENTIALS Proxy-Authorization signingKeys"
        " auth x-auth authKey pat githubPat dsn SENTRY_DSN connectionString sshKey X-Amz-Signature sid PHPSESSID"
        " pass pin pinCode otp userPass".split(),
    )
    def test_secrets_are_masked_by_name(self, name: str) -> None:
        assert Masker().mask({name: {"any": "value"}}) == {name: "***"}

    @pytest.mark.parametrize(
        "name",
        "progressToken maxTokens inputTokens tokenCount nextCursor"
        " author authMethod path pinned inside passenger secretary tokenizer compass key name uri".split(),
    )
    def test_other_names_are_shown(self, name: str) -> None:
        assert Masker().mask([{name: "value"}]) == [{name: "value"}]

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("Authorization: Bearer abc.def-1234", "Authorization: Bearer ***"),
            ("https://user:p4ss@host/path", "https://user:***@host/path"),
            ('{"api_key": "sk-123", "n": 1}', '{"api_key": "***", "n": 1}'),
            ("token=abc&x=1", "token=***&x=1"),
            ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ***"),
            ("sent basic dXNlcjpwYXNz and went", "sent basic *** and went"),
            ("Cookie: a=1; b=2\nHost: x", "Cookie: ***\nHost: x"),
            ("authorization: token abcdef", "authorization: token ***"),
            ("https://:p4ss@host https://host:8080/a@b", "https://:***@host https://host:8080/a@b"),
            (
                "https://host/p?client_secret=s3&q=1#access_token=x",
                "https://host/p?client_secret=***&q=1#access_token=***",
            ),
            ("mysql --user root --password hunter2 --host db", "mysql --user root --password *** --host db"),
            ("run --api-key='k v' --verbose", "run --api-key='***' --verbose"),
            ('{\\"password\\": \\"hunter2\\"}', '{\\"password\\": \\"***\\"}'),
            ('password: "two words, and more" rest', 'password: "***" rest'),
            ("postgres://user:pa/ss@host/db", "postgres://user:***@host/db"),
            ("http://host:80/@me http://[::1]:80/a@b", "http://host:80/@me http://[::1]:80/a@b"),
            (
                "https://host/p?auth=1&sig=2&X-Amz-Signature=3&q=4",
                "https://host/p?auth=***&sig=***&X-Amz-Signature=***&q=4",
            ),
            ("DB_PASS=x MAX_TOKENS=100 progressToken: 7", "DB_PASS=*** MAX_TOKENS=100 progressToken: 7"),
            ("key eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM end", "key *** end"),
            ("use ghp_0123456789abcdefghij0123456789abcdef", "use ***"),
            ("AKIAIOSFODNN7EXAMPLE and sk-proj-0123456789abcdef0123", "*** and ***"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
                "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nrest",
            ),
            ("Basic instructions and a bearer instrument", "Basic instructions and a bearer instrument"),
            ("an ordinary text: nothing = hidden", "an ordinary text: nothing = hidden"),
        ],
    )
    def test_credentials_in_text_are_masked_by_format(self, text: str, shown: str) -> None:
        assert Masker().mask_text(text) == shown

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ({"name": "Authorization", "value": "abc"}, {"name": "Authorization", "value": "***"}),
            ({"name": "city", "value": "Oslo"}, {"name": "city", "value": "Oslo"}),
            ([["X-Api-Key", "k-1"], ["Accept", "text/plain"]], [["X-Api-Key", "***"], ["Accept", "text/plain"]]),
            (["server", "--token", "abc", "--port", "80"], ["server", "--token", "***", "--port", "80"]),
            ({"required": ["password", "username"]}, {"required": ["password", "username"]}),
        ],
    )
    def test_secrets_in_text_are_masked_by_the_name_before_them(self, value: object, shown: object) -> None:
        assert Masker().mask(value) == shown

    def test_a_hostile_text_takes_bounded_time(self) -> None:
        for text in ("token" * 100_000, "://" + "a" * 500_000, "bearer " * 100_000, "token =" + " " * 500_000):
            Masker().mask({"text": text, "x" * 500_000: 1})

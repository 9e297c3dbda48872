"""One implementation communicates with peers of every legacy revision; every message is valid in that revision."""

import asyncio
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge.conversation import LINK, SOUND, Everything, converse
from bridge.messages import LEGACY
from mcp_bindings import v2024_11_05, v2025_06_18
from mcp_bindings import v2025_11_25 as newest
from mcp_runtime.bridge import Bridging, Loss, LossAction, MissingInRevision
from mcp_runtime.core.binding import FORMAT, Binding
from mcp_runtime.core.errors import BindingFormatError, PeerError, UnsupportedRevision
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.stub import Handlers
from mcp_runtime.memory import memory_pair
from support.own import speaking
from support.talk import bindings, raw

NEWEST = LEGACY[-1]


def since(revision: str, first: str) -> bool:
    return revision >= first


def handlers_of(revision: str) -> Handlers:
    """Make handlers of a revision that answer whatever a server may ask in it."""
    package = bindings(revision)

    class Answers(package.ClientHandlers):  # type: ignore[name-defined, misc]
        async def create_message(self, params: Any, ctx: Any) -> Any:
            content = package.TextContent(text=f"{len(params.messages)} messages")
            return package.CreateMessageResult(role="assistant", model="m", content=content)

        if revision >= "2025-06-18":

            async def elicit(self, params: Any, ctx: Any) -> Any:
                chosen = params.requested_schema.properties.get("colour")
                if chosen is None:
                    return package.ElicitResult(action="decline")
                names = [c.const for c in chosen.one_of] if revision == NEWEST else chosen.enum
                return package.ElicitResult(action="accept", content={"colour": names[0]})

    found: Handlers = Answers()
    return found


async def _use_everything(client: Any) -> None:
    await client.list_tools()
    await client.call_tool(name="speak")
    await client.call_tool(name="ask")
    await client.call_tool(name="ask_many")
    await client.call_tool(name="sample")
    await client.list_prompts()
    await client.get_prompt(name="read")
    await client.list_resources()
    await client.read_resource(uri="memo://notes")


class Answering(Everything):
    """Answers a request that came with 2025-11-25, and needs no capability for it here."""

    async def list_tasks(self, params: Any, ctx: Any) -> newest.ListTasksResult:
        return newest.ListTasksResult(tasks=[])


class TestServer:
    @pytest.mark.parametrize("revision", LEGACY)
    def test_every_message_is_valid_in_the_revision_of_the_client(self, revision: str) -> None:
        async def main() -> None:
            async with converse(Everything(), revision, handlers=handlers_of(revision)) as talk:
                await _use_everything(talk.client)
                assert talk.judge(revision) > 20
                assert talk.client.connection.revision == revision == talk.server.revision

        asyncio.run(main())

    @pytest.mark.parametrize("revision", LEGACY)
    def test_content_is_converted_to_forms_of_the_client(self, revision: str) -> None:
        async def main() -> list[Any]:
            async with converse(Everything(), revision) as talk:
                result = (await talk.client.call_tool(name="speak")).model_dump(mode="json")
                content: list[Any] = result["content"]
                assert result["structuredContent"] == {"said": True}
                return content

        sound, link, *said = asyncio.run(main())
        audio_text = {"type": "text", "text": "[audio: audio/wav, 3 bytes]"}
        link_text = {"type": "text", "text": "[resource link: notes (Notes; text/plain), memo://notes]"}
        assert sound == (SOUND.model_dump(mode="json") if since(revision, "2025-03-26") else audio_text)
        assert link == (LINK.model_dump(mode="json") if since(revision, "2025-06-18") else link_text)
        assert said == ([] if since(revision, "2025-06-18") else [{"type": "text", "text": '{"said": true}'}])

    def test_a_choice_with_titles_becomes_the_older_form_and_is_answered(self) -> None:
        async def main() -> None:
            async with converse(Everything(), "2025-06-18", handlers=handlers_of("2025-06-18")) as talk:
                answer = await talk.client.call_tool(name="ask")
                assert answer.content[0].text == '{"colour": "red"}'
                sent = talk.params_of("elicitation/create")["requestedSchema"]["properties"]["colour"]
                assert sent == {"type": "string", "enum": ["red", "blue"], "enumNames": ["RED", "BLUE"]}

        asyncio.run(main())

    def test_a_handler_gets_an_error_for_missing_features_of_the_revision(self) -> None:
        async def main() -> None:
            async with converse(Everything(), "2025-03-26") as talk:
                answer = await talk.client.call_tool(name="ask")
                assert answer.content[0].text == "elicitation/create is not in 2025-03-26"
            async with converse(Everything(), "2025-06-18", handlers=handlers_of("2025-06-18")) as talk:
                answer = await talk.client.call_tool(name="ask_many")
                assert answer.content[0].text == "NotExpressible"
                assert "elicitation/create" not in [m.get("method") for m in talk.messages]

        asyncio.run(main())

    def test_a_message_with_several_blocks_becomes_several_messages(self) -> None:
        async def main() -> None:
            async with converse(Everything(), "2024-11-05", handlers=handlers_of("2024-11-05")) as talk:
                answer = await talk.client.call_tool(name="sample")
                assert answer.content[0].text == "2 messages"
                blocks = [m["content"]["text"] for m in talk.params_of("sampling/createMessage")["messages"]]
                assert blocks == ["Listen:", "[audio: audio/wav, 3 bytes]"]

        asyncio.run(main())

    @pytest.mark.parametrize("revision", LEGACY)
    def test_only_capabilities_of_the_revision_are_declared(self, revision: str) -> None:
        async def main() -> None:
            async with converse(Everything(), revision) as talk:
                declared = talk.client.connection.declared[Side.SERVER]
                assert ("completions" in declared) == since(revision, "2025-03-26")
                assert declared["tools"] == {"listChanged": True}
                # In the oldest revision completion needs no capability, so it is always available.
                reference = bindings(revision).PromptReference(name="read")
                argument = bindings(revision).CompleteRequestParamsArgument(name="a", value="hell")
                completed = await talk.client.complete(ref=reference, argument=argument)
                assert completed.completion.values == ["hello"]

        asyncio.run(main())

    def test_an_undeclared_method_of_a_newer_revision_is_refused(self) -> None:
        async def main() -> None:
            info = {"name": "old", "version": "1"}
            hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info}
            async with raw(Answering()) as line:
                await line.ask("initialize", hello)
                line.tell(method="notifications/initialized")
                answer = await line.ask("tasks/list", id_=2)
                assert (answer["error"]["code"], line.server.open_requests) == (-32601, 0)
                # Batches do not exist before 2025-03-26 either.
                line.send(b'[{"jsonrpc": "2.0", "id": 3, "method": "ping"}]')
                assert line.got[-1]["error"]["code"] == -32600

        asyncio.run(main())

    def test_a_revision_that_is_not_offered_is_not_used(self) -> None:
        async def main() -> None:
            with pytest.raises(UnsupportedRevision, match="2025-11-25"):
                async with converse(Everything(), "2024-11-05", revisions=["2025-06-18"]):
                    pass

        asyncio.run(main())

    def test_a_server_answers_in_its_own_revision(self) -> None:
        class Old(v2024_11_05.Server):
            async def list_tools(self, params: Any, ctx: Any) -> v2024_11_05.ListToolsResult:
                return v2024_11_05.ListToolsResult(tools=[])

        async def main() -> None:
            everything = speaking(Everything(), Bridging())
            for servers in ((everything, Old()), (Old(), everything)):
                here, there = memory_pair()
                connection = await start_server(there, *servers)
                from mcp_runtime.core.handshake.client import Peer

                client = await v2024_11_05.Client.open(Peer(here))
                assert (await client.list_tools()).tools == []
                await client.connection.aclose()
                await connection.aclose()

        asyncio.run(main())


class TestClient:
    @pytest.mark.parametrize("revision", LEGACY)
    def test_a_new_client_talks_to_an_older_server(self, revision: str) -> None:
        package = bindings(revision)
        content = package.TextContent(text="hello")

        class Old(package.Server):  # type: ignore[name-defined, misc]
            async def call_tool(self, params: Any, ctx: Any) -> Any:
                message = package.SamplingMessage(role="user", content=content)
                answer = await ctx.client.create_message(messages=[message], max_tokens=5)
                return package.CallToolResult(content=[package.TextContent(text=str(answer.content.text))])

            async def list_tools(self, params: Any, ctx: Any) -> Any:
                return package.ListToolsResult(tools=[package.Tool(name="x", input_schema=package.ToolInputSchema())])

        class Answers(newest.ClientHandlers):
            async def create_message(
                self, params: newest.CreateMessageRequestParams, ctx: newest.ClientContext
            ) -> newest.CreateMessageResult:
                assert isinstance(params, newest.CreateMessageRequestParams)
                blocks: list[newest.SamplingMessageContentBlock] = [newest.TextContent(text="a"), SOUND]
                return newest.CreateMessageResult(role="assistant", model="m", content=blocks)

        losses: list[Loss] = []

        async def main() -> str:
            bridging = Bridging(on_loss=losses.append)
            talk = converse(Old(), NEWEST, handlers=Answers(), bridged=bridging, losses=losses)
            async with talk as spoken:
                client: newest.Client = spoken.client
                assert client.connection.revision == revision
                tools = await client.list_tools()
                assert isinstance(tools, newest.ListToolsResult)
                if revision != NEWEST:
                    with pytest.raises(MissingInRevision):
                        await client.list_tasks()
                    result = await client.call_tool(name="x")
                    spoken.judge(revision)
                    assert isinstance(result.content[0], newest.TextContent)
                    return result.content[0].text
            return "a\n[audio: audio/wav, 3 bytes]"

        assert asyncio.run(main()) == "a\n[audio: audio/wav, 3 bytes]"
        assert [loss.kind for loss in losses] == ([] if revision == NEWEST else ["content_list"])

    def test_an_old_client_talks_to_a_newer_server(self) -> None:
        async def main() -> None:
            async with converse(Everything(), "2024-11-05", bridged="all") as talk:
                assert talk.client.connection.revision == NEWEST
                result = await talk.client.call_tool(name="speak")
                assert [type(block) for block in result.content] == [v2024_11_05.TextContent] * 3
                assert talk.judge(NEWEST) > 4

        asyncio.run(main())

    def test_a_refused_revision_leads_to_another_attempt(self) -> None:
        async def main() -> None:
            bridging = Bridging(revisions=("2025-03-26", "2025-06-18"))
            async with converse(_Tools(), NEWEST, bridged=bridging) as talk:
                assert talk.client.connection.revision == "2025-06-18"
                assert (await talk.client.list_tools()).tools == []

        asyncio.run(main())


class _Tools(v2025_06_18.Server):
    async def list_tools(self, params: Any, ctx: Any) -> v2025_06_18.ListToolsResult:
        return v2025_06_18.ListToolsResult(tools=[])


class TestPolicy:
    def test_losses_are_reported_once_with_method_and_path(self, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> list[Loss]:
            async with converse(Everything(), "2024-11-05") as talk:
                for _ in range(3):
                    await talk.client.call_tool(name="speak")
                return talk.losses

        with caplog.at_level(logging.DEBUG, "mcp_runtime.bridge"):
            losses = asyncio.run(main())
        found = {(loss.kind, loss.method, loss.part, loss.path, loss.revision) for loss in losses}
        assert found == {
            ("audio", "tools/call", "result", "/content/0", "2024-11-05"),
            ("resource_link", "tools/call", "result", "/content/1", "2025-03-26"),
            ("structured_content", "tools/call", "result", "/structuredContent", "2025-03-26"),
        }
        assert len(losses) == len(caplog.records) == 3

    def test_inexpressible_values_are_dropped_if_configured(self) -> None:
        async def main() -> None:
            policy = {"audio": LossAction.DROP, "resource_link": LossAction.DROP, "structured_content": LossAction.DROP}
            async with converse(Everything(), "2024-11-05", policy=policy) as talk:
                await talk.client.call_tool(name="speak")
                assert talk.result_of("tools/call") == {"content": []}
                assert {loss.action for loss in talk.losses} == {LossAction.DROP}

        asyncio.run(main())

    def test_inexpressible_values_are_refused_if_configured(self) -> None:
        async def main() -> None:
            async with converse(Everything(), "2024-11-05", policy={"audio": LossAction.REFUSE}) as talk:
                with pytest.raises(PeerError, match="internal error"):
                    await talk.client.call_tool(name="speak")

        asyncio.run(main())

    def test_undeclared_properties_are_sent_along_or_dropped(self) -> None:
        async def tool(policy: dict[str, LossAction]) -> Any:
            async with converse(Everything(), "2024-11-05", policy=policy) as talk:
                await talk.client.list_tools()
                return talk.result_of("tools/list")["tools"][0]

        assert asyncio.run(tool({})).keys() == {"name", "title", "icons", "inputSchema"}
        assert asyncio.run(tool({"undeclared": LossAction.DROP})).keys() == {"name", "inputSchema"}

    def test_conversions_of_another_runtime_must_be_regenerated(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "older_bindings" / "bridges"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text('REVISIONS = {"2025-11-25": "v2025_11_25"}\nTABLES = {}\nKINDS = ()\n')
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        binding = Binding(
            format=FORMAT,
            package="older_bindings.v2025_11_25",
            revision=NEWEST,
            era="legacy",
            methods={},
            errors={},
            bridging=Bridging(),
        )
        with pytest.raises(BindingFormatError, match="generated in format 1, but this runtime reads format 2"):
            binding.bridging.bridges(binding)

    def test_a_kind_that_does_not_exist_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="video"):
            Everything.__binding__.bridges(Bridging(policy={"video": LossAction.DROP}))


def test_capabilities_beyond_the_revision_are_ignored() -> None:
    info = {"name": "old", "version": "1"}
    hello: Any = {"protocolVersion": "2024-11-05", "capabilities": {"elicitation": {}, "roots": {}}, "clientInfo": info}

    async def main() -> None:
        async with raw(Everything()) as line:
            await line.ask("initialize", hello)
            assert line.server.declared[Side.CLIENT] == {"roots": {}}

    asyncio.run(main())


SAME = """
import asyncio, sys
from mcp_bindings.v2025_11_25 import Client, Server

from mcp_runtime.memory import connect_memory

async def main():
    async with connect_memory(Server()) as peer:
        await (await Client.open(peer)).ping()

asyncio.run(main())
converts = ("mcp_runtime.bridge.wire", "mcp_bindings.bridges.v")
print([name for name in sys.modules if name.startswith(converts)])
"""


def test_between_equal_revisions_no_conversion_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", SAME], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")

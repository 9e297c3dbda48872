"""A client that asks the user at the terminal before its model is called, and before the answer is sent.

Run it in a terminal: python examples/sampling_client.py osmosis
"""

import argparse
import asyncio
import sys
from pathlib import Path

from terminal import ask

from mcp_bindings import PeerError, connect_stdio
from mcp_bindings.v2025_11_25 import (
    Client,
    ClientContext,
    ClientHandlers,
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)
from mcp_runtime.client_features import Denied, reviewed

SERVER = Path(__file__).with_name("sampling_server.py")
YES = "[y]es, [n]o, or other words to send instead:"


def text_of(message: SamplingMessage | CreateMessageResult) -> str:
    blocks = message.content if isinstance(message.content, list) else [message.content]
    return "\n".join(block.text if isinstance(block, TextContent) else f"<{block.type}>" for block in blocks)


async def before(params: CreateMessageRequestParams) -> CreateMessageRequestParams | Denied:
    """Show the request; the last message can be replaced."""
    shown = "\n".join(f"{message.role}: {text_of(message)}" for message in params.messages)
    system = f"\nsystem: {params.system_prompt}" if params.system_prompt else ""
    answer = await ask(f"The server wants your model to answer this:{system}\n{shown}", f"Ask the model? {YES}")
    if answer is None or answer.lower() in ("", "n", "no"):
        return Denied(reason="there is nobody to ask" if answer is None else "")
    if answer.lower() in ("y", "yes"):
        return params
    edited = SamplingMessage(role="user", content=TextContent(text=answer))
    return params.model_copy(update={"messages": [*params.messages[:-1], edited]})


async def after(params: CreateMessageRequestParams, result: CreateMessageResult) -> CreateMessageResult | Denied:
    """Show the model's answer; it can be replaced too."""
    answer = await ask(f"Your model answers:\n{text_of(result)}", f"Send this to the server? {YES}")
    if answer is None or answer.lower() in ("", "n", "no"):
        return Denied()
    if answer.lower() in ("y", "yes"):
        return result
    return result.model_copy(update={"content": TextContent(text=answer)})


async def model(params: CreateMessageRequestParams) -> CreateMessageResult:
    """Act as a language model."""
    question = text_of(params.messages[-1])
    reply = TextContent(text=f"Nobody knows, though you asked so nicely: {question!r}.")
    return CreateMessageResult(role="assistant", model="shrug-1", content=reply, stop_reason="endTurn")


class Host(ClientHandlers):
    async def create_message(self, params: CreateMessageRequestParams, ctx: ClientContext) -> CreateMessageResult:
        return await reviewed(model, before=before, after=after)(params)


async def main(word: str) -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, handlers=Host())
        try:
            result = await client.call_tool("explain", {"word": word})
        except PeerError as error:
            # From 2026-07-28 on, a server does not learn of a refusal: the call ends here.
            print("refused:", error)
            return
        [reply] = result.content
        assert isinstance(reply, TextContent)
        print("refused:" if result.is_error else "explained:", reply.text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word")
    asyncio.run(main(**vars(parser.parse_args())))

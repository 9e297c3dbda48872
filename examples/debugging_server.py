"""A server whose prompt is a conversation with several turns, including answers of the assistant.

A single question gets a single guess. With earlier turns, a model continues as it seems to have begun: it asks before
it answers, and looks at one cause at a time.
"""

import argparse

from mcp_bindings import (
    Context,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    PeerError,
    Prompt,
    PromptArgument,
    PromptMessage,
    Role,
    Server,
    ServerOptions,
    TextContent,
    serve_stdio,
)

DEBUG = Prompt(
    name="debug-error",
    description="Goes after an error, one step at a time.",
    arguments=[
        PromptArgument(name="error", description="The error as it was shown.", required=True),
        PromptArgument(name="tried", description="What was tried already, separated by semicolons."),
    ],
)


def conversation(error: str, tried: list[str]) -> list[tuple[Role, str]]:
    turns: list[tuple[Role, str]] = [
        ("user", f"My program stops with this: {error}"),
        ("assistant", "Let us find the cause before we change anything. What have you tried so far?"),
        ("user", "Nothing yet." if not tried else "These did not help: " + ", ".join(tried) + "."),
    ]
    if tried:
        turns.append(("assistant", f"Good, that rules out {len(tried)} of the usual causes. What changed last?"))
        turns.append(("user", "I do not know. Tell me how to find out, one step after the other."))
    return turns


class Debugger(Server):
    options = ServerOptions(name="debugger", version="1.0")

    async def list_prompts(self, params: PaginatedRequestParams | None, ctx: Context) -> ListPromptsResult:
        return ListPromptsResult(prompts=[DEBUG])

    async def get_prompt(self, params: GetPromptRequestParams, ctx: Context) -> GetPromptResult:
        given = params.arguments or {}
        if params.name != DEBUG.name or "error" not in given:
            raise PeerError(-32602, "the only prompt is debug-error, and it needs an error")
        tried = [step for each in given.get("tried", "").split(";") if (step := each.strip())]
        messages = [
            PromptMessage(role=role, content=TextContent(text=text))
            for role, text in conversation(given["error"], tried)
        ]
        return GetPromptResult(description=DEBUG.description, messages=messages)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Debugger())

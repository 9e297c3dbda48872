"""A server with two prompts that a user picks from a menu: one writes a commit message, one explains code."""

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
    Server,
    ServerOptions,
    TextContent,
    serve_stdio,
)

GIT_COMMIT = Prompt(
    name="git-commit",
    description="Writes a commit message.",
    arguments=[PromptArgument(name="changes", description="A diff, or what was done in words.", required=True)],
)
EXPLAIN_CODE = Prompt(
    name="explain-code",
    description="Explains what code does.",
    arguments=[
        PromptArgument(name="code", description="The code.", required=True),
        PromptArgument(name="language", description="What it is written in; guessed if absent."),
    ],
)
PROMPTS = {prompt.name: prompt for prompt in (GIT_COMMIT, EXPLAIN_CODE)}


class Prompts(Server):
    options = ServerOptions(name="prompts", version="1.0")

    async def list_prompts(self, params: PaginatedRequestParams | None, ctx: Context) -> ListPromptsResult:
        return ListPromptsResult(prompts=list(PROMPTS.values()))

    async def get_prompt(self, params: GetPromptRequestParams, ctx: Context) -> GetPromptResult:
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            raise PeerError(-32602, f"unknown prompt {params.name}")
        given = params.arguments or {}
        for argument in prompt.arguments or []:
            if argument.required and argument.name not in given:
                raise PeerError(-32602, f"{prompt.name} needs the argument {argument.name}")
        text = git_commit(given["changes"]) if prompt is GIT_COMMIT else explain(given["code"], given.get("language"))
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(description=prompt.description, messages=[message])


def git_commit(changes: str) -> str:
    return f"Write a commit message: one short line in the imperative, then why it was done.\n\n{changes}"


def explain(code: str, language: str | None) -> str:
    return f"Tell someone new to {language or 'its language'} what this code does, step by step:\n\n{code}"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Prompts())

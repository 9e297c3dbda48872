"""A server that completes arguments as they are typed: of a prompt, and of a resource's URI.

Earlier choices narrow later ones: the suggested files are those of the chosen language.
"""

import argparse

from mcp_bindings import (
    CompleteRequestParams,
    CompleteResult,
    CompleteResultCompletion,
    Context,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    PeerError,
    Prompt,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    Server,
    ServerOptions,
    TextContent,
    TextResourceContents,
    serve_stdio,
)

FILES = {
    "python": ["main.py", "model.py", "tests.py"],
    "perl": ["main.pl"],
    "pascal": ["main.pas", "strings.pas"],
    "rust": [f"part{number}.rs" for number in range(150)],
}
MAX_VALUES = 100
"""The maximum number of values in an answer (server/utilities/completion)."""
TEMPLATE = "code://{language}/{file}"


class Completing(Server):
    options = ServerOptions(name="completing", version="1.0")

    async def list_prompts(self, params: PaginatedRequestParams | None, ctx: Context) -> ListPromptsResult:
        language = PromptArgument(name="language", required=True)
        return ListPromptsResult(prompts=[Prompt(name="teach", arguments=[language])])

    async def get_prompt(self, params: GetPromptRequestParams, ctx: Context) -> GetPromptResult:
        language = (params.arguments or {}).get("language")
        if params.name != "teach" or language is None:
            raise PeerError(-32602, "the only prompt is teach, with a language")
        text = TextContent(text=f"Teach me {language}.")
        return GetPromptResult(messages=[PromptMessage(role="user", content=text)])

    async def list_resource_templates(
        self, params: PaginatedRequestParams | None, ctx: Context
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[ResourceTemplate(name="code", uri_template=TEMPLATE)])

    async def read_resource(self, params: ReadResourceRequestParams, ctx: Context) -> ReadResourceResult:
        language, _, file = params.uri.removeprefix("code://").partition("/")
        if file not in FILES.get(language, ()):
            raise PeerError(-32002, "there is no such file", {"uri": params.uri})
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=f"This is {file}.")])

    async def complete(self, params: CompleteRequestParams, ctx: Context) -> CompleteResult:
        ref = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
        if ref not in ("teach", TEMPLATE):
            raise PeerError(-32602, "there is no such prompt or template")
        chosen = (params.context.arguments if params.context else None) or {}
        known = {"language": list(FILES), "file": FILES.get(chosen.get("language", ""), [])}
        found = [each for each in known.get(params.argument.name, []) if each.startswith(params.argument.value)]
        shown = found[:MAX_VALUES]
        return CompleteResult(
            completion=CompleteResultCompletion(values=shown, total=len(found), has_more=len(found) > len(shown))
        )


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Completing())

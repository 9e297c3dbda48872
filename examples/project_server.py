"""A server whose prompt includes files: a question about a project, with its files as embedded resources.

The model sees the files, and the client knows where each comes from and can read it again as a resource.
"""

import argparse
from pathlib import Path

from mcp_bindings import PeerError, ServerOptions, serve_stdio
from mcp_bindings.v2025_11_25 import (
    Context,
    EmbeddedResource,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    Server,
    TextContent,
    TextResourceContents,
)

RESOURCE_NOT_FOUND = -32002
MEDIA_TYPES = {".py": "text/x-python", ".md": "text/markdown"}


class Project(Server):
    options = ServerOptions(name="project", version="1.0")

    def __init__(self, folder: Path) -> None:
        self.files = {path.as_uri(): path for path in sorted(folder.iterdir()) if path.suffix in MEDIA_TYPES}

    async def list_resources(self, params: PaginatedRequestParams | None, ctx: Context) -> ListResourcesResult:
        named = [
            Resource(uri=uri, name=path.name, mime_type=MEDIA_TYPES[path.suffix], size=path.stat().st_size)
            for uri, path in self.files.items()
        ]
        return ListResourcesResult(resources=named)

    async def read_resource(self, params: ReadResourceRequestParams, ctx: Context) -> ReadResourceResult:
        if params.uri not in self.files:
            raise PeerError(RESOURCE_NOT_FOUND, "there is no such file", {"uri": params.uri})
        return ReadResourceResult(contents=[self.contents(params.uri)])

    async def list_prompts(self, params: PaginatedRequestParams | None, ctx: Context) -> ListPromptsResult:
        goal = PromptArgument(name="goal", description="What to look for.")
        prompt = Prompt(name="analyze-project", description="Looks at all files of the project.", arguments=[goal])
        return ListPromptsResult(prompts=[prompt])

    async def get_prompt(self, params: GetPromptRequestParams, ctx: Context) -> GetPromptResult:
        if params.name != "analyze-project":
            raise PeerError(-32602, f"unknown prompt {params.name}")
        goal = (params.arguments or {}).get("goal", "what should be done first")
        question = TextContent(text=f"Here are the {len(self.files)} files of a project. Tell me {goal}.")
        messages = [PromptMessage(role="user", content=question)]
        for uri in self.files:
            messages.append(PromptMessage(role="user", content=EmbeddedResource(resource=self.contents(uri))))
        return GetPromptResult(messages=messages)

    def contents(self, uri: str) -> TextResourceContents:
        path = self.files[uri]
        return TextResourceContents(uri=uri, mime_type=MEDIA_TYPES[path.suffix], text=path.read_text("utf-8"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"{given.folder} is not a folder")
    serve_stdio(Project(given.folder.absolute()))

"""A server with a log file as a resource: subscribed clients are notified when it grows."""

import argparse
import asyncio
from pathlib import Path

from mcp_bindings import Connection, PeerError, ServerOptions, resource_updated, serve_stdio
from mcp_bindings.v2025_11_25 import (
    Context,
    EmptyResult,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    Server,
    SubscribeRequestParams,
    TextResourceContents,
)

RESOURCE_NOT_FOUND = -32002
LOOK_EVERY = 0.05


class LogFile(Server):
    options = ServerOptions(name="log-file", version="1.0")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.uri = path.as_uri()

    def connected(self, connection: Connection) -> None:
        """Watch the file while the client is connected."""
        connection.spawn(self.watch())

    async def watch(self) -> None:
        seen = self.path.stat().st_size
        while True:
            await asyncio.sleep(LOOK_EVERY)
            size = self.path.stat().st_size
            if size != seen:
                seen = size
                await resource_updated(self, self.uri)

    async def list_resources(self, params: PaginatedRequestParams | None, ctx: Context) -> ListResourcesResult:
        return ListResourcesResult(resources=[Resource(uri=self.uri, name=self.path.name, mime_type="text/plain")])

    async def read_resource(self, params: ReadResourceRequestParams, ctx: Context) -> ReadResourceResult:
        self.check(params.uri)
        text = self.path.read_text("utf-8", errors="replace")
        return ReadResourceResult(contents=[TextResourceContents(uri=self.uri, mime_type="text/plain", text=text)])

    async def subscribe(self, params: SubscribeRequestParams, ctx: Context) -> EmptyResult:
        """Accept the subscription; the runtime remembers it."""
        self.check(params.uri)
        return EmptyResult()

    def check(self, uri: str) -> None:
        if uri != self.uri:
            raise PeerError(RESOURCE_NOT_FOUND, "there is no such resource", {"uri": uri})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="LOGFILE", type=Path)
    given = parser.parse_args()
    if not given.path.is_file():
        parser.error(f"{given.path} is not a file")
    serve_stdio(LogFile(given.path.absolute()))

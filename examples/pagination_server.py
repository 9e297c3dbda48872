"""A server that lists its resources in pages of ten, each with a cursor for the next one."""

import argparse
import base64
import binascii

from mcp_bindings import (
    Context,
    ListResourcesResult,
    PaginatedRequestParams,
    PeerError,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    Server,
    ServerOptions,
    TextResourceContents,
    serve_stdio,
)

PAGE = 10
NOTES = {f"note://{number}": f"Note {number}" for number in range(1, 26)}


def write_cursor(start: int) -> str:
    """Return the cursor of a page: an opaque text that clients pass back."""
    return base64.urlsafe_b64encode(str(start).encode()).decode()


def read_cursor(cursor: str) -> int:
    """Return where a page starts; unknown cursors are refused."""
    try:
        start = int(base64.urlsafe_b64decode(cursor))
    except (ValueError, binascii.Error):
        start = 0
    if not 0 < start < len(NOTES) or start % PAGE:
        raise PeerError(-32602, "this cursor is not one of ours")
    return start


class Notes(Server):
    options = ServerOptions(name="notes", version="1.0")

    async def list_resources(self, params: PaginatedRequestParams | None, ctx: Context) -> ListResourcesResult:
        start = read_cursor(params.cursor) if params and params.cursor is not None else 0
        page = [Resource(uri=uri, name=name) for uri, name in list(NOTES.items())[start : start + PAGE]]
        end = start + PAGE
        return ListResourcesResult(resources=page, next_cursor=write_cursor(end) if end < len(NOTES) else None)

    async def read_resource(self, params: ReadResourceRequestParams, ctx: Context) -> ReadResourceResult:
        if params.uri not in NOTES:
            raise PeerError(-32002, "there is no such note", {"uri": params.uri})
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=NOTES[params.uri])])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Notes())

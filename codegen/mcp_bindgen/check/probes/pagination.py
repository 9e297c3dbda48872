"""Probes of the page "pagination"."""

from mcp_bindgen.check.probe import INVALID_PARAMS, LISTS, Context, Found, probe, wrong_answer
from mcp_bindgen.json_values import as_object


@probe("pagination.invalid", also=("tasks.unknown-cursor",))
async def invalid_cursor(context: Context) -> str | None:
    """A server without pages may ignore cursors; one that gave a cursor must know which are its own."""
    for name in (*LISTS, "tasks"):
        method = f"{name}/list"
        if not context.has("tasks.list" if name == "tasks" else name):
            continue
        if "nextCursor" not in as_object((await context.peer.ask(method)).get("result")):
            continue
        answer = await context.peer.ask(method, {"cursor": "not a cursor of this server"}, is_valid=False)
        if reason := wrong_answer(f"{method} with an invalid cursor", answer, f"error {INVALID_PARAMS}"):
            context.find(Found("tasks.unknown-cursor" if name == "tasks" else "pagination.invalid", reason))
    return None

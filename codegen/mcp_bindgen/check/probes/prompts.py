"""Probes of the page "prompts"."""

from mcp_bindgen.check.client import code_of, told
from mcp_bindgen.check.probe import INVALID_PARAMS, Context, probe
from mcp_bindgen.json_values import as_list, as_object


@probe("prompts.missing-arguments")
async def missing_arguments(context: Context) -> str | None:
    """Get a prompt without an argument that it requires."""
    for prompt in await context.listed("prompts"):
        if any(as_object(each).get("required") is True for each in as_list(prompt.get("arguments"))):
            answer = await context.peer.ask("prompts/get", {"name": prompt.get("name")}, is_valid=False)
            if code_of(answer) != INVALID_PARAMS and not as_object(answer.get("result")).get("inputRequests"):
                return f"{prompt.get('name')} without its arguments is answered by {told(answer)}"
            return None
    return None

"""From a contract to the source text of its module."""

import json

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.emit.header import header
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.emit.python.scope import names_in
from mcp_bindgen.tool_clients.calls import client_view
from mcp_bindgen.tool_clients.contract import Contract, digest
from mcp_bindgen.tool_clients.plan import plan

TEMPLATE = "tools.py.j2"
MAX_FORMATTED = 1_000
"""How many tools a module may have to be formatted by black, which takes about 20 ms for each."""


def module(contract: Contract, client: str, diagnostics: Diagnostics) -> str:
    """Return the module that calls the tools of a contract: the same for the same contract, and formatted by black."""
    view = client_view(contract, client, plan(contract, client, diagnostics), diagnostics)
    methods = {tool.method for tool in view.tools}
    page = Page(
        path="tools.py",
        template=TEMPLATE,
        context={"client": view},
        bound=names_in(view) | methods,
        is_formatted=len(contract.tools) <= MAX_FORMATTED,
    )
    return Templates().render([page], _header(contract))[page.path]


def _header(contract: Contract) -> tuple[str, ...]:
    return (
        f"server:   {contract.server} {contract.version}".rstrip(),
        f"contract: {digest(json.loads(contract.lock()))}, {len(contract.tools)} tools",
        *header("mcp-bindgen tools generate"),
    )

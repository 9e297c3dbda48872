"""The lines of a user's code that call tools in a way that a change of their contract affects."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.diff.rules.contracts import TOOL_INPUT_NARROWED, TOOL_OUTPUT_WIDENED, TOOL_REMOVED
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.render import Page
from mcp_bindgen.emit.python.scope import names_in
from mcp_bindgen.impact.bindings import Bindings, PythonName
from mcp_bindgen.impact.checkers import Checker
from mcp_bindgen.impact.marks import Marks
from mcp_bindgen.impact.report import Impact
from mcp_bindgen.impact.run import impact
from mcp_bindgen.impact.stubs import Stubs
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.history import Lifetime
from mcp_bindgen.tool_clients.calling.plan import MODULE, client_view, plan
from mcp_bindgen.tool_clients.comparing.compare import compare
from mcp_bindgen.tool_clients.contract import Contract
from mcp_bindgen.tool_clients.servers import Server
from mcp_bindgen.tool_clients.typing.names import client_name, convention


class ToolBindings(Bindings):
    """The module that calls the tools of a contract."""

    def __init__(self, contract: Contract, client: str, title: str) -> None:
        planned = plan(contract, client, Diagnostics())
        self.view = client_view(contract, client, planned, Diagnostics())
        types = planned.types
        names = Names(types, contract.server, Diagnostics(), convention(types.definitions))
        module = views.Module(name=MODULE, definitions=self.view.definitions)
        super().__init__(types, names, [module], title)
        self.tools = {tool.name: tool for tool in self.view.tools}
        functions = (
            views.Function(
                kind="request",
                name=tool.method,
                method=tool.name,
                record=tool.record,
                signature=tool.signature,
                is_request=True,
                doc=tool.doc,
                is_deprecated=False,
                history=Lifetime(),
            )
            for tool in self.view.tools
        )
        self.stubs = {client: {function.name: function for function in functions}}
        self.exports = set(self.view.exports)

    def params(self, method: str) -> Iterator[str]:
        """Iterate over the model of the arguments of a tool."""
        return iter([str(self.tools[method].input)] if self.tools[method].arguments else [])

    def of_finding(self, finding: Finding, new: Bindings) -> Iterator[PythonName]:
        """Iterate over the Python names of a finding: for one about a tool, its method if no narrower one exists."""
        tool = self.tools.get(finding.place.partition(".")[0])
        if finding.rule not in (TOOL_REMOVED, TOOL_INPUT_NARROWED, TOOL_OUTPUT_WIDENED):
            yield from super().of_finding(finding, new)
        elif tool is not None and isinstance(new, ToolBindings) and _is_whole(finding.rule, tool, new):
            yield PythonName(self.view.name, tool.method)


def _is_whole(rule: Rule, tool: views.Tool, new: ToolBindings) -> bool:
    """Whether a change affects all calls of a tool, and not single arguments or properties."""
    after = new.tools.get(tool.name)
    if after is None or rule is TOOL_REMOVED:
        return True
    if rule is TOOL_OUTPUT_WIDENED:
        return str(tool.data) != str(after.data)
    return str(tool.whole) != str(after.whole)


class ToolStubs(Stubs):
    """The stub of the module that calls the tools of a contract."""

    def pages(self) -> Iterator[Page]:
        """Iterate over the only page."""
        old = self.marks.old
        assert isinstance(old, ToolBindings)
        module = self.module(views.Module(name=MODULE, definitions=old.view.definitions))
        context = {
            "module": module,
            "client": old.view.name,
            "calls": self.calls(old.view.name),
            "wholes": {tool.method: tool.whole for tool in old.view.tools if tool.whole},
        }
        bound = names_in(old.view) | {tool.method for tool in old.view.tools}
        yield Page(path="tools.py", template="marked_tools.pyi.j2", context=context, bound=bound)


def callers(
    server: Server, old: Contract, new: Contract, paths: Sequence[Path], *, checker: Checker, diagnostics: Diagnostics
) -> Impact:
    """Return how a change of a server's contract affects the code that calls its tools.

    Raises:
        InputError: the server has no module, a path contains no Python file, or the checker fails.
    """
    if server.module is None:
        message = "needs the module that calls the tools: name it in [tool.mcp-bindgen.tools.NAME] of pyproject.toml"
        raise InputError.at("--impact", message)
    packages = _packages_of(server.module)
    return impact(_stubs_of(server, old, new), paths, packages, checker, diagnostics, module=server.module)


def _stubs_of(server: Server, old: Contract, new: Contract) -> Stubs:
    client = server.client or client_name(old.server)
    before, after = ToolBindings(old, client, server.lock.name), ToolBindings(new, client, new.server)
    types = compare_definitions(before.protocol, after.protocol)
    return ToolStubs(Marks([*compare(old, new), *types], before, after))


def _packages_of(module: Path) -> list[str]:
    """Return the names under which code may import a module: that of a package is its folder."""
    home = module.resolve()
    parts = (home.parent if home.name == "__init__.py" else home.with_suffix("")).parts[1:]
    return [f".{'.'.join(parts)}", *(".".join(parts[start:]) for start in range(len(parts)))]

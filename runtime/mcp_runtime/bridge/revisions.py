"""The conversions from one revision to another, through the tables in between."""

from functools import cache
from importlib import import_module
from itertools import pairwise

from mcp_runtime.bridge.convert import PARAMS, RESULT, Compiled, Converter, Policy, converter
from mcp_runtime.bridge.steps import Step, within
from mcp_runtime.bridge.table import FORMAT, Table
from mcp_runtime.core.errors import BindingFormatError


def conversions(package: str, source: str, target: str, policy: Policy) -> "Conversions":
    """Return the conversions from one revision to another.

    Args:
        package: the package that contains the bindings of both.
        source: the revision of the messages.
        target: the revision that they are converted to.
        policy: the action for each kind of value that a revision cannot express.
    """
    revisions = sorted(import_module(f"{package}.bridges").REVISIONS)
    up = source < target
    between = [r for r in revisions if min(source, target) <= r <= max(source, target)]
    tables = [load_table(package, old, new) for old, new in pairwise(between)]
    return Conversions(tables if up else tables[::-1], up=up, policy=policy)


@cache
def load_table(package: str, old: str, new: str) -> Table:
    """Import the conversions between two neighbouring revisions.

    Raises:
        BindingFormatError: they were generated for another version of the runtime.
    """
    name = import_module(f"{package}.bridges").TABLES[old, new]
    table: Table = import_module(f"{package}.bridges.{name}").TABLE
    if table.format != FORMAT:
        raise BindingFormatError(f"{package}.bridges", f"{old} {new}", found=table.format, expected=FORMAT)
    return table


class Conversions:
    """Converts messages from one revision to another, through the tables in between.

    Args:
        tables: the tables, in the order in which they are applied.
        up: whether the target is the newer revision.
        policy: the action for each kind of value that a revision cannot express.

    Attributes:
        tables: the tables, in the order in which they are applied.
        up: whether the target is the newer revision.
    """

    def __init__(self, tables: list[Table], *, up: bool, policy: Policy) -> None:
        self.tables = tables
        self.up = up
        self._compiled = [Compiled(table, up=up, policy=policy) for table in tables]
        self._found: dict[tuple[str, str], Converter | None] = {}

    def converter(self, method: str, part: str) -> Converter | None:
        """Return the converter of a part of a method's messages; None if it is the same in both revisions."""
        key = (method, part)
        if key not in self._found:
            steps: list[tuple[Step, str]] = []
            name = method
            for compiled in self._compiled:
                step = compiled.part(name, part)
                name = compiled.renamed(name)
                if step is not None:
                    steps.append((step, compiled.target))
            self._found[key] = converter(method, part, steps)
        return self._found[key]

    def declared(self, side: str, method: str) -> Converter | None:
        """Return the converter of a side's capabilities; None if they are the same.

        Args:
            side: ``client`` or ``server``.
            method: the method whose params or result declare them, for reports of losses.
        """
        found = [(compiled.declared(side), compiled.target) for compiled in self._compiled]
        steps = [(within("capabilities", step), target) for step, target in found if step is not None]
        return converter(method, PARAMS if side == "client" else RESULT, steps)

    def refuses_more(self, method: str, part: str) -> bool:
        """Whether the source may reject a value, once converted, that is valid in the target."""
        return any(compiled.refuses_more(method, part) for compiled in self._compiled)

    def differs(self, method: str, part: str) -> bool:
        """Whether the types of a part differ at all between the two revisions."""
        return any(compiled.differs(method, part) for compiled in self._compiled)

"""The revisions that an implementation can be bridged to, and the conversion tables in between."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from mcp_runtime.binding import Binding
from mcp_runtime.bridge.convert import PARAMS, RESULT, Compiled, Converter, Policy, converter
from mcp_runtime.bridge.policy import Bridging
from mcp_runtime.bridge.steps import Step, within
from mcp_runtime.bridge.table import FORMAT, Table
from mcp_runtime.errors import BindingFormatError, UnsupportedRevision


class Bridges:
    """The bridges of one implementation.

    Args:
        binding: the revision that it is written against.
        bridging: which revisions to offer, and what to do with values that they cannot express.

    Attributes:
        revisions: the offered revisions, oldest first.

    Raises:
        ValueError: its package has no conversions, or the policy names an unknown kind.
        UnsupportedRevision: a requested revision cannot be bridged.
        BindingFormatError: the conversions were generated for another version of the runtime.
    """

    def __init__(self, binding: Binding, bridging: Bridging) -> None:
        self.binding = binding
        self.bridging = bridging
        self._package = binding.package.rpartition(".")[0]
        self._index = _index(self._package)
        known: Mapping[str, str] = self._index.REVISIONS
        if not hasattr(self._index, "ERAS"):
            raise BindingFormatError(f"{self._package}.bridges", binding.revision, found=1, expected=FORMAT)
        if binding.revision not in known:
            reason = f"bridges are available only between {', '.join(known)}"
            raise UnsupportedRevision((binding.revision,), tuple(known), reason)
        there = {revision for revision, folder in known.items() if find_spec(f"{self._package}.{folder}")}
        wanted = there if bridging.revisions is None else {*bridging.revisions, binding.revision}
        if not wanted <= there:
            raise UnsupportedRevision(tuple(sorted(wanted - there)), tuple(sorted(there)))
        self.revisions = tuple(sorted(wanted))
        strange = sorted(set(bridging.policy) - set(self._index.KINDS))
        if strange:
            raise ValueError(f"policy: unknown kind {', '.join(strange)}; known kinds: {', '.join(self._index.KINDS)}")

    def era(self, revision: str) -> str:
        """Return how conversations of a revision begin: ``legacy`` or ``modern``."""
        found: str = self._index.ERAS[revision]
        return found

    def wire(self, revision: str) -> Binding:
        """Return the bindings of an offered revision."""
        if revision == self.binding.revision:
            return self.binding
        found: Binding = import_module(f"{self._package}.{self._index.REVISIONS[revision]}").BINDING
        return found

    def conversions(self, source: str, target: str) -> "Conversions":
        """Return the conversions from one revision to another."""
        revisions = sorted(self._index.REVISIONS)
        up = source < target
        between = [r for r in revisions if min(source, target) <= r <= max(source, target)]
        tables = [load_table(self._package, old, new) for old, new in pairwise(between)]
        return Conversions(tables if up else tables[::-1], up=up, policy=self.bridging.policy)


def _index(package: str) -> Any:
    try:
        return import_module(f"{package}.bridges")
    except ModuleNotFoundError as error:
        reason = f"{package or 'the package'} has no conversions; generate two revisions or more: mcp-bindgen generate"
        raise ValueError(reason) from error


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

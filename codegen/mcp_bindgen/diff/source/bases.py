"""Compare which definitions extend which: where a class is accepted in place of another."""

from collections.abc import Iterable, Iterator

from mcp_bindgen.diff.finding import Finding, Subject
from mcp_bindgen.diff.sites import BaseSite
from mcp_bindgen.diff.source.matched import Matched, is_typescript
from mcp_bindgen.ir.names import lineage
from mcp_bindgen.ir.nodes import Protocol, Struct


def compare_bases(sides: Matched) -> Iterator[Finding]:
    """Iterate over the bases that objects gained or lost, reporting only the nearest of a chain.

    Only schema.ts says what extends what. The removal of a base itself is a separate finding.
    """
    if not (is_typescript(sides.old) and is_typescript(sides.new)):
        return
    for old, new in sides.pairs():
        if isinstance(old, Struct) and isinstance(new, Struct):
            before = lineage(old.name, sides.old.definitions)
            after = lineage(new.name, sides.new.definitions)
            subjects = Subject(definition=old.name), Subject(definition=new.name)
            for base in _nearest(_lost(before, after, sides.matching.pairs), sides.old):
                yield from sides.findings(BaseSite(before=base, after=None), *subjects)
            for base in _nearest(_lost(after, before, [(b, a) for a, b in sides.matching.pairs]), sides.new):
                yield from sides.findings(BaseSite(before=None, after=base), *subjects)


def _lost(bases: Iterable[str], others: Iterable[str], pairs: Iterable[tuple[str, str]]) -> list[str]:
    """The bases that exist on the other side as definitions, but not as bases."""
    partners: dict[str, set[str]] = {}
    for a, b in pairs:
        partners.setdefault(a, set()).add(b)
    return [base for base in bases if base in partners and not partners[base] & {*others}]


def _nearest(bases: list[str], protocol: Protocol) -> list[str]:
    inherited = {further for base in bases for further in lineage(base, protocol.definitions)}
    return [base for base in bases if base not in inherited]

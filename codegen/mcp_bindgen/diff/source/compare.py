"""Compare two revisions definition by definition: what changes for Python code and for readers of the schema.

The findings are those of the source view, and wire findings whose rule breaks source; they have no carriers.
Definitions are matched first: by name, by place and by shape.
"""

from collections.abc import Iterable, Iterator, Mapping

from mcp_bindgen.diff.finding import Finding, Subject
from mcp_bindgen.diff.inputs import is_typescript
from mcp_bindgen.diff.rule import NOTHING
from mcp_bindgen.diff.rules.definitions import (
    DEFINITION_ADDED,
    DEFINITION_MERGED,
    DEFINITION_NAME_REUSED,
    DEFINITION_REMOVED,
    DEFINITION_RENAMED,
    DEFINITION_SPLIT,
    REF_RETARGETED,
    TYPE_INLINED,
    TYPE_NAMED,
)
from mcp_bindgen.diff.sites import BaseSite, DefinitionSite, OrderSite
from mcp_bindgen.diff.source.annotations import compare_annotations, compare_files
from mcp_bindgen.diff.source.bodies import INLINE, Bodies, compare_references
from mcp_bindgen.diff.source.matched import Matched, in_order, is_inline
from mcp_bindgen.diff.types.matching import match_definitions
from mcp_bindgen.ir.facts import by_position, params_structs
from mcp_bindgen.ir.methods import RUNTIME_REQUESTS
from mcp_bindgen.ir.names import lineage
from mcp_bindgen.ir.nodes import Alias, Protocol, Struct
from mcp_bindgen.ir.spell import spell


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


def compare_order(sides: Matched) -> Iterator[Finding]:
    """Iterate over the params whose order changed for callers that pass them by position, as schema.ts lists them."""
    partners = {method.name: method for method in sides.new.methods if method.name not in RUNTIME_REQUESTS}
    for method in sides.old.methods if is_typescript(sides.old) and is_typescript(sides.new) else ():
        forms = params_structs(sides.old, method)
        others = params_structs(sides.new, partners[method.name]) if method.name in partners else ()
        # The stubs of a union take its properties by name.
        for old, new in zip(forms, others, strict=True) if len(forms) == len(others) == 1 else ():
            kept = tuple(name for name in by_position(old) if new.field(name))
            site = OrderSite(before=kept, after=by_position(new)[: len(kept)])
            yield from sides.findings(site, *(Subject(definition=struct.name) for struct in (old, new)))


def compare_definitions(old: Protocol, new: Protocol) -> tuple[Finding, ...]:
    """Return the changes of definitions and their annotations, each once, in a stable order."""
    sides = Matched(old, new, match_definitions(old, new))
    bodies = Bodies(sides)
    findings = [
        *_existence(sides),
        *compare_references(sides),
        *bodies.compare(),
        *compare_bases(sides),
        *compare_order(sides),
        *compare_annotations(sides),
    ]
    if sides.mixed:
        findings = [finding for finding in findings if _is_in_both_halves(finding, sides)]
    changed = bool(findings) or bodies.differ()
    return in_order([*findings, *compare_files(sides, changed=changed)])


def _is_in_both_halves(finding: Finding, sides: Matched) -> bool:
    """Whether a schema.json can express the change as well as a schema.ts can.

    It repeats inherited properties along with their inline objects, writes scalars and unions of one member out
    instead of their names, and lacks the `_meta` of inline params.
    """
    ends = (finding.before, sides.old), (finding.after, sides.new)
    named = [subject for subject, side in ends if subject and not is_inline(side.definitions[subject.definition])]
    if finding.rule in (DEFINITION_ADDED, DEFINITION_REMOVED, DEFINITION_RENAMED):
        return len(named) == sum(subject is not None for subject, _ in ends)
    if finding.rule in (TYPE_NAMED, TYPE_INLINED):
        return INLINE in (finding.old, finding.new)
    return finding.rule is not REF_RETARGETED and not any(s.member == "_meta" for s, _ in ends if s)


def _existence(sides: Matched) -> Iterator[Finding]:
    """Iterate over the definitions that were added, removed or renamed, and over names that were reused."""
    matching = sides.matching
    reused = {*matching.reused}
    gone = {name for name in sides.old.definitions if name not in sides.new.definitions}
    come = {name for name in sides.new.definitions if name not in sides.old.definitions}
    renamed = [(a, b) for a, b in matching.pairs if a in gone | reused and b in come | reused]
    for a, b in renamed:
        yield from _changed(sides, DEFINITION_RENAMED.id, (a, b), a, b)
    for name in matching.reused:
        kinds = _kind(sides.old, name), _kind(sides.new, name)
        yield from _changed(sides, DEFINITION_NAME_REUSED.id, kinds, name, name)
    for name, parts in matching.splits.items():
        yield from _changed(sides, DEFINITION_SPLIT.id, (name, " | ".join(parts)), name, None)
    for name, parts in matching.merges.items():
        yield from _changed(sides, DEFINITION_MERGED.id, (" | ".join(parts), name), None, name)
    for name in gone - {a for a, _ in renamed} - matching.splits.keys() - _parts(matching.merges):
        yield from _changed(sides, DEFINITION_REMOVED.id, (name, NOTHING), name, None)
    for name in come - {b for _, b in renamed} - matching.merges.keys() - _parts(matching.splits):
        yield from _changed(sides, DEFINITION_ADDED.id, (NOTHING, name), None, name)


def _changed(
    sides: Matched, rule: str, readings: tuple[str, str], before: str | None, after: str | None
) -> Iterator[Finding]:
    subjects = [Subject(definition=name) if name is not None else None for name in (before, after)]
    yield from sides.findings(DefinitionSite(rule=rule, before=readings[0], after=readings[1]), *subjects)


def _parts(groups: Mapping[str, tuple[str, ...]]) -> set[str]:
    return {part for parts in groups.values() for part in parts}


def _kind(protocol: Protocol, name: str) -> str:
    """Describe a definition: the type of an alias, or the properties of an object."""
    definition = protocol.definitions[name]
    if isinstance(definition, Alias):
        return spell(definition.type)
    return f"{{ {', '.join(field.wire_name for field in definition.fields)} }}"

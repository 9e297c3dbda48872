"""Two revisions whose definitions are matched, and the findings that a comparison of them writes down."""

from collections.abc import Iterable, Iterator

from mcp_bindgen.diff.finding import Finding, Subject
from mcp_bindgen.diff.rules import judge
from mcp_bindgen.diff.types.matching import Matching
from mcp_bindgen.diff.types.pointers import Pointers
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ir.nodes import Definition, Field, Protocol, Struct


class Matched:
    """Two revisions and which of their definitions are the same."""

    def __init__(self, old: Protocol, new: Protocol, matching: Matching) -> None:
        self.old = old
        self.new = new
        self.matching = matching
        self._pointers = Pointers(old), Pointers(new)

    def pairs(self) -> Iterator[tuple[Definition, Definition]]:
        """Iterate over the definitions that are the same, in the order of their names."""
        return ((self.old.definitions[a], self.new.definitions[b]) for a, b in self.matching.pairs)

    @property
    def mixed(self) -> bool:
        """Whether one side was read from a schema.json alone and the other was not."""
        return is_typescript(self.old) != is_typescript(self.new)

    def findings(self, site: object, before: Subject | None, after: Subject | None) -> Iterator[Finding]:
        """Let the rules judge a definition or a property; the place is called as the new side calls it."""
        subject, pointers = (after, self._pointers[1]) if after else (before, self._pointers[0])
        assert subject is not None, "a finding is about something"
        for rule, (old, new) in judge(site):
            yield Finding(
                rule=rule,
                place=f"{subject.definition}.{subject.member}" if subject.member else subject.definition,
                old=old,
                new=new,
                before=before,
                after=after,
                pointer=pointers.of(subject.definition, subject.member),
            )


def declared_fields(old: Struct, new: Struct) -> Iterator[tuple[Field, Field]]:
    """Iterate over the members that two objects have, but for those that both inherit: their bases have them too."""
    for field in old.fields:
        other = new.field(field.wire_name)
        if other is not None and (field.wire_name in old.own or field.wire_name in new.own):
            yield field, other


def is_typescript(protocol: Protocol) -> bool:
    """Whether a schema.ts is among what a revision was read from: it alone says what extends what."""
    return any(source.kind == SourceKind.TYPESCRIPT for source in protocol.sources)


def is_inline(definition: Definition) -> bool:
    """Whether a definition is an object that stands inline in the schema, under a name that was made for it."""
    return isinstance(definition, Struct) and bool(definition.holder)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, each once, in a stable order."""
    once = {(f.rule.id, f.place, f.old, f.new): f for f in findings}
    return tuple(once[key] for key in sorted(once))

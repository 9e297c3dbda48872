"""Two revisions whose definitions are matched, and the findings of comparing them."""

from collections.abc import Iterable, Iterator

from mcp_bindgen.diff.finding import Finding, Subject
from mcp_bindgen.diff.inputs import is_typescript
from mcp_bindgen.diff.rules import judge
from mcp_bindgen.diff.types.matching import Matching
from mcp_bindgen.diff.types.pointers import Pointers
from mcp_bindgen.ir.nodes import Definition, Field, Protocol, Struct


class Matched:
    """Two revisions and which of their definitions correspond."""

    def __init__(self, old: Protocol, new: Protocol, matching: Matching) -> None:
        self.old = old
        self.new = new
        self.matching = matching
        self._pointers = Pointers(old), Pointers(new)

    def pairs(self) -> Iterator[tuple[Definition, Definition]]:
        """Iterate over the pairs of corresponding definitions, sorted by name."""
        return ((self.old.definitions[a], self.new.definitions[b]) for a, b in self.matching.pairs)

    @property
    def mixed(self) -> bool:
        """Whether one side was read from a schema.json alone and the other was not."""
        return is_typescript(self.old) != is_typescript(self.new)

    def findings(self, site: object, before: Subject | None, after: Subject | None) -> Iterator[Finding]:
        """Apply the rules to a definition or a property; the place has its name on the new side."""
        subject, pointers = (after, self._pointers[1]) if after else (before, self._pointers[0])
        assert subject is not None, "a finding needs a subject"
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
    """Iterate over the properties that two objects share, except those that both inherit: their bases have them too."""
    for field in old.fields:
        other = new.field(field.wire_name)
        if other is not None and (field.wire_name in old.own or field.wire_name in new.own):
            yield field, other


def is_inline(definition: Definition) -> bool:
    """Whether a definition is an inline object of the schema, whose name was generated."""
    return isinstance(definition, Struct) and bool(definition.holder)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, each once, in a stable order."""
    once = {(f.rule.id, f.place, f.old, f.new): f for f in findings}
    return tuple(once[key] for key in sorted(once))

"""The current position of a comparison: the place on each side, the message, and the path from its root."""

from dataclasses import dataclass, replace

from mcp_bindgen.diagnostics import escape_pointer
from mcp_bindgen.diff.finding import Carrier, Subject
from mcp_bindgen.diff.rule import Change, Rule
from mcp_bindgen.ir.nodes import Alias, Protocol, Ref, Struct, TypeRef
from mcp_bindgen.values.builder import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A place on one side, with the names of that side.

    `pointer` is its JSON pointer in the side's schema.json. Within an inline union it is `fixed`: the IR does not
    record the order of the members in the file.
    """

    place: str
    subject: Subject
    pointer: str = ""
    fixed: bool = False

    def on(self, place: str, pointer: str = "") -> "End":
        """Return the end with that place name, so many pointer steps deeper in the file."""
        return replace(self, place=place, pointer=self.pointer if self.fixed else self.pointer + pointer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """The position of a comparison on both sides.

    `needs` are the capabilities that the path requires. `in_capabilities` is true within the declaration of a peer's
    capabilities. `harmless` are the effects that are proven to break nothing, since a type on the path admits the
    values. `unsure` is true where a schema says more about the value than its type: then any change may have any
    effect.
    """

    before: End
    after: End
    carrier: Carrier
    way: tuple[Step, ...] = ()
    needs: frozenset[str] = frozenset()
    in_capabilities: bool = False
    harmless: Change = Change.NONE
    unsure: bool = False

    def effect(self, rule: Rule, site: object) -> Change:
        """Return the possible effect here of a change that a rule finds at a site."""
        found = rule.change_at(site) if rule.change_at else rule.change
        return (Change.BOTH if self.unsure else found) & ~self.harmless

    def item(self) -> "Spot":
        """Return the spot of the items of a list."""
        return self._deeper("[]", "/items", Step("item"))

    def value(self) -> "Spot":
        """Return the spot of an object's undeclared properties."""
        return self._deeper("{}", "/additionalProperties", Step("value"))

    def _deeper(self, mark: str, pointer: str, step: Step) -> "Spot":
        before, after = (end.on(end.place + mark, pointer) for end in (self.before, self.after))
        return replace(self, before=before, after=after, way=(*self.way, step))

    def member(self, old: TypeRef, new: TypeRef) -> "Spot":
        """Return the spot of a member of a union."""
        names = [type_.name for type_ in (new, old) if isinstance(type_, Ref)]
        way = (*self.way, _step("member", names[0], names[-1])) if names else self.way
        before, after = replace(self.before, fixed=True), replace(self.after, fixed=True)
        return replace(self, way=way, before=before, after=after)

    def field(self, old: str, new: str) -> "Spot":
        """Return the spot of a property, by its names on both sides."""
        before, after = _field(self.before, old), _field(self.after, new)
        return replace(self, before=before, after=after, way=(*self.way, _step("field", new, old)))


def _step(kind: str, new: str, old: str) -> Step:
    return Step(kind, new, old if old != new else "")


def _field(end: End, name: str) -> End:
    subject = Subject(definition=end.subject.definition, member=name)
    return replace(end.on(f"{end.place}.{name}", f"/properties/{escape_pointer(name)}"), subject=subject)


def pointer_to(name: str) -> str:
    """Return the JSON pointer of a definition in a schema.json."""
    return f"/$defs/{escape_pointer(name)}"


def through(end: End, type_: TypeRef, protocol: Protocol) -> End:
    """Follow references in the file; an inline object is at the place of its reference."""
    while isinstance(type_, Ref):
        definition = protocol.definitions[type_.name]
        if isinstance(definition, Struct) and definition.holder:
            return end
        end = replace(end, pointer=pointer_to(type_.name), fixed=False)
        if not isinstance(definition, Alias):
            return end
        type_ = definition.type
    return end


def root(name: str, member: str = "") -> End:
    """Return the end at a definition, or at one of its properties."""
    end = End(place=name, subject=Subject(definition=name), pointer=pointer_to(name))
    return _field(end, member) if member else end

"""Which uses of a name a change affects: one row per rule, and the test of every use against the findings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_bindgen.diff.finding import Carrier, Finding
from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.diff.rules import annotations, definitions, messages, properties, values
from mcp_bindgen.impact.python_names import RECORDS, PythonName, PythonNames
from mcp_bindgen.impact.surface import CALLERS, HANDLERS, Surface
from mcp_bindgen.impact.types import (
    UNKNOWN,
    Instance,
    Many,
    Nothing,
    Row,
    Scalar,
    Table,
    Type,
    either,
    item_of,
    members,
)
from mcp_bindgen.impact.uses import Use, UseKind
from mcp_bindgen.ir.nodes import Literal
from mcp_bindgen.ir.spell import spell

_READS = frozenset((UseKind.READ,))
_PASSES = frozenset((UseKind.PASS,))
_NAMES = frozenset((UseKind.NAME,))
_TAKES = frozenset((UseKind.TAKE,))
_OMITS = frozenset((UseKind.BUILD,))
_VALUES = frozenset((UseKind.VALUE,))
_PEERS = frozenset((UseKind.CALL, UseKind.HANDLE))
"""The uses that a change of whole params or of a whole result affects; its names say which of the two."""
_METHODS = frozenset((UseKind.CALL, UseKind.HANDLE, UseKind.DELEGATE, UseKind.LOOKUP))

TOUCHES: Mapping[Rule, frozenset[UseKind]] = {
    messages.METHOD_RENAMED: frozenset((UseKind.LOOKUP,)),
    messages.REQUEST_METHOD_REMOVED: _METHODS,
    messages.NOTIFICATION_METHOD_REMOVED: _METHODS,
    # Stubs hide other results from callers that do not request them; direct callers of a handler see them.
    messages.RESULT_ALTERNATIVE_ADDED: frozenset((UseKind.DELEGATE,)),
    messages.RESULT_ALTERNATIVE_REMOVED: _NAMES,
    messages.JSONRPC_MESSAGE_FORM_ADDED: _NAMES,
    messages.JSONRPC_MESSAGE_FORM_REMOVED: _NAMES,
    messages.ENVELOPE_MEMBER_DECLARED: _OMITS,
    messages.ENVELOPE_MEMBER_UNDECLARED: _READS | _PASSES,
    messages.ERROR_CODE_REMOVED: _NAMES,
    messages.ERROR_CODE_RENUMBERED: _NAMES,
    properties.PROPERTY_ADDED_REQUIRED: _OMITS,
    properties.PROPERTY_REMOVED_OPTIONAL: _READS | _PASSES,
    properties.PROPERTY_REMOVED_REQUIRED: _READS | _PASSES,
    properties.PROPERTY_NOW_REQUIRED: _OMITS,
    properties.PROPERTY_NOW_OPTIONAL: _READS | frozenset((UseKind.HANDLE,)),
    properties.PROPERTY_RENAMED: _READS | _PASSES,
    properties.PROPERTY_MOVED: _READS | _PASSES,
    properties.PROPERTY_CONSTRAINT_ADDED: _PASSES,
    properties.PROPERTY_CONSTRAINT_DROPPED: _READS | _PASSES,
    properties.PROPERTY_REMOVED_FROM_CLOSED: _READS | _PASSES,
    properties.CAPABILITY_REMOVED: _READS | _PASSES,
    properties.ADDITIONAL_PROPERTIES_CLOSED: _READS | _PASSES,
    properties.ADDITIONAL_PROPERTIES_OPENED: _READS,
    values.UNION_MEMBER_ADDED: _READS | _PEERS,
    values.UNION_MEMBER_REMOVED: _PASSES | frozenset((UseKind.HANDLE,)),
    values.ENUM_VALUE_ADDED: _READS,
    values.ENUM_VALUE_REMOVED: _VALUES,
    values.ENUM_OPENED: _READS,
    values.ENUM_CLOSED: _PASSES,
    values.CONST_CHANGED: _VALUES,
    values.UNION_DISCRIMINATOR_CHANGED: _VALUES,
    values.TYPE_WIDENED: _READS | _PEERS,
    values.TYPE_NARROWED: _PASSES | _PEERS,
    values.TYPE_CHANGED: _READS | _PASSES | _PEERS,
    values.INTEGER_TO_NUMBER: _READS,
    values.NUMBER_TO_INTEGER: _PASSES,
    values.NULLABLE_ADDED: _READS,
    values.NULLABLE_REMOVED: _PASSES,
    definitions.DEFINITION_REMOVED: _NAMES,
    definitions.DEFINITION_RENAMED: _NAMES,
    definitions.DEFINITION_SPLIT: _NAMES,
    definitions.DEFINITION_MERGED: _NAMES,
    definitions.DEFINITION_NAME_REUSED: _NAMES,
    # The base covers fewer classes now, which affects code that accepts any of them.
    definitions.BASE_REMOVED: _TAKES,
    definitions.REF_RETARGETED: _READS | _PASSES | frozenset((UseKind.HANDLE,)),
    definitions.TYPE_INLINED: _READS | _PASSES | frozenset((UseKind.HANDLE,)),
    definitions.OBJECT_DECLARED: _READS | _PASSES,
    definitions.OBJECT_UNDECLARED: _READS | _PASSES,
    definitions.MEMBER_ADDED_REQUIRED: _OMITS,
    definitions.MEMBER_REMOVED_OPTIONAL: _READS | _PASSES,
    definitions.MEMBER_REMOVED_REQUIRED: _READS | _PASSES,
    definitions.MEMBER_NOW_REQUIRED: _OMITS,
    definitions.MEMBER_NOW_OPTIONAL: _READS,
    definitions.MEMBER_TYPE_CHANGED: _READS | _PASSES,
    definitions.ALIAS_CHANGED: _NAMES,
    annotations.CONSTANT_REMOVED: _NAMES,
    # Code that uses it by name is unaffected.
    annotations.CONSTANT_CHANGED: frozenset(),
}
"""Rule -> the kinds of use that it affects; BUILD means constructing something without the property."""

_BY_VALUE = (values.ENUM_VALUE_REMOVED, values.CONST_CHANGED, values.UNION_DISCRIMINATOR_CHANGED)
_SCALARS = ("string", "integer", "number", "boolean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A use that a change affects."""

    use: Use
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    name: PythonName
    finding: Finding


class Touches:
    """Decides which uses the findings between two revisions affect."""

    def __init__(self, findings: Sequence[Finding], old: tuple[Surface, PythonNames], new: tuple[Surface, PythonNames]):
        self.old, self._names = old
        self.new, self._new_names = new
        self._by_name: dict[PythonName, list[Finding]] = {}
        self._heirs = {f.old: f.new for f in findings if f.rule is definitions.DEFINITION_RENAMED}
        self._omitted: dict[PythonName, list[_Row]] = {}
        for finding in findings:
            if finding.rule in TOUCHES:
                for name in dict.fromkeys(self._names.of_finding(finding, self._new_names)):
                    if self._is_real(name, finding):
                        for alike in dict.fromkeys((name, *self.old.alike(name))):
                            self._add(alike, finding)

    @property
    def names(self) -> Iterator[tuple[Finding, PythonName]]:
        """Iterate over the names that the changes affect; a new required argument belongs to what it is passed to."""
        for owner, rows in self._omitted.items():
            for row in rows:
                yield row.finding, PythonName(str(owner), row.name.member)
        for name, findings in self._by_name.items():
            kinds = {CALLERS: UseKind.CALL, HANDLERS: UseKind.HANDLE}
            needed = next((kind for owners, kind in kinds.items() if name.owner in owners), None)
            for finding in findings:
                touched = TOUCHES[finding.rule] - _OMITS
                if touched and (needed is None or touched & {needed, UseKind.DELEGATE}):
                    yield finding, name

    @property
    def watched(self) -> frozenset[str]:
        """The attributes, arguments and methods that some change concerns."""
        names = {name for name, found in self._by_name.items() if any(TOUCHES[f.rule] - _OMITS for f in found)}
        return (
            frozenset(RECORDS if name.owner == RECORDS else name.member or name.owner for name in names)
            | {name.member or name.owner for name in self._omitted}
            | {name.owner for name in names}
        )

    def of(self, uses: Sequence[Use]) -> Iterator[Touched]:
        """Iterate over the affected uses, each line once per change, in the order of the files."""
        seen: set[tuple[object, int, str]] = set()
        for use in sorted(uses, key=lambda use: use.spot):
            for finding in self._touching(use):
                key = (use.spot.path, use.spot.line, finding.fingerprint)
                if key not in seen:
                    seen.add(key)
                    yield Touched(use=use, finding=finding)

    def _is_real(self, name: PythonName, finding: Finding) -> bool:
        """Whether the change is visible in the bindings: a Python class inherits less than its definition extends."""
        before = self._names.subject(finding)
        if finding.rule is definitions.BASE_REMOVED:
            return self.old.inherits(before.definition, finding.old)
        if finding.rule in (definitions.TYPE_INLINED, definitions.REF_RETARGETED):
            return not self._keeps_type(finding)
        if not before.member or name.owner in (RECORDS, *HANDLERS, *CALLERS):
            return True
        # The reference names a different definition now, but the class is unchanged.
        heir = self._heirs.get(before.definition, before.definition)
        kept = self._new_names.attribute(heir, before.member) is not None
        return not kept or (finding.after is not None and finding.after.definition == heir)

    def _keeps_type(self, finding: Finding) -> bool:
        """Whether the class of a property keeps its name although the schema no longer names it."""
        before, after = self._names.subject(finding), finding.after
        old = self._names.attribute(before.definition, before.member)
        new = self._new_names.attribute(after.definition, after.member) if after else None
        if old is None or new is None:
            return False
        one, other = self.old.attribute(old.owner, old.member), self.new.attribute(new.owner, new.member)
        return one is not None and other is not None and one.type == other.type

    def _add(self, name: PythonName, finding: Finding) -> None:
        if UseKind.BUILD in TOUCHES[finding.rule]:
            self._add_omitted(name, finding)
        self._by_name.setdefault(name, []).append(finding)

    def _add_omitted(self, name: PythonName, finding: Finding) -> None:
        """Record newly required arguments: of the constructor, and of the stubs that have it as an argument."""
        after = finding.after or self._new_names.subject(finding)
        attribute = self._new_names.attribute(after.definition, after.member)
        if attribute is None or name.owner in (*CALLERS, *HANDLERS):
            return
        known = self.new.attribute(attribute.owner, attribute.member)
        if known is not None and known.must_be_passed:
            row = _Row(name=PythonName(name.owner, attribute.member), finding=finding)
            self._omitted.setdefault(PythonName(name.owner), []).append(row)
        for carrier in finding.carriers:
            self._add_argument(carrier, attribute, finding)

    def _add_argument(self, carrier: Carrier, attribute: PythonName, finding: Finding) -> None:
        if carrier.part != "params" or not self._names.has(carrier.method) or not self._new_names.has(carrier.method):
            return
        stub, after = self._names.stub(carrier), self._new_names.stub(carrier)
        method = self.new.stubs[after.owner].get(after.member)
        for signature in method.signatures[:1] if method else ():
            for argument, filled in signature.passes.items():
                if argument in signature.required and attribute in filled:
                    row = _Row(name=PythonName(stub.owner, argument), finding=finding)
                    for alike in self.old.alike(stub):
                        self._omitted.setdefault(alike, []).append(row)

    def _touching(self, use: Use) -> Iterator[Finding]:
        if use.kind is UseKind.BUILD:
            for row in self._omitted.get(use.name, ()):
                if use.passed is not None and row.name.member not in use.passed:
                    yield row.finding
            return
        for name in self._inherited(use.name):
            for finding in self._by_name.get(name, ()):
                if use.kind in TOUCHES[finding.rule] and _fits(use, finding):
                    yield finding

    def _inherited(self, name: PythonName) -> Iterator[PythonName]:
        """Iterate over the names under which a property is declared: in its class, and in its bases."""
        yield name
        for base in self.old.ancestors(name.owner) if name.member else ():
            if name.member in self.old.attributes.get(base, {}):
                yield PythonName(base, name.member)


def _fits(use: Use, finding: Finding) -> bool:
    """Whether a use of a value concerns the value that changed."""
    if finding.rule in _BY_VALUE:
        value = use.value
        return isinstance(value, str | int | float | bool) and spell(Literal(values=(value,))) == finding.old
    if finding.rule is values.UNION_MEMBER_REMOVED and use.given is not None:
        return any(_may_be(member, finding.old) for member in members(_inside(use.given, finding.place)))
    return True


def _inside(given: Type, place: str) -> Type:
    """Return the part of a value that a place names: its items, or the values of a mapping."""
    for mark in re.findall(r"\[\]|\{\}", place):
        if mark == "[]":
            given = item_of(given)
        else:
            given = either(m.value if isinstance(m, Table) else UNKNOWN for m in members(given))
    return given


def _may_be(member: Type, form: str) -> bool:
    """Whether a value may have the removed form, by its name in the schema."""
    match member:
        case Instance(cls=cls):
            return cls == form
        case Many() | Row():
            return form.endswith("[]")
        case Scalar():
            return form in _SCALARS or form.startswith('"')
        case Nothing():
            return False
        case _:
            return True

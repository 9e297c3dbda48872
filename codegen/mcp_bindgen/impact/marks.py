"""Marks: which uses of which names of the bindings the differences between two revisions affect, one row per rule."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from mcp_bindgen.diff import sites
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import NOTHING, Change, Rule
from mcp_bindgen.diff.rules import CATALOGUE, annotations, contracts, definitions, messages, properties, values
from mcp_bindgen.impact.bindings import HANDLERS, RECORDS, Bindings, PythonName


class UseKind(StrEnum):
    """What a line does with a name of the bindings."""

    NAME = "names it"
    TAKE = "accepts instances of it"
    READ = "reads it"
    PASS = "passes it"
    BUILD = "builds it"
    CALL = "calls it"
    HANDLE = "handles it"
    DELEGATE = "calls the handler"
    LOOKUP = "looks it up"
    VALUE = "uses a value of it"


_METHODS = frozenset((UseKind.CALL, UseKind.HANDLE, UseKind.DELEGATE, UseKind.LOOKUP))
_NAMES = frozenset((UseKind.NAME,))
_FIELDS = frozenset((UseKind.READ, UseKind.PASS, UseKind.CALL, UseKind.HANDLE))
_READS = _FIELDS - {UseKind.PASS}
_PASSES = _FIELDS - {UseKind.READ}
_OMITS = frozenset((UseKind.BUILD,))
_CALLS = frozenset((UseKind.CALL,))
_VALUES = frozenset((UseKind.VALUE,))

_BY_RULE: Mapping[Rule, frozenset[UseKind]] = {
    messages.METHOD_RENAMED: frozenset((UseKind.LOOKUP,)),
    # Stubs hide other results from callers that do not request them; direct callers of a handler see them.
    messages.RESULT_ALTERNATIVE_ADDED: frozenset((UseKind.DELEGATE,)),
    annotations.CONSTANT_CHANGED: frozenset(),  # Code that uses it by name is unaffected.
    **dict.fromkeys((properties.PROPERTY_ADDED_REQUIRED, properties.PROPERTY_NOW_REQUIRED), _OMITS),
    **dict.fromkeys((definitions.MEMBER_ADDED_REQUIRED, definitions.MEMBER_NOW_REQUIRED), _OMITS),
    messages.ENVELOPE_MEMBER_DECLARED: _OMITS,
    definitions.MEMBER_NOW_OPTIONAL: _READS,
    **dict.fromkeys((properties.PROPERTY_REMOVED_REQUIRED, properties.PROPERTY_REMOVED_FROM_CLOSED), _FIELDS),
    **dict.fromkeys((properties.PROPERTY_FORBIDDEN, properties.PROPERTY_ALLOWED), _FIELDS),
    **dict.fromkeys((properties.PROPERTY_CONSTRAINT_DROPPED, properties.ADDITIONAL_PROPERTIES_CLOSED), _FIELDS),
    values.UNION_MEMBER_REMOVED: _PASSES - {UseKind.CALL},  # The stub's argument tells.
    **dict.fromkeys((values.ENUM_VALUE_REMOVED, values.CONST_CHANGED, values.UNION_DISCRIMINATOR_CHANGED), _VALUES),
}
_BY_SITE: Mapping[type | None, frozenset[UseKind]] = {
    sites.MethodSite: _METHODS,
    # The base covers fewer classes now, which affects code that accepts any of them.
    sites.BaseSite: frozenset((UseKind.TAKE,)),
    sites.OrderSite: _CALLS,
    **dict.fromkeys((sites.AlternativeSite, sites.FrameSite, sites.ErrorSite), _NAMES),
    **dict.fromkeys((sites.DefinitionSite, sites.AliasSite, sites.ConstantSite), _NAMES),
}
_BY_CHANGE = {Change.WIDENS: _READS, Change.NARROWS: _PASSES, Change.BOTH: _FIELDS, Change.NONE: _FIELDS}

TOUCHES: Mapping[Rule, frozenset[UseKind]] = {
    rule: _BY_RULE.get(rule, _BY_SITE.get(rule.site, _BY_CHANGE[rule.change]))
    for rule in CATALOGUE
    if rule.breaks_source
} | dict.fromkeys((contracts.TOOL_REMOVED, contracts.TOOL_INPUT_NARROWED, contracts.TOOL_OUTPUT_WIDENED), _CALLS)
"""Rule -> the kinds of use that it affects; BUILD means constructing something without the property.

A change of the valid values affects those who read them if it widens, and those who pass them if it narrows. That of
whole params or a whole result affects calls and handlers; its names say which of the two.
"""

BY_TYPE = (values.UNION_MEMBER_REMOVED, *(rule for rule, kinds in TOUCHES.items() if kinds is _VALUES))
"""The rules that affect an argument only if it has the form or the value that changed."""

Findings = tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """How the changes affect the arguments of a constructor or of a stub method, each with its findings.

    Attributes:
        passed: passing the argument is affected.
        narrowed: passing some forms or values of the argument is affected.
        omitted: leaving the argument out is affected.
    """

    passed: Mapping[str, Findings]
    narrowed: Mapping[str, Findings]
    omitted: Mapping[str, Findings]

    def __bool__(self) -> bool:
        return bool(self.passed or self.narrowed or self.omitted)

    def concern(self, given: Collection[str | None]) -> bool:
        """Whether a change may affect a call with some arguments; None is for computed names."""
        passes = any(name in given for name in (*self.passed, *self.narrowed))
        return passes or any(name not in given for name in self.omitted) or (None in given and bool(self))


def what(finding: Finding) -> str:
    """Return in a few words what changed and where."""
    sides = [side for side in (finding.old, finding.new) if side != NOTHING]
    reading = " -> ".join(dict.fromkeys(sides))
    return reading if finding.place in sides else f"{finding.place}: {reading}"


class Marks:
    """What the findings between two revisions affect in code that uses the old bindings."""

    def __init__(self, findings: Sequence[Finding], old: Bindings, new: Bindings) -> None:
        self.old, self.new = old, new
        self._by_name: dict[PythonName, list[Finding]] = {}
        self._omitted: dict[PythonName, dict[str, list[Finding]]] = {}
        self._arguments: dict[PythonName, Arguments] = {}
        self._heirs = {f.old: f.new for f in findings if f.rule is definitions.DEFINITION_RENAMED}
        for finding in findings:
            if finding.rule in TOUCHES:
                for name in dict.fromkeys(old.of_finding(finding, new)):
                    if self._is_real(name, finding):
                        self._add(name, finding)

    @property
    def names(self) -> Iterator[tuple[Finding, PythonName]]:
        """Iterate over the names that the changes affect; a new required argument belongs to what it is passed to."""
        for owner, arguments in self._omitted.items():
            for argument, findings in arguments.items():
                yield from ((finding, PythonName(str(owner), argument)) for finding in findings)
        for name, findings in self._by_name.items():
            needed = UseKind.HANDLE if name.owner in HANDLERS else UseKind.CALL
            for finding in findings:
                touched = TOUCHES[finding.rule] - _OMITS
                if touched and (name.owner not in self.old.stubs or touched & {needed, UseKind.DELEGATE}):
                    yield finding, name

    def of(self, name: PythonName, *kinds: UseKind) -> Findings:
        """Return what affects some kinds of use of a name, or of an attribute that a class inherits."""
        declared = [name, *(PythonName(base, name.member) for base in self.old.ancestors(name.owner) if name.member)]
        found = [finding for each in declared for finding in self._by_name.get(each, ())]
        return _distinct(finding for finding in found if TOUCHES[finding.rule] & {*kinds})

    @cached_property
    def fields(self) -> frozenset[PythonName]:
        """The fields whose readers or writers a change affects, each with the class that declares it."""
        used = {UseKind.READ, UseKind.PASS, UseKind.VALUE}
        return frozenset(
            name
            for name, findings in self._by_name.items()
            if name.owner in self.old.classes and name.member and any(TOUCHES[f.rule] & used for f in findings)
        )

    @cached_property
    def readable(self) -> Sequence[PythonName]:
        """The classes with fields whose readers a change affects."""
        return sorted({PythonName(name.owner) for name in self.fields if self.of(name, UseKind.READ)})

    @cached_property
    def lookups(self) -> bool:
        """Whether a change affects code that looks methods up by name."""
        return any(name.owner == RECORDS for name in self._by_name)

    @cached_property
    def values(self) -> Mapping[str, PythonName]:
        """The values that were removed, as JSON, each with the property that had it."""
        return {f.old: name for name, findings in self._by_name.items() for f in findings if TOUCHES[f.rule] is _VALUES}

    def attributes(self, name: str, kind: UseKind) -> Sequence[PythonName]:
        """Return the fields that reading or setting an attribute may concern, and the methods if it is read."""
        return self._attributes.get((name, kind), ())

    @cached_property
    def _attributes(self) -> Mapping[tuple[str, UseKind], Sequence[PythonName]]:
        found: dict[tuple[str, UseKind], list[PythonName]] = {}
        for name in sorted(self.fields):
            for kind in (UseKind.READ, UseKind.PASS):
                if self.of(name, kind):
                    found.setdefault((name.member, kind), []).append(name)
        for owner, methods in self.old.stubs.items():
            for name in (PythonName(owner, member) for member in methods):
                if self.of(name, UseKind.DELEGATE if owner in HANDLERS else UseKind.CALL):
                    found.setdefault((name.member, UseKind.READ), []).append(name)
        return found

    @cached_property
    def keywords(self) -> Mapping[str, Sequence[PythonName]]:
        """Wire name or attribute -> the fields of that name whose writers a change affects."""
        found: dict[str, list[PythonName]] = {}
        for name in sorted(self.fields):
            known = self.old.field(name.owner, name.member)
            for spelled in {name.member, known.wire_name if known else name.member}:
                if self.of(name, UseKind.PASS):
                    found.setdefault(spelled, []).append(name)
        return found

    def callables(self, method: str, given: Collection[str | None]) -> Sequence[PythonName]:
        """Return the stub methods of a name that a change affects if they are called with some arguments."""
        names = (PythonName(owner, method) for owner in self.old.callers if method in self.old.stubs[owner])
        return [name for name in names if self.arguments(name).concern(given)]

    def arguments(self, owner: PythonName) -> Arguments:
        """Return how the changes affect the arguments of a constructor (``Tool``) or a stub (``Client.call_tool``)."""
        if owner not in self._arguments:
            passed: dict[str, Findings] = {}
            narrowed: dict[str, Findings] = {}
            for argument, fields in self._fields(owner):
                found = [finding for field in fields for finding in self.of(field, UseKind.PASS, UseKind.VALUE)]
                for table, by_type in ((passed, False), (narrowed, True)):
                    chosen = _distinct(finding for finding in found if (finding.rule in BY_TYPE) is by_type)
                    if chosen:
                        table[argument] = chosen
            omitted = {argument: tuple(found) for argument, found in self._omitted.get(owner, {}).items()}
            self._arguments[owner] = Arguments(passed=passed, narrowed=narrowed, omitted=omitted)
        return self._arguments[owner]

    def _fields(self, owner: PythonName) -> Iterator[tuple[str, tuple[PythonName, ...]]]:
        """Iterate over the arguments of a constructor or a stub, each with the fields that it fills."""
        if not owner.member:
            for field in self.old.classes[owner.owner].every_field if owner.owner in self.old.classes else ():
                yield field.name, (PythonName(owner.owner, field.name),)
            return
        function = self.old.stubs[owner.owner][owner.member]
        for way in (function.signature, *function.overloads):
            for parameter in way.parameters:
                yield parameter.name, tuple(self.old.fills(function, parameter))

    def _is_real(self, name: PythonName, finding: Finding) -> bool:
        """Whether the change is visible in the bindings: a Python class inherits less than its definition extends."""
        before = self.old.subject(finding)
        if finding.rule is definitions.BASE_REMOVED:
            cls = self.old.classes.get(self.old.class_of(before.definition))
            return cls is not None and self.old.class_of(finding.old) in map(str, cls.bases)
        if finding.rule in (definitions.TYPE_INLINED, definitions.REF_RETARGETED):
            return not self._keeps_type(finding)
        if not before.member or name.owner in (RECORDS, *self.old.stubs):
            return True
        # The reference names a different definition now, but the class is unchanged.
        heir = self._heirs.get(before.definition, before.definition)
        kept = self.new.attribute(heir, before.member) is not None
        return not kept or (finding.after is not None and finding.after.definition == heir)

    def _keeps_type(self, finding: Finding) -> bool:
        """Whether the class of a property keeps its name although the schema no longer names it."""
        before, after = self.old.subject(finding), finding.after
        old = self.old.attribute(before.definition, before.member)
        new = self.new.attribute(after.definition, after.member) if after else None
        if old is None or new is None:
            return False
        one, other = self.old.field(old.owner, old.member), self.new.field(new.owner, new.member)
        return one is not None and other is not None and str(one.type) == str(other.type)

    def _add(self, name: PythonName, finding: Finding) -> None:
        if UseKind.BUILD in TOUCHES[finding.rule] and name.owner not in self.old.stubs:
            self._add_omitted(name, finding)
        self._by_name.setdefault(name, []).append(finding)

    def _add_omitted(self, name: PythonName, finding: Finding) -> None:
        """Record newly required arguments: of the constructor, and of the stubs that have it as an argument."""
        after = finding.after or self.new.subject(finding)
        attribute = self.new.attribute(after.definition, after.member)
        if attribute is None:
            return
        field = self.new.field(attribute.owner, attribute.member)
        if field is not None and field.default is None:
            self._omitted.setdefault(PythonName(name.owner), {}).setdefault(attribute.member, []).append(finding)
        for owner in self.old.callers:
            for function in self.new.stubs.get(owner, {}).values() if name.owner in self.old.classes else ():
                for parameter in (function.overloads or (function.signature,))[0].parameters:
                    if parameter.default is None and attribute in self.new.fills(function, parameter):
                        omitted = self._omitted.setdefault(PythonName(owner, function.name), {})
                        omitted.setdefault(parameter.name, []).append(finding)


def _distinct(findings: Iterable[Finding]) -> Findings:
    return tuple({id(finding): finding for finding in findings}.values())

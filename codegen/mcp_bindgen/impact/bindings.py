"""The bindings of one revision: their Python names, classes and stubs, and the names that a finding concerns.

A name is a class, alias or constant of the package (``Tool``), or an attribute of one: an attribute
(``Tool.annotations``), a method of a stub (``Client.ping``), a handler (``Server.ping``), or a record in the table of
methods (``METHODS.ping``).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mcp_bindgen.diff.finding import Finding, Subject, Travel
from mcp_bindgen.diff.rule import Change, View
from mcp_bindgen.diff.rules.definitions import BASE_REMOVED, PARAMS_REORDERED
from mcp_bindgen.diff.rules.messages import METHOD_RENAMED, RESULT_ALTERNATIVE_ADDED, RESULT_ALTERNATIVE_REMOVED
from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.package import package_view
from mcp_bindgen.emit.python.spelling import Speller
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.facts import params_structs
from mcp_bindgen.ir.nodes import Protocol, Struct

RECORDS = "METHODS"
"""The owner of the names of method records."""
EXTRA = "model_extra"
"""The attribute that contains the properties that a class does not declare."""
CALLERS = frozenset(("Client", "ConnectedClient"))
"""The classes whose methods call the peer."""
HANDLERS = frozenset(("Server", "ClientHandlers"))
"""The classes whose methods handle the peer's messages."""

_ENDS = {
    (True, Travel.TO_SERVER): ("Client", "Server"),
    (True, Travel.TO_CLIENT): ("ConnectedClient", "ClientHandlers"),
    (False, Travel.TO_SERVER): ("ClientHandlers", "ConnectedClient"),
    (False, Travel.TO_CLIENT): ("Server", "Client"),
}
"""Whether a value is in params, and its direction -> the class whose methods send it, and that of those who receive it.

A narrowing affects the sender, a widening the receiver.
"""


@dataclass(frozen=True, slots=True, order=True)
class PythonName:
    """A name of the package, or an attribute of one."""

    owner: str
    member: str = ""

    def __str__(self) -> str:
        return f"{self.owner}.{self.member}" if self.member else self.owner


class Bindings:
    """What code can use of one side of a comparison: classes and stubs, and the names that a finding concerns.

    Attributes:
        protocol: the definitions and methods.
        title: what a report calls this side.
        classes: the models by name.
        stubs: the methods of the stubs and of the handlers, by class and name.
        errors: the constant of the code of each exception, by the exception.
        codes: the same by the code.
        records: the methods that constants name.
        exports: the names that can be imported.
        modules: the modules of the package, from which they can be imported too.
    """

    def __init__(self, protocol: Protocol, names: Names, modules: Iterable[views.Module], title: str) -> None:
        self.protocol, self.title, self._names = protocol, title, names
        self._methods = {method.name: method for method in protocol.methods}
        homes = {view.definition: module.name for module in modules for view in module.definitions}
        self.speller = Speller(protocol, names, homes)
        found = [view for module in modules for view in module.definitions]
        self.classes = {view.name: view for view in found if isinstance(view, views.Class)}
        self.stubs: dict[str, dict[str, views.Function]] = {}
        self.errors: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.records: dict[str, str] = {}
        self.exports = {view.name for view in found}
        self.modules = {module.name for module in modules}

    @property
    def callers(self) -> list[str]:
        """The classes whose methods call the peer."""
        return [owner for owner in self.stubs if owner not in HANDLERS]

    def ancestors(self, cls: str) -> Iterator[str]:
        """Iterate over the classes that a class inherits, directly or not."""
        for base in self.classes[cls].bases if cls in self.classes else ():
            yield str(base)
            yield from self.ancestors(str(base))

    @cached_property
    def heirs(self) -> Mapping[str, frozenset[str]]:
        """Class -> itself and the classes that inherit it."""
        lines = {name: {name, *self.ancestors(name)} for name in self.classes}
        return {name: frozenset(heir for heir, line in lines.items() if name in line) for name in self.classes}

    def field(self, cls: str, name: str) -> views.Field | None:
        """Return a field of a class, inherited ones included."""
        fields = self.classes[cls].every_field if cls in self.classes else ()
        return next((field for field in fields if field.name == name), None)

    def field_name(self, cls: PythonName, spelled: str | None) -> str:
        """Return the name of a field that is given by its name or its wire name."""
        fields = self.classes[cls.owner].every_field if cls.owner in self.classes else ()
        return next((field.name for field in fields if spelled in (field.name, field.wire_name)), spelled or "")

    def methods(self, owner: str, method: str) -> list[PythonName]:
        """Return the methods of a stub that send a message, iterators included, or the handler that answers it."""
        found = self.stubs.get(owner, {}).values()
        return [PythonName(owner, function.name) for function in found if function.method == method]

    def fills(self, function: views.Function, parameter: views.Parameter) -> Iterator[PythonName]:
        """Iterate over the fields that a stub's parameter fills: one for each form of the params that has it."""
        for cls in self.params(function.method):
            if parameter.field and self.field(cls, parameter.field):
                yield PythonName(cls, parameter.field)

    def params(self, method: str) -> Iterator[str]:
        """Iterate over the classes of the params of a method."""
        return (self._names.classes[struct.name] for struct in params_structs(self.protocol, self._methods[method]))

    def class_of(self, definition: str) -> str:
        """Return the class or alias of a definition, or an empty string."""
        return self._names.classes.get(definition, "")

    def attribute(self, definition: str, wire_name: str) -> PythonName | None:
        """Return the attribute of a property of a definition, None if there is no such property."""
        struct = self._struct(definition)
        if struct is None or struct.field(wire_name) is None:
            return None
        return PythonName(self._names.classes[struct.name], self._names.attribute(struct, wire_name))

    def of_finding(self, finding: Finding, new: "Bindings") -> Iterator[PythonName]:
        """Iterate over the Python names of a finding in the bindings of this side, the old one.

        Args:
            finding: the change.
            new: the bindings of the other side; names that still exist there were not removed.
        """
        if finding.rule is METHOD_RENAMED:
            yield PythonName(RECORDS, finding.old)
        elif finding.is_about_method:
            yield from self._of_messages(finding, new)
        elif finding.rule in (BASE_REMOVED, RESULT_ALTERNATIVE_REMOVED):
            yield from self._of_definition(finding.old)
        elif finding.rule is PARAMS_REORDERED:
            params = self.subject(finding).definition
            calls = (method.name for method in self.protocol.methods if method.params == params)
            yield from (name for call in calls for owner in sorted(CALLERS) for name in self.methods(owner, call))
        elif finding.rule is RESULT_ALTERNATIVE_ADDED:
            for carrier in finding.carriers:
                yield from self.methods(_ENDS[carrier.part == "params", carrier.travel][0], carrier.method)
        else:
            yield from self._of_place(finding)

    def subject(self, finding: Finding) -> Subject:
        """Return the definition and the property of a finding, by their names on this side."""
        if finding.before is not None:
            return finding.before
        definition, dot, member = finding.place.partition(".")
        if not dot:
            rest = definition.endswith("{}") and self._struct(definition.removesuffix("{}")) is not None
            return Subject(definition=definition.removesuffix("{}"), member=EXTRA if rest else "")
        member = member.removesuffix("{}").removesuffix("[]").removesuffix("{}").removesuffix("[]")
        if self.attribute(definition, member) is None and "/" not in member:
            member = member.partition(".")[0]
        return Subject(definition=definition, member=member)

    def _struct(self, definition: str) -> Struct | None:
        found = self.protocol.definitions.get(definition)
        return found if isinstance(found, Struct) else None

    def _of_messages(self, finding: Finding, new: "Bindings") -> Iterator[PythonName]:
        for carrier in finding.carriers:
            for owner in _ENDS[carrier.part == "params", carrier.travel]:
                if not new.methods(owner, carrier.method):
                    yield from self.methods(owner, carrier.method)
            if carrier.method not in new._methods:
                yield PythonName(RECORDS, carrier.method)

    def _of_definition(self, definition: str) -> Iterator[PythonName]:
        spelled = self._names.classes.get(definition) or self._names.constants.get(definition)
        if spelled:
            yield PythonName(spelled)

    def _of_place(self, finding: Finding) -> Iterator[PythonName]:
        subject = self.subject(finding)
        struct = self._struct(subject.definition)
        if subject.member and struct is not None:
            name = self.attribute(struct.name, subject.member)
            yield name or PythonName(self._names.classes[struct.name], subject.member)
            messages = [each.name for each in self.protocol.methods if each.message == struct.name]
            for method in messages if subject.member == "params" else ():
                for owner in sorted(HANDLERS):
                    yield from self.methods(owner, method)
        elif finding.methods and finding.rule.view is View.WIRE:
            yield from self._peers(finding)
        else:
            yield from self._of_definition(subject.definition)

    def _peers(self, finding: Finding) -> Iterator[PythonName]:
        """The stub methods and handlers that a change of whole params or a whole result affects."""
        for carrier in finding.carriers:
            ends = _ENDS[carrier.part == "params", carrier.travel]
            for change, owner in zip((Change.NARROWS, Change.WIDENS), ends, strict=True):
                if change in finding.change:
                    yield from self.methods(owner, carrier.method)


class RevisionBindings(Bindings):
    """The bindings of one revision."""

    def __init__(self, protocol: Protocol) -> None:
        self.view = package_view(protocol, {}, Diagnostics())
        super().__init__(
            protocol, Names(protocol, protocol.revision, Diagnostics()), self.view.modules, protocol.revision
        )
        values = {constant.value: constant.name for constant in self.view.constants}
        self.errors = {error.name: values.get(error.code, "") for error in self.view.errors}
        self.codes = {str(error.code): self.errors[error.name] for error in self.view.errors}
        self.records = {method.name: method.method for method in self.view.methods}
        self.exports = {export.name for export in self.view.exports} | {"ERRORS", *self.records}
        self.modules |= {export.module for export in self.view.exports} | {"models"}
        client, server = self.view.client, self.view.server
        sides = {"Client": client.calls, "ConnectedClient": server.calls}
        sides |= {"ClientHandlers": client.handlers, "Server": server.handlers}
        self.stubs = {owner: {function.name: function for function in found} for owner, found in sides.items()}

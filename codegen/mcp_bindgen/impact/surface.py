"""The API of one revision's bindings: classes with their attributes, stubs, handlers.

The classes come from the IR, the stubs from the emitter's views.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.inheritance import Inheritance
from mcp_bindgen.emit.python.methods import error_views
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.spelling import NONE, Speller
from mcp_bindgen.emit.python.stubs import StubViews
from mcp_bindgen.impact.python_names import EXTRA, PythonName
from mcp_bindgen.impact.types import (
    FOREIGN,
    NOTHING,
    ClassObject,
    Instance,
    Many,
    Scalar,
    Table,
    Type,
    TypeForm,
    either,
)
from mcp_bindgen.ir.facts import is_constant, params_structs
from mcp_bindgen.ir.nodes import (
    Alias,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Ref,
    Struct,
    TypeRef,
    Union,
)

CALLERS = ("Client", "ConnectedClient")
"""The classes whose methods call the peer."""
HANDLERS = ("Server", "ClientHandlers")
"""The classes whose methods handle the peer's messages."""
CONTEXTS = {"Context": "client", "ClientContext": "server"}
"""The classes of handler contexts, and their attribute for the peer."""
RESULT_TYPE = "result_type"
"""The argument for the expected result type, where the protocol leaves it open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute of a model: `must_be_passed` says that the constructor requires it."""

    name: PythonName
    wire_name: str
    type: Type
    must_be_passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One overload of a stub method or a handler.

    `passes` maps each argument to the properties of the params that it sets; `never` names the arguments that must not
    be passed.
    """

    parameters: Mapping[str, Type]
    required: frozenset[str]
    never: frozenset[str]
    result: Type
    is_async: bool
    passes: Mapping[str, tuple[PythonName, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StubMethod:
    """A stub method or a handler with its overloads, and its protocol method."""

    name: PythonName
    method: str
    signatures: tuple[Signature, ...]

    def chosen(self, passed: frozenset[str]) -> Signature:
        """Return the first overload that accepts the argument names, or the first one of all."""
        fitting = (s for s in self.signatures if s.required <= passed <= s.parameters.keys() - s.never)
        return next(fitting, self.signatures[0])


class Surface:
    """The bindings of one revision."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._names = Names(protocol, protocol.revision, Diagnostics())
        self._inheritance = Inheritance(protocol, self._names)
        self.revision = protocol.revision
        self.methods = frozenset(method.name for method in protocol.methods)
        self._structs = {self._names.classes[struct.name]: struct for struct in protocol.structs()}
        self.records = {record: method for method, record in self._names.records.items()}
        self.constants = frozenset(self._names.constants.values())
        spelled = {c.value: self._names.constants[c.name] for c in protocol.constants if isinstance(c.value, int)}
        errors = [error for error in error_views(protocol, self._names) if error.code in spelled]
        self.codes = {error.code: spelled[error.code] for error in errors}
        self.errors = {error.name: spelled[error.code] for error in errors}
        self.attributes = {cls: self._attributes(struct) for cls, struct in self._structs.items()}
        self.exported = dict(self._exported())
        self.stubs: dict[str, dict[str, StubMethod]] = {}
        self._read_stubs()

    def inherits(self, definition: str, base: str) -> bool:
        """Whether the class of a definition inherits that of another one."""
        struct = self._protocol.definitions.get(definition)
        return isinstance(struct, Struct) and base in self._inheritance.bases(struct)

    def ancestors(self, cls: str) -> Iterator[str]:
        """Iterate over the classes that a class inherits, directly or not."""
        struct = self._structs.get(cls)
        for base in self._inheritance.bases(struct) if struct else ():
            yield self._names.classes[base]
            yield from self.ancestors(self._names.classes[base])

    def alike(self, name: PythonName) -> Iterator[PythonName]:
        """Iterate over the stub methods that send the same request: a method, and its iterator."""
        known = self.stubs.get(name.owner, {})
        if name.member in known:
            yield from (stub.name for stub in known.values() if stub.method == known[name.member].method)

    def attribute(self, cls: str, name: str) -> Attribute | None:
        """Return the attribute of a model by its Python name or its wire name: constructors accept both."""
        known = self.attributes.get(cls, {})
        if name in known:
            return known[name]
        return next((a for a in known.values() if a.wire_name == name), None)

    def convert(self, type_: TypeRef, origin: PythonName | None = None, within: frozenset[str] = frozenset()) -> Type:
        """Return the scanner's type for values of a protocol type.

        Args:
            type_: the type.
            origin: the property that they were read from, if any.
            within: the aliases on the path; a recursive one is any JSON value, which is foreign.
        """
        match type_:
            case Ref(name=name):
                definition = self._protocol.definitions[name]
                if isinstance(definition, Struct):
                    return Instance(self._names.classes[name])
                return FOREIGN if name in within else self.convert(definition.type, origin, within | {name})
            case ListOf(item=item):
                return Many(self.convert(item, origin, within))
            case MapOf(value=value):
                return Table(self.convert(value, origin, within))
            case Union(members=inner):
                return either([self.convert(member, origin, within) for member in inner])
            case Literal(values=values):
                return Scalar(frozenset((origin,) if origin else ()), values)
            case Primitive(kind=Kind.ANY):
                return FOREIGN
            case Primitive(kind=Kind.NULL):
                return NOTHING
            case _:
                return Scalar(frozenset((origin,) if origin else ()))

    def _attributes(self, struct: Struct) -> dict[str, Attribute]:
        owner = self._names.classes[struct.name]
        found: dict[str, Attribute] = {}
        for field in struct.fields:
            name = PythonName(owner, self._names.attribute(struct, field.wire_name))
            place = f"{struct.name}.{field.wire_name}"
            type_ = self.convert(field.type, name)
            found[name.member] = Attribute(
                name=name,
                wire_name=field.wire_name,
                type=type_ if field.required else either((type_, NOTHING)),
                must_be_passed=field.required and not is_constant(field) and place not in self._protocol.defaults,
            )
        if struct.extra is not None:
            name = PythonName(owner, EXTRA)
            found[EXTRA] = Attribute(
                name=name, wire_name="", type=Table(self.convert(struct.extra, name)), must_be_passed=False
            )
        return found

    def _exported(self) -> Iterator[tuple[str, Type]]:
        for name, definition in self._protocol.definitions.items():
            spelled = self._names.classes[name]
            if isinstance(definition, Alias):
                target = self.convert(definition.type)
                yield spelled, _as_class(target, spelled)
            else:
                yield spelled, ClassObject(spelled, spelled)
        for name in (*CALLERS, *HANDLERS, *CONTEXTS):
            yield name, ClassObject(name, name)

    def _read_stubs(self) -> None:
        # The modules of definitions do not matter here: a stub refers to them by name.
        speller = Speller(self._protocol, self._names, dict.fromkeys(self._protocol.definitions, ""))
        stubs = StubViews(self._protocol, self._names, speller)
        client, server = stubs.client(), stubs.server()
        for owner, functions in (("Client", client.calls), ("ConnectedClient", server.calls)):
            self.stubs[owner] = {f.name: self._stub(owner, f, {}) for f in functions}
        for owner, functions, context in (
            ("ClientHandlers", client.handlers, "ClientContext"),
            ("Server", server.handlers, "Context"),
        ):
            given = {"ctx": Instance(context)}
            self.stubs[owner] = {f.name: self._stub(owner, f, given) for f in functions}
        for context, role in CONTEXTS.items():
            peer = Instance("ConnectedClient" if role == "client" else "Client")
            self.attributes[context] = {
                name: Attribute(name=PythonName(context, name), wire_name="", type=type_, must_be_passed=False)
                for name, type_ in ((role, peer), ("peer", peer), ("request_id", FOREIGN))
            }

    def _stub(self, owner: str, function: views.Function, given: Mapping[str, Type]) -> StubMethod:
        """Return a stub or a handler; `given` are the arguments that the runtime adds."""
        ways = function.overloads or (function.signature,)
        return StubMethod(
            name=PythonName(owner, function.name),
            method=function.method,
            signatures=tuple(self._signature(function, way, given) for way in ways),
        )

    def _signature(self, function: views.Function, way: views.Signature, given: Mapping[str, Type]) -> Signature:
        result: Type = NOTHING if way.result == NONE else FOREIGN
        if way.schema_result is not None:
            result = self.convert(way.schema_result)
        return Signature(
            parameters={**{p.name: self._parameter(p) for p in way.parameters}, **given},
            required=frozenset(p.name for p in way.parameters if p.default is None) | given.keys(),
            never=frozenset(p.name for p in way.parameters if p.type == NONE),
            result=Many(result) if function.kind == "pages" else result,
            is_async=function.kind != "pages",
            passes=self._passes(function, way),
        )

    def _parameter(self, parameter: views.Parameter) -> Type:
        if parameter.type == NONE:
            return NOTHING
        type_ = FOREIGN if parameter.schema_type is None else self.convert(parameter.schema_type)
        return type_ if parameter.default is None else either((type_, NOTHING))

    def _passes(self, function: views.Function, way: views.Signature) -> dict[str, tuple[PythonName, ...]]:
        """The fields of the params that the arguments of one overload set.

        Params that are a union have one overload per member: the member that has all of its arguments.
        """
        fields = {p.name: p.field for p in way.parameters if p.field}
        method = next(m for m in self._protocol.methods if m.name == function.method)
        forms = [self.attributes[self._names.classes[s.name]] for s in params_structs(self._protocol, method)]
        fitting = [form for form in forms if form.keys() >= set(fields.values())] or forms
        return {name: tuple(form[field].name for form in fitting if field in form) for name, field in fields.items()}


def _as_class(type_: Type, name: str) -> Type:
    return ClassObject(type_.cls, name) if isinstance(type_, Instance) else TypeForm(type_, name)

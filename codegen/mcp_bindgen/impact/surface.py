"""What the bindings of one revision offer to the code that uses them: classes with their attributes, stubs, handlers.

The classes come from the IR. The stubs are read from what the emitter writes, so that nothing of it is repeated here.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.emit.models import ModelViews
from mcp_bindgen.emit.names import Names
from mcp_bindgen.emit.stubs import CLIENT_SENDS, SERVER_SENDS, StubViews
from mcp_bindgen.emit.types import Speller
from mcp_bindgen.emit.view import Item
from mcp_bindgen.impact.annotations import read_annotation
from mcp_bindgen.impact.python_names import EXTRA, PythonName
from mcp_bindgen.impact.types import (
    FOREIGN,
    NOTHING,
    UNKNOWN,
    ClassObject,
    Instance,
    Many,
    Scalar,
    Table,
    Type,
    TypeForm,
    either,
)
from mcp_bindgen.ir.nodes import (
    Alias,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Method,
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
"""The classes whose methods answer the peer."""
CONTEXTS = {"Context": "client", "ClientContext": "server"}
"""The classes of what a handler knows of a message, and what they call the peer."""
RESULT_TYPE = "result_type"
"""The argument by which a caller says what it expects, where the protocol does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute of a model: `must_be_passed` says that its constructor demands it."""

    name: PythonName
    wire_name: str
    type: Type
    must_be_passed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One way to call a method of a stub, or to be called as a handler.

    `passes` maps each argument to the members of the params that it ends up in; `never` names the arguments that may
    not be passed.
    """

    parameters: Mapping[str, Type]
    required: frozenset[str]
    never: frozenset[str]
    result: Type
    is_async: bool
    passes: Mapping[str, tuple[PythonName, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StubMethod:
    """A method of a stub or a handler with its overloads, and the method of the protocol that it stands for."""

    name: PythonName
    method: str
    signatures: tuple[Signature, ...]

    def chosen(self, passed: frozenset[str]) -> Signature:
        """Return the way of calling that fits the arguments by name, the first if none does."""
        fitting = (s for s in self.signatures if s.required <= passed <= s.parameters.keys() - s.never)
        return next(fitting, self.signatures[0])


class Surface:
    """The bindings of one revision."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._names = Names(protocol, protocol.revision, Diagnostics())
        speller = Speller(protocol, self._names)
        self._models = ModelViews(protocol, self._names, speller, {})
        self._views = StubViews(protocol, self._names, speller)
        self.revision = protocol.revision
        self.methods = frozenset(method.name for method in protocol.methods)
        self._structs = {self._names.classes[struct.name]: struct for struct in protocol.structs()}
        self.records = {record: method for method, record in self._names.records.items()}
        self.constants = frozenset(self._names.constants.values())
        self.attributes = {cls: self._attributes(struct) for cls, struct in self._structs.items()}
        self.exported = dict(self._exported())
        self.stubs: dict[str, dict[str, StubMethod]] = {}
        self._read_stubs()

    def inherits(self, definition: str, base: str) -> bool:
        """Whether the class of a definition inherits that of another one."""
        struct = self._protocol.definitions.get(definition)
        return isinstance(struct, Struct) and base in self._models.python_bases(struct)

    def ancestors(self, cls: str) -> Iterator[str]:
        """Iterate over the classes that a class inherits, directly or not."""
        struct = self._structs.get(cls)
        for base in self._models.python_bases(struct) if struct else ():
            yield self._names.classes[base]
            yield from self.ancestors(self._names.classes[base])

    def alike(self, name: PythonName) -> Iterator[PythonName]:
        """Iterate over the methods of a stub that send the same as one of them does: itself, and its iterator."""
        known = self.stubs.get(name.owner, {})
        if name.member in known:
            yield from (stub.name for stub in known.values() if stub.method == known[name.member].method)

    def attribute(self, cls: str, name: str) -> Attribute | None:
        """Return the attribute of a model by its Python name or its name on the wire: constructors take both."""
        known = self.attributes.get(cls, {})
        if name in known:
            return known[name]
        return next((a for a in known.values() if a.wire_name == name), None)

    def convert(self, type_: TypeRef, origin: PythonName | None = None, within: frozenset[str] = frozenset()) -> Type:
        """Return what is known of the values of a type of the protocol that was read from a member.

        Args:
            type_: the type.
            origin: the member, if there is one.
            within: the aliases that led here; one that holds itself is any JSON value, which is nothing of ours.
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
            type_ = self.convert(field.type, name)
            found[name.member] = Attribute(
                name=name,
                wire_name=field.wire_name,
                type=type_ if field.required else either((type_, NOTHING)),
                must_be_passed=field.required and not _is_constant(field),
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
        views = self._views
        items = (
            views.caller("Client", "object", "", CLIENT_SENDS),
            views.caller("ConnectedClient", "object", "", SERVER_SENDS),
            views.handlers("ClientHandlers", "_stub.Handlers", "ClientContext", "Client", ""),
            views.handlers("Server", "_stub.ServerHandlers", "Context", "ConnectedClient", ""),
        )
        for item in items:
            self.stubs[item.name] = dict(self._stub_methods(item))
        for context, role in CONTEXTS.items():
            peer = Instance("ConnectedClient" if role == "client" else "Client")
            self.attributes[context] = {
                name: Attribute(name=PythonName(context, name), wire_name="", type=type_, must_be_passed=False)
                for name, type_ in ((role, peer), ("peer", peer), ("request_id", FOREIGN))
            }

    def _stub_methods(self, item: Item) -> Iterator[tuple[str, StubMethod]]:
        class_ = ast.parse("\n".join((item.head, *item.lines))).body[0]
        assert isinstance(class_, ast.ClassDef)
        defined: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        for node in class_.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                defined.setdefault(node.name, []).append(node)
        for name, functions in defined.items():
            ways = functions[:-1] or functions  # the last of several is the one behind the overloads
            name_ = PythonName(item.name, name)
            method = self._method_of(name)
            signatures = tuple(self._signature(way) for way in ways)
            yield name, StubMethod(name=name_, method=method.name if method else "", signatures=signatures)

    def _signature(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Signature:
        arguments = node.args
        keywords = list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
        every = [*arguments.args[1:], *arguments.kwonlyargs]
        return Signature(
            parameters={a.arg: self._annotated(a.annotation) for a in every},
            required=frozenset(a.arg for a, default in keywords if default is None)
            | frozenset(a.arg for a in arguments.args[1:]),
            never=frozenset(a.arg for a, default in keywords if default is not None and _is_none(a.annotation)),
            result=self._annotated(node.returns),
            is_async=isinstance(node, ast.AsyncFunctionDef),
            passes=self._passes(node.name, [a.arg for a in arguments.kwonlyargs]),
        )

    def _annotated(self, node: ast.expr | None) -> Type:
        return UNKNOWN if node is None else read_annotation(node, self._resolve)

    def _resolve(self, node: ast.expr) -> Type:
        return self.exported.get(node.id, FOREIGN) if isinstance(node, ast.Name) else FOREIGN

    def _passes(self, stub: str, arguments: Sequence[str]) -> dict[str, tuple[PythonName, ...]]:
        """The members of the params that the arguments of one way to call a stub fill.

        Params that are a union have one way per member: the one that knows all of its arguments.
        """
        method = self._method_of(stub)
        if method is None or method.params is None:
            return {}
        structs = list(_structs(Ref(name=method.params), self._protocol))
        forms = [self.attributes[self._names.classes[struct.name]] for struct in structs]
        given = [a for a in arguments if a not in ("options", RESULT_TYPE)]
        filled = [[_filled(form, argument) for argument in given] for form in forms]
        fitting = [members for members in filled if all(members)] or filled
        return {
            argument: tuple(found for members in fitting if (found := members[i]) is not None)
            for i, argument in enumerate(given)
        }

    def _method_of(self, stub: str) -> Method | None:
        for method in self._protocol.methods:
            known = self._names.stubs[method.name]
            if stub in ((known,) if method.is_request else (f"notify_{known}", f"on_{known}")):
                return method
            paged = method.paginated and stub.startswith("iter_") and method.result
            if paged and self._pages(method) == stub.removeprefix("iter_"):
                return method
        return None

    def _pages(self, method: Method) -> str:
        result = self._protocol.resolve(Ref(name=method.result or ""))
        if not isinstance(result, Struct):
            return ""
        lists = [f for f in result.fields if f.required and isinstance(f.type, ListOf)]
        return self._names.attribute(result, lists[0].wire_name) if len(lists) == 1 else ""


def _structs(type_: TypeRef, protocol: Protocol) -> Iterator[Struct]:
    target = protocol.resolve(type_)
    if isinstance(target, Struct):
        yield target
    elif isinstance(target, Union):
        for member in target.members:
            yield from _structs(member, protocol)


def _filled(form: Mapping[str, Attribute], argument: str) -> PythonName | None:
    """The member of params that an argument fills: some arguments got another name, `meta` is short for ``_meta``."""
    found = form.get(argument) or form.get(argument.removesuffix("_"))
    if found is None and argument == "meta":
        found = next((a for a in form.values() if a.wire_name == "_meta"), None)
    return found.name if found is not None else None


def _as_class(type_: Type, name: str) -> Type:
    return ClassObject(type_.cls, name) if isinstance(type_, Instance) else TypeForm(type_, name)


def _is_constant(field: Field) -> bool:
    return isinstance(field.type, Literal) and len(field.type.values) == 1


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None

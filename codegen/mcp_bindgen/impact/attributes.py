"""Resolve attributes of values."""

import ast

from mcp_bindgen.impact.frame import Frame
from mcp_bindgen.impact.python_names import RECORDS, PythonName
from mcp_bindgen.impact.surface import CALLERS, CONTEXTS, HANDLERS, Attribute
from mcp_bindgen.impact.types import (
    FOREIGN,
    UNKNOWN,
    Bindings,
    BoundMethod,
    BoundStub,
    ClassObject,
    Coming,
    Constant,
    Dump,
    Either,
    ErrorTable,
    Instance,
    Many,
    Nothing,
    Package,
    Records,
    Row,
    Table,
    Type,
    TypeForm,
    Unknown,
    UserClass,
    UserFunction,
    UserInstance,
    UserSuper,
    either,
    members,
)
from mcp_bindgen.impact.uses import UseKind

TABLES = frozenset(
    (
        "METHODS",
        "CLIENT_REQUESTS",
        "SERVER_REQUESTS",
        "EMBEDDED_REQUESTS",
        "CLIENT_NOTIFICATIONS",
        "SERVER_NOTIFICATIONS",
    )
)
"""The names of the method tables."""


HELPERS = {"ask_form": "elicitation/create"}
"""Functions of the runtime that send a protocol request to the client; a test checks that each exists."""


def attribute(frame: Frame, receiver: Type, name: str, node: ast.AST) -> Type:
    """Return the type of an attribute of a value, and record the uses."""
    real = [member for member in members(receiver) if not isinstance(member, Nothing)]
    return either(_of(frame, member, name, node) for member in real) if real else FOREIGN


def exported(frame: Frame, name: str, node: ast.AST) -> Type:
    """Return what the bindings export under a name, and record its use."""
    surface = frame.project.surface
    known = Constant(name) if name in surface.constants else surface.exported.get(name)
    if known is not None:
        note_name(frame, known, node)
        return known
    if name in surface.records:
        frame.use(UseKind.LOOKUP, PythonName(RECORDS, surface.records[name]), node)
        return FOREIGN
    if name in TABLES:
        return Records()
    if name == "ERRORS":
        return ErrorTable()
    if name in surface.errors:
        frame.use(UseKind.NAME, PythonName(surface.errors[name]), node)
        return FOREIGN
    return Bindings() if name.islower() else FOREIGN


def _of(frame: Frame, receiver: Type, name: str, node: ast.AST) -> Type:
    match receiver:
        case Instance(cls=cls):
            return _of_instance(frame, cls, name, node)
        case ClassObject(cls=cls):
            return _of_class(frame, cls, name, node)
        case Bindings():
            return exported(frame, name, node)
        case Package(name=package):
            return imported(frame, f"{package}.{name}", node)
        case UserInstance(module=module, name=cls):
            return _of_user(frame, UserClass(module, cls), name, node, bound=True)
        case UserClass():
            return _of_user(frame, receiver, name, node, bound=False)
        case UserSuper(module=module, name=cls):
            return _of_super(frame, UserClass(module, cls), name, node)
        case Many() | Table() | Row() | Dump() | Records() | TypeForm():
            return BoundMethod(receiver, name)
        case Unknown():
            frame.unresolved(name, "the type of the object is not known", node)
            return UNKNOWN
        case Either():
            return attribute(frame, receiver, name, node)
        case _:
            return FOREIGN


def _of_instance(frame: Frame, cls: str, name: str, node: ast.AST) -> Type:
    surface = frame.project.surface
    stub = surface.stubs.get(cls, {}).get(name)
    if stub is not None:
        frame.use(UseKind.CALL if cls in CALLERS else UseKind.DELEGATE, stub.name, node)
        return BoundStub(cls, name)
    known = surface.attributes.get(cls, {}).get(name)
    if known is not None:
        frame.use(UseKind.READ, known.name, node)
        return known.type
    return FOREIGN if cls in (*CALLERS, *HANDLERS, *CONTEXTS) else BoundMethod(Instance(cls), name)


def _of_class(frame: Frame, cls: str, name: str, node: ast.AST) -> Type:
    if cls in CALLERS and name not in frame.project.surface.stubs[cls]:
        return BoundMethod(ClassObject(cls, cls), name)
    found = _of_instance(frame, cls, name, node)
    return BoundMethod(ClassObject(cls, cls), name) if isinstance(found, BoundMethod) else found


def imported(frame: Frame, name: str, node: ast.AST) -> Type:
    """Resolve a dotted name of a package."""
    project = frame.project
    if name in project.packages:
        return Bindings()
    if project.leads_to_bindings(name):
        return Package(name)
    if project.is_bindings(name):
        return exported(frame, name.rpartition(".")[2], node)
    outer, _, last = name.rpartition(".")
    module = project.modules.find(name, frame.module)
    if module is not None:
        return Package(name)
    helper = HELPERS.get(name.rpartition(".")[2]) if name.startswith("mcp_runtime.") else None
    if helper is not None:
        for stub in project.surface.stubs[CALLERS[1]].values():
            if stub.method == helper:
                frame.use(UseKind.CALL, stub.name, node)
        return UNKNOWN
    holder = project.modules.find(outer, frame.module) if outer else None
    if holder is not None:
        return variable(frame, holder.id, last, node)
    return Package(name)


def variable(frame: Frame, module: str, name: str, node: ast.AST) -> Type:
    """Return the value of a name in a user's module; uses of the bindings are recorded."""
    found = frame.project.facts.variables.get((module, name), UNKNOWN)
    note_name(frame, found, node)
    return found


def note_name(frame: Frame, type_: Type, node: ast.AST) -> None:
    """Record that the code names something from the bindings."""
    match type_:
        case ClassObject(name=name) | TypeForm(name=name) | Constant(name=name) if name:
            frame.use(UseKind.NAME, PythonName(name), node)
            if frame.taking:
                frame.use(UseKind.TAKE, PythonName(name), node)
        case _:
            return


def _of_user(frame: Frame, class_: UserClass, name: str, node: ast.AST, *, bound: bool) -> Type:
    facts = frame.project.facts
    for known in frame.project.lineage(class_):
        if isinstance(known, ClassObject):
            found = _of_instance(frame, known.cls, name, node)
            if not isinstance(found, BoundMethod) and found != FOREIGN:
                return found
            if isinstance(found, BoundMethod) and frame.project.generated_base(class_) == known.cls:
                receiver = UserInstance(class_.module, class_.name) if bound else class_
                return BoundMethod(receiver, name)
            continue
        key = (known.module, f"{known.name}.{name}")
        if key in facts.functions:
            return _method(frame, key, bound=bound)
        for table in (facts.declared, facts.attributes):
            if key in table:
                return _described(frame, table[key])
    if frame.project.is_open(class_):
        frame.unresolved(name, "its class has an unknown base", node)
        return UNKNOWN
    return FOREIGN


def _described(frame: Frame, type_: Type) -> Type:
    """Return the type of an attribute: the result of `__get__` if its value is a descriptor."""
    found: list[Type] = []
    for member in members(type_):
        key = (member.module, f"{member.name}.__get__") if isinstance(member, UserInstance) else ("", "")
        found.append(returned(frame, key) if key in frame.project.facts.functions else member)
    return either(found)


def _method(frame: Frame, key: tuple[str, str], *, bound: bool) -> Type:
    function = frame.project.facts.functions[key]
    if function.kind == "property":
        return returned(frame, key)
    skips = 0 if function.kind == "static" else 1 if bound or function.kind == "class" else 0
    return UserFunction(*key, skips)


def returned(frame: Frame, key: tuple[str, str]) -> Type:
    """Return what a user's function returns, without awaiting it."""
    function = frame.project.facts.functions[key]
    if function.returns is not None:
        return function.returns
    return frame.project.facts.returns.get(key, UNKNOWN)


def _of_super(frame: Frame, class_: UserClass, name: str, node: ast.AST) -> Type:
    found: list[Type] = []
    for base in frame.project.facts.bases.get((class_.module, class_.name), ()):
        for member in members(base):
            match member:
                case UserClass():
                    found.append(_of_user(frame, member, name, node, bound=True))
                case ClassObject(cls=cls):
                    found.append(_of_instance(frame, cls, name, node))
                case _:
                    found.append(_of(frame, member, name, node))
    known = [type_ for type_ in found if type_ != FOREIGN]
    return either(known or [FOREIGN])


def assigned(frame: Frame, receiver: Type, name: str, value: Type, node: ast.expr) -> None:
    """Record what an assignment to an attribute passes, or learn the attribute of a user's class."""
    facts = frame.project.facts
    for member in members(receiver):
        match member:
            case Instance(cls=cls):
                known = _declared(frame, cls, name)
                if known is not None:
                    frame.passes(known.name, node, value)
            case UserInstance(module=module, name=cls):
                base = frame.project.generated_base(UserClass(module, cls))
                known = _declared(frame, base, name) if base else None
                if known is not None:
                    frame.passes(known.name, node, value)
                facts.learn(facts.attributes, (module, f"{cls}.{name}"), value)
            case Unknown():
                frame.unresolved(name, "the type of the object it is set on is not known", node)
            case _:
                continue


def _declared(frame: Frame, cls: str, name: str) -> Attribute | None:
    return frame.project.surface.attributes.get(cls, {}).get(name)


def entered(frame: Frame, type_: Type) -> Type:
    """Return what a `with` statement binds."""
    found: list[Type] = []
    for member in members(type_):
        match member:
            case Many(item=item):
                found.append(item)
            case Coming(result=result):
                found.append(result)
            case UserInstance(module=module, name=cls):
                keys = [(module, f"{cls}.{name}") for name in ("__aenter__", "__enter__")]
                known = [returned(frame, key) for key in keys if key in frame.project.facts.functions]
                found.append(known[0] if known else member)
            case _:
                found.append(member)
    return either(found)

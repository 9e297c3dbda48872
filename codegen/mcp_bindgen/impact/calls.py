"""The results of calls, and the arguments that they pass."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mcp_bindgen.impact.attributes import assigned, attribute, returned
from mcp_bindgen.impact.frame import Frame, dotted
from mcp_bindgen.impact.methods import method_result
from mcp_bindgen.impact.python_names import EXTRA, PythonName
from mcp_bindgen.impact.reader import ExpressionReader
from mcp_bindgen.impact.special import called
from mcp_bindgen.impact.surface import CALLERS, CONTEXTS, HANDLERS, RESULT_TYPE
from mcp_bindgen.impact.types import (
    FOREIGN,
    UNKNOWN,
    BoundMethod,
    BoundStub,
    Builtin,
    ClassObject,
    Coming,
    Instance,
    Maker,
    Many,
    Package,
    Row,
    Table,
    Type,
    TypeForm,
    Unknown,
    UserClass,
    UserFunction,
    UserInstance,
    UserSuper,
    awaited,
    concerns_protocol,
    either,
    item_of,
    members,
)

_DYNAMIC = "its arguments come from a mapping"
_FIRST = frozenset("sorted reversed list tuple set frozenset iter aiter filter".split())
_ITEM = frozenset("next anext min max".split())
BUILTINS = (
    _FIRST
    | _ITEM
    | frozenset("enumerate zip map dict getattr setattr hasattr super vars isinstance issubclass type".split())
)
"""Built-in functions whose results matter."""
_HOLDERS = frozenset(
    "defaultdict deque OrderedDict ChainMap Queue LifoQueue PriorityQueue SimpleQueue JoinableQueue ContextVar"
    " WeakKeyDictionary WeakValueDictionary SimpleNamespace local Future".split()
)
"""Classes of the standard library whose objects return what they were given, which is not tracked."""
_ASYNC = frozenset("wait_for shield create_task ensure_future".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The types of a call's arguments; `spread` says that some come from ``**``."""

    node: ast.Call
    positional: tuple[Type, ...]
    keywords: Mapping[str, tuple[ast.keyword, Type]]
    spread: bool

    @property
    def every(self) -> Sequence[Type]:
        """The types of all arguments."""
        return (*self.positional, *(type_ for _, type_ in self.keywords.values()))


def call(expressions: ExpressionReader, node: ast.Call) -> Type:
    """Return the type of a call's result."""
    callee = expressions.type_of(node.func)
    arguments = _read(expressions, node, callee)
    _grow(expressions, node, arguments)
    return either(_result(expressions, member, arguments) for member in members(callee))


def _read(expressions: ExpressionReader, node: ast.Call, callee: Type) -> Arguments:
    positional: list[Type] = []
    lambdas: dict[int, ast.Lambda] = {}
    for i, argument in enumerate(node.args):
        if isinstance(argument, ast.Lambda):
            lambdas[i] = argument
            positional.append(FOREIGN)
        elif i and callee in (Builtin("isinstance"), Builtin("issubclass")):
            with expressions.frame.take():
                positional.append(expressions.type_of(argument))
        else:
            positional.append(expressions.type_of(argument))
    items = next((item_of(type_) for type_ in positional if isinstance(type_, Many | Row)), UNKNOWN)
    given = (items,) if isinstance(callee, Builtin | BoundMethod) else ()
    for i, argument in lambdas.items():
        positional[i] = Maker(expressions.lambda_result(argument, given))
    keywords: dict[str, tuple[ast.keyword, Type]] = {}
    spread = False
    for keyword in node.keywords:
        if isinstance(keyword.value, ast.Lambda):
            type_: Type = Maker(expressions.lambda_result(keyword.value, given))
        else:
            type_ = expressions.type_of(keyword.value)
        if keyword.arg is None:
            spread = True
        else:
            keywords[keyword.arg] = (keyword, type_)
    return Arguments(node=node, positional=tuple(positional), keywords=keywords, spread=spread)


def _result(expressions: ExpressionReader, callee: Type, arguments: Arguments) -> Type:
    frame = expressions.frame
    match callee:
        case ClassObject(cls=cls):
            if cls not in (*CALLERS, *HANDLERS, *CONTEXTS):
                build(frame, cls, arguments)
            return Instance(cls)
        case UserClass():
            return _construct(frame, callee, arguments)
        case UserFunction():
            return _user_function(frame, callee, arguments)
        case UserInstance():
            return called(frame, callee)
        case BoundStub(owner=owner, name=name):
            return _stub(frame, owner, name, arguments)
        case BoundMethod(receiver=receiver, name=name):
            return _method(frame, receiver, name, arguments)
        case Maker(result=result) | TypeForm(type=result):
            return result
        case Builtin(name=name):
            return _builtin(frame, name, arguments)
        case Package(name=name):
            return _package(expressions, name, arguments)
        case _:
            return _something(frame, callee, arguments)


def _something(frame: Frame, callee: Type, arguments: Arguments) -> Type:
    """Read a call of something foreign or unknown: it may return its arguments."""
    if isinstance(callee, Unknown):
        for keyword, _ in arguments.keywords.values():
            frame.unresolved(keyword.arg or "", "the function called is not known", keyword)
        return UNKNOWN
    return UNKNOWN if any(concerns_protocol(type_) for type_ in arguments.every) else FOREIGN


def build(frame: Frame, cls: str, arguments: Arguments) -> None:
    """Record that a model is constructed, and its arguments."""
    surface = frame.project.surface
    passed: set[str] = set()
    for name, (keyword, type_) in arguments.keywords.items():
        known = surface.attribute(cls, name)
        frame.passes(known.name if known else PythonName(cls, EXTRA), keyword, type_)
        if not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None):
            passed |= {name, known.name.member if known else name}
    if arguments.spread:
        frame.unresolved(cls, _DYNAMIC, arguments.node)
    frame.builds(PythonName(cls), None if arguments.spread else frozenset(passed), arguments.node)


def _construct(frame: Frame, class_: UserClass, arguments: Arguments) -> Type:
    facts = frame.project.facts
    for known in frame.project.lineage(class_):
        if isinstance(known, UserClass) and (known.module, f"{known.name}.__init__") in facts.functions:
            _user_function(frame, UserFunction(known.module, f"{known.name}.__init__", 1), arguments)
            break
    else:
        base = frame.project.generated_base(class_)
        if base is not None:
            build(frame, base, arguments)
    return UserInstance(class_.module, class_.name)


def _user_function(frame: Frame, callee: UserFunction, arguments: Arguments) -> Type:
    facts = frame.project.facts
    key = (callee.module, callee.name)
    function = facts.functions.get(key)
    if function is None:
        return UNKNOWN
    names = function.parameters[callee.skips :]
    starred = any(isinstance(argument, ast.Starred) for argument in arguments.node.args)
    for name, type_ in zip(names, () if starred else arguments.positional, strict=False):
        facts.learn(facts.parameters, (callee.module, f"{callee.name}.{name}"), type_)
    for name, (_, type_) in arguments.keywords.items():
        if name in names:
            facts.learn(facts.parameters, (callee.module, f"{callee.name}.{name}"), type_)
    result = returned(frame, key)
    return Coming(result) if function.is_async and not isinstance(result, Many) else result


def _stub(frame: Frame, owner: str, name: str, arguments: Arguments) -> Type:
    stub = frame.project.surface.stubs[owner][name]
    passed = frozenset(
        keyword
        for keyword, (node, _) in arguments.keywords.items()
        if not (isinstance(node.value, ast.Constant) and node.value.value is None)
    )
    signature = stub.chosen(passed)
    for keyword, (node, type_) in arguments.keywords.items():
        for member in signature.passes.get(keyword, ()):
            frame.passes(member, node, type_)
    if owner in CALLERS:
        forms = {member.owner for members_ in signature.passes.values() for member in members_}
        if len(forms) == 1 and len(stub.signatures) > 1:
            frame.passes(stub.name, arguments.node, Instance(forms.pop()))
        if arguments.spread:
            frame.unresolved(name, _DYNAMIC, arguments.node)
        frame.builds(stub.name, None if arguments.spread else passed, arguments.node)
    result = signature.result
    if RESULT_TYPE in arguments.keywords:
        expected = arguments.keywords[RESULT_TYPE][1]
        result = Instance(expected.cls) if isinstance(expected, ClassObject) else UNKNOWN
    return Coming(result) if signature.is_async else result


def _method(frame: Frame, receiver: Type, name: str, arguments: Arguments) -> Type:
    class_ = receiver.cls if isinstance(receiver, ClassObject | Instance) else None
    if isinstance(receiver, UserClass | UserInstance):
        module, user_name = receiver.module, receiver.name
        class_ = frame.project.generated_base(UserClass(module, user_name))
        if name == "__init__" and class_ is not None:
            build(frame, class_, arguments)
    elif name in ("__init__", "model_construct") and class_ is not None:
        build(frame, class_, arguments)
    if class_ in CALLERS and name == "open":
        return Coming(Instance(class_ or ""))
    if class_ is not None:
        _keys(frame, class_, name, arguments)
    literal = arguments.node.args[0] if arguments.node.args else None
    constant = literal.value if isinstance(literal, ast.Constant) else None
    return method_result(frame, receiver, name, (constant, arguments.node), arguments.positional)


def _keys(frame: Frame, cls: str, name: str, arguments: Arguments) -> None:
    """Record the properties used as keys in a mapping: for `model_validate`, or the update of `model_copy`."""
    update = arguments.keywords.get("update")
    first: ast.expr | None = arguments.node.args[0] if arguments.node.args else None
    if name == "model_validate" and isinstance(first, ast.Dict):
        display, whole = first, True
    elif name == "model_copy" and update is not None and isinstance(update[0].value, ast.Dict):
        display, whole = update[0].value, False
    else:
        return
    keys = [key.value for key in display.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    for key, value in zip(display.keys, display.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            known = frame.project.surface.attribute(cls, key.value)
            if known is not None:
                frame.passes(known.name, key, UNKNOWN)
                if isinstance(value, ast.Constant):
                    frame.value(known.name, value.value, value)
    if whole:
        attributes = [frame.project.surface.attribute(cls, key) for key in keys]
        names = frozenset((*keys, *(known.name.member for known in attributes if known)))
        frame.builds(PythonName(cls), names if len(keys) == len(display.keys) else None, arguments.node)


def _builtin(frame: Frame, name: str, arguments: Arguments) -> Type:
    first = arguments.positional[0] if arguments.positional else FOREIGN
    if name in ("getattr", "setattr", "hasattr"):
        return _by_name(frame, name, arguments)
    if name == "super":
        class_ = frame.class_
        return UserSuper(class_.module, class_.name) if class_ is not None else UNKNOWN
    if name in _FIRST:
        last = arguments.positional[-1] if arguments.positional else FOREIGN
        return Many(item_of(last if name == "filter" else first))
    if name in _ITEM:
        return item_of(first) if isinstance(first, Many | Row | Unknown) else either(arguments.positional)
    if name == "enumerate":
        return Many(Row((FOREIGN, item_of(first))))
    if name == "zip":
        return Many(Row(tuple(item_of(type_) for type_ in arguments.positional)))
    if name == "map":
        return Many(first.result if isinstance(first, Maker) else UNKNOWN)
    if name == "dict":
        return first if isinstance(first, Table) else Table(either(arguments.every) if arguments.every else FOREIGN)
    if name == "vars" and isinstance(first, Instance):
        return UNKNOWN
    return FOREIGN


def _by_name(frame: Frame, name: str, arguments: Arguments) -> Type:
    """Read `getattr` and similar functions: the attribute is a constant or unknown."""
    if len(arguments.node.args) < 2:
        return UNKNOWN
    receiver, (node, chosen) = arguments.positional[0], arguments.node.args[:2]
    if not isinstance(chosen, ast.Constant) or not isinstance(chosen.value, str):
        if any(isinstance(member, Instance) for member in members(receiver)):
            for member in members(receiver):
                if isinstance(member, Instance):
                    frame.unresolved(member.cls, "the name of the attribute is computed", node)
        return UNKNOWN
    if name == "setattr":
        value = arguments.positional[2] if len(arguments.positional) > 2 else UNKNOWN
        assigned(frame, receiver, chosen.value, value, chosen)
        return FOREIGN
    return attribute(frame, receiver, chosen.value, chosen)


def _package(expressions: ExpressionReader, name: str, arguments: Arguments) -> Type:
    """The results of standard library functions that pass their arguments on."""
    last = name.rpartition(".")[2]
    positional = arguments.positional
    if last == "gather" and positional:
        starred = any(isinstance(node, ast.Starred) for node in arguments.node.args)
        results = tuple(awaited(type_) for type_ in positional)
        return Coming(Many(either(results)) if starred else Row(results))
    if last in _ASYNC and positional:
        return Coming(awaited(positional[0]))
    if last == "cast" and len(positional) == 2:
        return expressions.annotation(arguments.node.args[0])
    if last in ("copy", "deepcopy", "aclosing", "closing", "nullcontext") and positional:
        return positional[0]
    if last in ("TypeVar", "NewType", "ParamSpec", *_HOLDERS):
        return UNKNOWN
    if last == "attrgetter":
        for node in arguments.node.args:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                expressions.frame.unresolved(node.value, "the attribute is accessed by name", node)
        return UNKNOWN
    return UNKNOWN if any(concerns_protocol(type_) for type_ in arguments.every) else FOREIGN


def _grow(expressions: ExpressionReader, node: ast.Call, arguments: Arguments) -> None:
    """Learn what is added to a list or set that has a name."""
    function = node.func
    if not isinstance(function, ast.Attribute) or not arguments.positional:
        return
    take: Mapping[str, Callable[[], Type]] = {
        "append": lambda: arguments.positional[0],
        "appendleft": lambda: arguments.positional[0],
        "add": lambda: arguments.positional[0],
        "insert": lambda: arguments.positional[-1],
        "put_nowait": lambda: arguments.positional[0],
        "extend": lambda: item_of(arguments.positional[0]),
        "update": lambda: item_of(arguments.positional[0]),
    }
    key = dotted(function.value)
    if key is None:
        return
    known = expressions.type_of(function.value)
    if known == FOREIGN and any(concerns_protocol(type_) and type_ != UNKNOWN for type_ in arguments.every):
        store(expressions, function.value, UNKNOWN)  # it may return its arguments
    elif isinstance(known, Many) and function.attr in take:
        grown = Many(either((known.item, take[function.attr]())))
        store(expressions, function.value, grown)


def store(expressions: ExpressionReader, target: ast.expr, value: Type) -> None:
    """Learn the new value of a name or of an attribute of a user's class."""
    frame = expressions.frame
    if isinstance(target, ast.Name):
        frame.env.types[target.id] = value
        if not frame.qualname:
            frame.project.facts.learn(frame.project.facts.variables, (frame.module.id, target.id), value)
    elif isinstance(target, ast.Attribute):
        for member in members(expressions.type_of(target.value)):
            if isinstance(member, UserInstance):
                key = (member.module, f"{member.name}.{target.attr}")
                frame.project.facts.learn(frame.project.facts.attributes, key, value)

"""Narrow the types of names by conditions and patterns."""

import ast
from collections.abc import Callable, Iterable, Iterator

from mcp_bindgen.impact.frame import Frame, dotted
from mcp_bindgen.impact.types import (
    FOREIGN,
    NOTHING,
    UNKNOWN,
    Bindings,
    ClassObject,
    Environment,
    Foreign,
    Guard,
    Instance,
    Nothing,
    Package,
    Row,
    Scalar,
    Type,
    TypeForm,
    Unknown,
    UserClass,
    UserFunction,
    UserInstance,
    either,
    members,
)

TypeOf = Callable[[ast.expr], Type]


def narrow(frame: Frame, test: ast.expr, type_of: TypeOf, *, holds: bool) -> Environment:
    """Return the environment in which a condition is true or false; uses in it are recorded elsewhere."""
    env = frame.env.copy()
    _narrow(frame, env, test, type_of, holds=holds)
    return env


def _narrow(frame: Frame, env: Environment, test: ast.expr, type_of: TypeOf, *, holds: bool) -> None:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            _narrow(frame, env, operand, type_of, holds=not holds)
        case ast.BoolOp(op=operator, values=values):
            if isinstance(operator, ast.And) == holds:
                for value in values:
                    _narrow(frame, env, value, type_of, holds=holds)
        case ast.NamedExpr(target=ast.Name(id=name)):
            _keep(env, name, env.types.get(name, UNKNOWN), lambda member: not (holds and member == NOTHING))
        case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
            _isinstance(env, subject, classes, type_of, holds=holds)
        case ast.Call(args=[subject, *_]) if holds:
            _guarded(frame, env, test, subject, type_of)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            _compare(frame, env, (left, operator, right), type_of, holds=holds)
        case ast.Name() | ast.Attribute():
            key = dotted(test)
            if key is not None and holds:
                _keep(env, key, type_of(test), lambda member: member != NOTHING)
        case _:
            return


def _keep(env: Environment, key: str, type_: Type, wanted: Callable[[Type], bool]) -> None:
    kept = [member for member in members(type_) if wanted(member)]
    if kept:
        env.types[key] = either(kept)


def _guarded(frame: Frame, env: Environment, test: ast.Call, subject: ast.expr, type_of: TypeOf) -> None:
    """Narrow by a user's function that returns `TypeGuard` or `TypeIs`."""
    callee = type_of(test.func) if isinstance(test.func, ast.Name | ast.Attribute) else FOREIGN
    key = dotted(subject)
    if isinstance(callee, UserFunction) and key is not None:
        function = frame.project.facts.functions.get((callee.module, callee.name))
        if function is not None and isinstance(function.returns, Guard):
            env.types[key] = function.returns.type


def _isinstance(env: Environment, subject: ast.expr, classes: ast.expr, type_of: TypeOf, *, holds: bool) -> None:
    subject = subject.target if isinstance(subject, ast.NamedExpr) else subject
    key = dotted(subject)
    if key is None:
        return
    wanted = instances(type_of(classes))
    env.types[key] = narrowed(type_of(subject), wanted) if holds else without(type_of(subject), wanted)


def instances(classes: Type) -> Type:
    """Return the type of instances of one or several classes, given as for `isinstance`."""
    found: list[Type] = []
    for member in members(classes):
        match member:
            case ClassObject(cls=cls):
                found.append(Instance(cls))
            case UserClass(module=module, name=name):
                found.append(UserInstance(module, name))
            case TypeForm(type=inner):
                found += members(inner)
            case Row(items=items):
                found += [inner for item in items for inner in members(instances(item))]
            case Unknown():
                found.append(UNKNOWN)
            case _:
                found.append(FOREIGN)
    return either(found)


def narrowed(type_: Type, wanted: Type) -> Type:
    """Return the part of a type that remains if a value is an instance of one of the given types."""
    kept: list[Type] = []
    for want in members(wanted):
        if want == FOREIGN:  # a foreign class: str, dict, ...
            kept += [m for m in members(type_) if not isinstance(m, Instance | Nothing)] or [FOREIGN]
        else:
            kept.append(want)
    return either(kept)


def without(type_: Type, unwanted: Type) -> Type:
    """Return the part of a type that remains if a value is not an instance of the given types."""
    left = [member for member in members(type_) if member not in members(unwanted) or isinstance(member, Unknown)]
    if FOREIGN in members(unwanted):
        left = [m for m in left if not isinstance(m, Scalar | Foreign)] or left
    return either(left) if left else FOREIGN


def _compare(
    frame: Frame,
    env: Environment,
    test: tuple[ast.expr, ast.cmpop, ast.expr],
    type_of: TypeOf,
    *,
    holds: bool,
) -> None:
    left, operator, right = test
    same = isinstance(operator, ast.Eq | ast.Is)
    if not same and not isinstance(operator, ast.NotEq | ast.IsNot):
        return
    key = dotted(left)
    if isinstance(right, ast.Constant) and right.value is None and key is not None:
        if same != holds:
            _keep(env, key, type_of(left), lambda member: member != NOTHING)
    elif isinstance(right, ast.Constant) and isinstance(left, ast.Attribute):
        owner = dotted(left.value)
        if owner is not None:
            attr, value, equal = left.attr, right.value, same == holds
            _keep(env, owner, type_of(left.value), lambda member: _may_have(frame, member, attr, value, equal=equal))


def _may_have(frame: Frame, member: Type, attribute: str, value: object, *, equal: bool) -> bool:
    """Whether an attribute of an object may have that value; constants discriminate the members of a union."""
    if not isinstance(member, Instance):
        return not (isinstance(member, Nothing) and equal)
    known = frame.project.surface.attributes.get(member.cls, {}).get(attribute)
    if known is None or not isinstance(known.type, Scalar) or not known.type.values:
        return True
    return value in known.type.values if equal else known.type.values != (value,)


def terminates(body: Iterable[ast.stmt]) -> bool:
    """Whether some statements never continue to the code after them."""
    return any(_ends(statement) for statement in body)


def _ends(statement: ast.stmt) -> bool:
    match statement:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.If(body=body, orelse=orelse):
            return bool(orelse) and terminates(body) and terminates(orelse)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return terminates(body)
        case _:
            return False


def is_name_of_type(type_: Type) -> bool:
    """Whether a value may be an operand of a type union written with ``|``."""
    return isinstance(type_, ClassObject | TypeForm | UserClass | Package | Bindings)


def constants(node: ast.expr) -> Iterator[ast.Constant]:
    """Iterate over the constants in an expression: a single one, or the items of a display."""
    if isinstance(node, ast.Constant):
        yield node
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for item in node.elts:
            yield from constants(item)

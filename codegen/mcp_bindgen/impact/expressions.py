"""Infer the types of expressions, and record every use of the bindings in them."""

import ast

from mcp_bindgen.impact.annotations import is_generic, read_annotation
from mcp_bindgen.impact.attributes import attribute, note_name
from mcp_bindgen.impact.calls import BUILTINS, call
from mcp_bindgen.impact.frame import Frame, dotted
from mcp_bindgen.impact.narrowing import constants, is_name_of_type, narrow
from mcp_bindgen.impact.python_names import RECORDS, PythonName
from mcp_bindgen.impact.special import as_row, iterated, operated, subscripted
from mcp_bindgen.impact.types import (
    FOREIGN,
    NOTHING,
    UNKNOWN,
    Builtin,
    ClassObject,
    Dump,
    Environment,
    ErrorTable,
    Maker,
    Many,
    Package,
    Records,
    Row,
    Scalar,
    Table,
    Type,
    TypeForm,
    Unknown,
    UserClass,
    UserInstance,
    awaited,
    either,
    item_of,
    members,
)
from mcp_bindgen.impact.uses import UseKind

_COMPUTED = "the name of the method is computed"


class Expressions:
    """Reads the expressions of one frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def type_of(self, node: ast.expr) -> Type:
        """Return the type of an expression."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return call(self, node)
            case ast.Await(value=value):
                return awaited(self.type_of(value))
            case ast.Subscript():
                return self._subscript(node)
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp():
                return self._bool(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.type_of(test)
                yes = self._under(narrow(self.frame, test, self.type_of, holds=True), body)
                no = self._under(narrow(self.frame, test, self.type_of, holds=False), orelse)
                return either((yes, no))
            case ast.NamedExpr(target=target, value=value):
                type_ = self.type_of(value)
                self.frame.env.bind(target.id, type_)
                return type_
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(node, left, operator, right)
            case _:
                return self._display(node)

    def _display(self, node: ast.expr) -> Type:
        match node:
            case ast.Tuple(elts=items):
                types = [self.type_of(item) for item in items]
                return Many(either(types)) if any(isinstance(i, ast.Starred) for i in items) else Row(tuple(types))
            case ast.List(elts=items) | ast.Set(elts=items):
                return Many(either(self.type_of(item) for item in items) if items else FOREIGN)
            case ast.Starred(value=value):
                return iterated(self.frame, self.type_of(value))
            case ast.Dict():
                return self._dict(node)
            case ast.UnaryOp(op=operator, operand=operand):
                return operated(self.frame, operator, self.type_of(operand))
            case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
                return Many(self._comprehension(node.generators, [item])[0])
            case ast.DictComp(key=key, value=value):
                return Table(self._comprehension(node.generators, [key, value])[1])
            case _:
                return self._rest(node)

    def _dict(self, node: ast.Dict) -> Type:
        found: list[Type] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found.append(_value_of(self.type_of(value)))
            else:
                self.type_of(key)
                found.append(self.type_of(value))
                is_method = isinstance(key, ast.Constant) and key.value == "method"
                if is_method and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    self.frame.lookup(value.value, value)
        return Table(either(found)) if found else Table(FOREIGN)

    def _rest(self, node: ast.expr) -> Type:
        match node:
            case ast.Lambda():
                return Maker(self.lambda_result(node, ()))
            case ast.Yield(value=value):
                self.frame.yielded.append(self.type_of(value) if value else NOTHING)
                return UNKNOWN
            case ast.YieldFrom(value=value):
                self.frame.yielded.append(iterated(self.frame, self.type_of(value)))
                return UNKNOWN
            case _:  # f-strings and slices contain expressions, but their values are foreign
                for inner in ast.iter_child_nodes(node):
                    if isinstance(inner, ast.expr):
                        self.type_of(inner)
                return FOREIGN

    def annotation(self, node: ast.expr) -> Type:
        """Return the type that an annotation describes, and record the names in it."""
        with self.frame.take():
            return read_annotation(node, self._named)

    def _named(self, node: ast.expr) -> Type:
        if isinstance(node, ast.Name) and node.id == "Self" and self.frame.class_ is not None:
            return self.frame.class_
        return self.type_of(node)

    def lambda_result(self, node: ast.Lambda, arguments: tuple[Type, ...]) -> Type:
        """Read a lambda as called with arguments of those types."""
        env = self.frame.env.copy()
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        for i, name in enumerate(names):
            env.bind(name, arguments[i] if i < len(arguments) else UNKNOWN)
        return self._under(env, node.body)

    def _under(self, env: Environment, node: ast.expr) -> Type:
        kept, self.frame.env = self.frame.env, env
        try:
            return self.type_of(node)
        finally:
            self.frame.env = kept

    def _constant(self, node: ast.Constant) -> Type:
        if node.value is None:
            return NOTHING
        if isinstance(node.value, str) and "/" in node.value:
            self.frame.lookup(node.value, node)
        return Scalar(frozenset(), (node.value,)) if isinstance(node.value, str) else FOREIGN

    def _name(self, name: str, node: ast.Name) -> Type:
        frame = self.frame
        for env in (frame.env, *reversed(frame.outer)):
            if name in env.types:
                found = env.types[name]
                note_name(frame, found, node)
                return found
        key = (frame.module.id, name)
        if key in frame.project.facts.variables:
            found = frame.project.facts.variables[key]
            note_name(frame, found, node)
            return found
        return Builtin(name) if name in BUILTINS else FOREIGN

    def _attribute(self, node: ast.Attribute) -> Type:
        receiver = self.type_of(node.value)
        found = attribute(self.frame, receiver, node.attr, node)
        key = dotted(node)
        return self.frame.env.types.get(key, found) if key is not None else found

    def _subscript(self, node: ast.Subscript) -> Type:
        value = self.type_of(node.value)
        generic = isinstance(value, Package) and is_generic(value.name.rpartition(".")[2])
        if generic or isinstance(value, Builtin | TypeForm | ClassObject | UserClass):
            return TypeForm(self.annotation(node))
        self.type_of(node.slice)
        return either(self._at(member, node) for member in members(value))

    def _at(self, value: Type, node: ast.Subscript) -> Type:
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        match value:
            case Many(item=item):
                return value if isinstance(node.slice, ast.Slice) else item
            case Row(items=items):
                fits = isinstance(index, int) and -len(items) <= index < len(items)
                return items[index] if fits and isinstance(index, int) else either(items)
            case Table(value=inner):
                return inner
            case UserInstance():
                return subscripted(self.frame, value, index)
            case ErrorTable():
                self._error(node)
                return FOREIGN
            case Records():
                if isinstance(index, str):
                    self.frame.lookup(index, node.slice)
                else:
                    self.frame.unresolved(RECORDS, _COMPUTED, node)
                return FOREIGN
            case Dump() | Unknown():
                if isinstance(index, str):
                    reason = (
                        "it is a key of a dump" if isinstance(value, Dump) else "the type of the mapping is not known"
                    )
                    self.frame.unresolved(index, reason, node)
                return value
            case _:
                return FOREIGN

    def _error(self, node: ast.Subscript) -> None:
        """Record a use of the error table, with the code if it is a constant."""
        code = _number(node.slice)
        name = self.frame.project.surface.codes.get(code) if code is not None else None
        if name is not None:
            self.frame.use(UseKind.NAME, PythonName(name), node)
        elif code is None:
            for known in self.frame.project.surface.codes.values():
                self.frame.unresolved(known, "the error code is computed", node)

    def _compare(self, node: ast.Compare) -> Type:
        sides = [node.left, *node.comparators]
        types = [self.type_of(side) for side in sides]
        for i, _ in enumerate(node.ops):
            for one, other in ((i, i + 1), (i + 1, i)):
                for constant in constants(sides[other]):
                    self.frame.values(types[one], constant.value, constant)
                    if isinstance(constant.value, str) and is_about_methods(sides[one]):
                        self.frame.lookup(constant.value, constant)
                    if isinstance(types[one], Records) and isinstance(constant.value, str):
                        self.frame.use(UseKind.LOOKUP, PythonName(RECORDS, constant.value), constant)
        return FOREIGN

    def _bool(self, node: ast.BoolOp) -> Type:
        kept = self.frame.env
        found: list[Type] = []
        for value in node.values:
            found.append(self.type_of(value))
            self.frame.env = narrow(self.frame, value, self.type_of, holds=isinstance(node.op, ast.And))
        bound = self.frame.env
        self.frame.env = kept
        for inner in ast.walk(node):  # names bound by := outlive the condition
            if isinstance(inner, ast.NamedExpr) and inner.target.id in bound.types:
                kept.types[inner.target.id] = bound.types[inner.target.id]
        return either(found)

    def _binary(self, node: ast.expr, left: ast.expr, operator: ast.operator, right: ast.expr) -> Type:
        one, other = self.type_of(left), self.type_of(right)
        if isinstance(operator, ast.BitOr) and (is_name_of_type(one) or is_name_of_type(other)):
            return TypeForm(self.annotation(node))
        if isinstance(one, Many | Row) and isinstance(other, Many | Row):
            return Many(either((item_of(one), item_of(other))))
        if isinstance(one, Table) and isinstance(other, Table):
            return either((one, other))
        if UNKNOWN in (one, other):
            return UNKNOWN
        return operated(self.frame, operator, one, other)

    def _comprehension(self, generators: list[ast.comprehension], items: list[ast.expr]) -> list[Type]:
        kept = self.frame.env
        self.frame.env = kept.copy()
        try:
            for generator in generators:
                self.bind(generator.target, iterated(self.frame, self.type_of(generator.iter)))
                for condition in generator.ifs:
                    self.type_of(condition)
                    self.frame.env = narrow(self.frame, condition, self.type_of, holds=True)
            return [self.type_of(item) for item in items]
        finally:
            self.frame.env = kept

    def bind(self, target: ast.expr, value: Type) -> None:
        """Bind names and tuples of names; statements handle other targets."""
        match target:
            case ast.Name(id=name):
                self.frame.env.bind(name, value)
            case ast.Starred(value=inner):
                self.bind(inner, Many(value))
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for i, inner in enumerate(targets):
                    self.bind(inner, part_of(as_row(self.frame, value), i, len(targets)))
            case _:
                return


def _number(node: ast.expr) -> int | None:
    """Return the value of an integer literal, None for any other expression."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, int) else None


def is_about_methods(node: ast.expr) -> bool:
    """Whether an expression is likely the name of a protocol method: ``method``, ``message["method"]``."""
    return any(
        "method" in name.lower()
        for inner in ast.walk(node)
        for name in (getattr(inner, "id", ""), getattr(inner, "attr", ""), getattr(inner, "value", ""))
        if isinstance(name, str)
    )


def part_of(value: Type, index: int, length: int) -> Type:
    """Return one part of a value that is unpacked into several."""
    rows = [member for member in members(value) if isinstance(member, Row) and len(member.items) == length]
    if rows and len(rows) == len(list(members(value))):
        return either(row.items[index] for row in rows)
    return item_of(value)


def _value_of(type_: Type) -> Type:
    return either(
        m.value if isinstance(m, Table) else UNKNOWN if isinstance(m, Unknown) else FOREIGN for m in members(type_)
    )

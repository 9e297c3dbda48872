"""Read statements in order: bind names, and record uses of the bindings."""

import ast
from collections.abc import Sequence

from mcp_bindgen.impact.attributes import assigned, entered, exported, imported, variable
from mcp_bindgen.impact.calls import store
from mcp_bindgen.impact.definitions import define_class, define_function
from mcp_bindgen.impact.expressions import Expressions, is_about_methods, part_of
from mcp_bindgen.impact.frame import Frame
from mcp_bindgen.impact.narrowing import narrow, terminates
from mcp_bindgen.impact.patterns import left_over, match_pattern, texts
from mcp_bindgen.impact.special import as_row, iterated
from mcp_bindgen.impact.types import (
    FOREIGN,
    UNKNOWN,
    Bindings,
    Environment,
    Many,
    Table,
    Type,
    Unknown,
    either,
    item_of,
)


class Statements:
    """Reads the statements of one frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.expressions = Expressions(frame)

    @property
    def reader(self) -> Expressions:
        """The reader of the expressions of the frame."""
        return self.expressions

    def within(self, frame: Frame) -> "Statements":
        """Return a reader of a frame inside this one."""
        return Statements(frame)

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Read statements in order."""
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()):
                return  # a docstring, or an ellipsis
            case ast.Expr(value=value):
                self.expressions.type_of(value)
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value)
            case ast.AnnAssign():
                self._annotated(node)
            case ast.AugAssign():
                self._augment(node)
            case ast.Return(value=value):
                self.frame.returned.append(self.expressions.type_of(value) if value else FOREIGN)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                define_function(self, node)
            case ast.ClassDef():
                define_class(self, node)
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case _:
                self._compound(node)

    def _augment(self, node: ast.AugAssign) -> None:
        grown = self.expressions.type_of(node.value)
        if isinstance(node.target, ast.Name | ast.Attribute):
            known = self.expressions.type_of(node.target)
            if isinstance(known, Many):
                store(self.expressions, node.target, Many(either((known.item, item_of(grown)))))

    def _compound(self, node: ast.stmt) -> None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
                self.expressions.type_of(test)
                self._branches([(self._when(test, holds=True), body), (self._when(test, holds=False), orelse)])
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                items = iterated(self.frame, self.expressions.type_of(iterable))
                before = self.frame.env.copy()
                self._bind(target, items)
                self._branches([(self.frame.env, node.body), (before, [])])
                self.block(node.orelse)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    type_ = entered(self.frame, self.expressions.type_of(item.context_expr))
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, type_)
                self.block(body)
            case ast.Try() | ast.TryStar():
                self._try(node)
            case ast.Match(subject=subject, cases=cases):
                self._match(subject, cases)
            case ast.Assert(test=test):
                self.expressions.type_of(test)
                self.frame.env = self._when(test, holds=True)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self.frame.shared.update(names)
            case _:  # raise, delete and other statements that contain only expressions
                for inner in ast.iter_child_nodes(node):
                    if isinstance(inner, ast.expr):
                        self.expressions.type_of(inner)

    def _when(self, test: ast.expr, *, holds: bool) -> Environment:
        return narrow(self.frame, test, self.expressions.type_of, holds=holds)

    def _branches(self, ways: Sequence[tuple[Environment, Sequence[ast.stmt]]]) -> None:
        """Read several branches; the types after them are the union over the branches that complete."""
        ends: list[Environment] = []
        for env, body in ways:
            self.frame.env = env
            self.block(body)
            if not terminates(body):
                ends.append(self.frame.env)
        joined = Environment()
        joined.join(*(ends or [ways[0][0]]))
        self.frame.env = joined

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        before = self.frame.env.copy()
        self.block([*node.body, *node.orelse])
        ends = [] if terminates([*node.body, *node.orelse]) else [self.frame.env]
        for handler in node.handlers:
            self.frame.env = before.copy()
            if handler.type is not None:
                self.expressions.type_of(handler.type)
            if handler.name:
                self.frame.env.bind(handler.name, FOREIGN)
            self.block(handler.body)
            if not terminates(handler.body):
                ends.append(self.frame.env)
        joined = Environment()
        joined.join(*(ends or [before]))
        self.frame.env = joined
        self.block(node.finalbody)

    def _match(self, subject: ast.expr, cases: Sequence[ast.match_case]) -> None:
        left = self.expressions.type_of(subject)
        before = self.frame.env
        ends: list[Environment] = []
        key = ast.unparse(subject) if isinstance(subject, ast.Name | ast.Attribute) else None
        for case in cases:
            self.frame.env = before.copy()
            matched = match_pattern(self.expressions, case.pattern, left)
            if is_about_methods(subject):
                for text, node in texts(case.pattern):
                    self.frame.lookup(text, node)
            if key is not None:
                self.frame.env.types[key] = matched
            if case.guard is not None:
                self.expressions.type_of(case.guard)
                self.frame.env = self._when(case.guard, holds=True)
            else:
                left = left_over(self.expressions, case.pattern, left)
            self.block(case.body)
            if not terminates(case.body):
                ends.append(self.frame.env)
        joined = Environment()
        joined.join(*ends, before)
        self.frame.env = joined

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        if isinstance(targets[0], ast.Name) and targets[0].id == "__all__":
            self._exports(value)
        type_ = self.expressions.type_of(value)
        for target in targets:
            self._bind(target, type_, value)

    def _exports(self, value: ast.expr) -> None:
        """Record a use for each name in ``__all__``."""
        if isinstance(value, ast.List | ast.Tuple):
            for item in value.elts:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    self.expressions.type_of(ast.copy_location(ast.Name(id=item.value, ctx=ast.Load()), item))

    def _annotated(self, node: ast.AnnAssign) -> None:
        type_ = self.expressions.annotation(node.annotation)
        given = self.expressions.type_of(node.value) if node.value is not None else None
        if isinstance(type_, Unknown) and given is not None:
            type_ = given
        facts = self.frame.project.facts
        if isinstance(node.target, ast.Name):
            self.frame.env.bind(node.target.id, type_)
            if self.frame.class_ is not None and self.frame.qualname == self.frame.class_.name:
                facts.declared[self.frame.module.id, f"{self.frame.qualname}.{node.target.id}"] = type_
        elif isinstance(node.target, ast.Attribute):
            self._bind(node.target, type_, node.value)

    def _bind(self, target: ast.expr, value: Type, given: ast.expr | None = None) -> None:
        match target:
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for i, inner in enumerate(targets):
                    self._bind(inner, part_of(as_row(self.frame, value), i, len(targets)))
            case ast.Starred(value=inner):
                self._bind(inner, Many(value))
            case ast.Attribute(value=owner, attr=name):
                place = ast.copy_location(given, target) if isinstance(given, ast.Constant) else target
                assigned(self.frame, self.expressions.type_of(owner), name, value, place)
                key = ast.unparse(target)
                self.frame.env.types.pop(key, None)
            case ast.Subscript(value=owner, slice=index):
                self.expressions.type_of(index)
                known = self.expressions.type_of(owner)
                if isinstance(known, Table):
                    store(self.expressions, owner, Table(either((known.value, value))))
            case ast.Name(id=name):
                self.frame.env.bind(name, value)
                if name in self.frame.shared:
                    facts = self.frame.project.facts
                    facts.learn(facts.variables, (self.frame.module.id, name), value)
            case _:
                return

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                whole = imported(self.frame, alias.name, alias)
                value = whole if alias.asname else imported(self.frame, first, alias)
                self.frame.env.bind(alias.asname or first, value)
            return
        name = self.frame.module.absolute(node.module, node.level)
        for alias in node.names:
            if alias.name == "*":
                self._import_all(name)
            else:
                value = self._from(name, alias, node.level)
                self.frame.env.bind(alias.asname or alias.name, value)

    def _from(self, name: str, alias: ast.alias, level: int) -> Type:
        project = self.frame.project
        if name in project.packages or project.is_bindings(name):
            full = f"{name}.{alias.name}"
            return Bindings() if full in project.packages else exported(self.frame, alias.name, alias)
        module = project.modules.find(name, self.frame.module)
        if module is not None and (module.id, alias.name) in project.facts.variables:
            return variable(self.frame, module.id, alias.name, alias)
        own = module is not None or level > 0 or name.partition(".")[0] == self.frame.module.name.partition(".")[0]
        if own and project.modules.find(f"{name}.{alias.name}", self.frame.module) is None:
            return UNKNOWN  # a part of the user's own code that is not scanned, or does not exist
        return imported(self.frame, f"{name}.{alias.name}", alias)

    def _import_all(self, name: str) -> None:
        project = self.frame.project
        if project.is_bindings(name):
            for exported_name, type_ in project.surface.exported.items():
                self.frame.env.bind(exported_name, type_)
            return
        module = project.modules.find(name, self.frame.module)
        if module is None:
            return
        for (home, variable_name), type_ in list(project.facts.variables.items()):
            if home == module.id and not variable_name.startswith("_"):
                self.frame.env.bind(variable_name, type_)

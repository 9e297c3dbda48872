"""Scan code for uses of the bindings that no type checker can mark, and for possible uses that it must decide on.

What has a name of its own (classes, aliases, constants, method records, overridden handlers, patterns, constructors) is
followed through imports. An attribute whose name is that of something that changed becomes a question: what is the type
of the object?
"""

import ast
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.impact.bindings import CALLERS, HANDLERS, RECORDS, PythonName
from mcp_bindgen.impact.marks import Arguments, Findings, UseKind
from mcp_bindgen.impact.modules import Module, dotted, is_within
from mcp_bindgen.impact.report import Spot, Touched, Unresolved
from mcp_bindgen.impact.watched import Found, Question, Watched

HELPERS = {"ask_form": "elicitation/create"}
"""Functions of the runtime that send a protocol request to the client; a test checks that each exists."""
_DUMPS = frozenset(("model_dump", "dict"))
_VALIDATORS = frozenset(("model_validate", "model_construct"))


class Scanner(ast.NodeVisitor):
    """Reads one module."""

    def __init__(self, watched: Watched, module: Module, found: Found) -> None:
        self._watched, self._module, self._found = watched, module, found
        self._marks = watched.marks
        self._takes = False
        self._dumps: set[str] = set()

    def spot(self, node: ast.AST) -> Spot:
        """Return the place of a node; that of an attribute is where its name is."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        if isinstance(node, ast.Attribute):
            line, column = node.end_lineno or line, (node.end_col_offset or column) - len(node.attr.encode())
        return Spot(self._module.path, line, column + 1)

    def touch(self, node: ast.AST, kind: UseKind, name: PythonName, findings: Findings) -> None:
        """Record a use of a name, once per change."""
        spot = self.spot(node)
        self._found.touched += (Touched(spot=spot, kind=kind, name=name, finding=finding) for finding in findings)

    def visit_Name(self, node: ast.Name) -> None:
        """Read a name."""
        self._named(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Read a dotted name, or an attribute of a value."""
        if self._named(node):
            return
        kind = UseKind.READ if isinstance(node.ctx, ast.Load) else UseKind.PASS
        names = self._watched.attributes.get(node.attr, ())
        fields = [name for name in names if name.owner not in (*CALLERS, *HANDLERS) and self._marks.of(name, kind)]
        stubs = [name for name in names if name.owner in CALLERS and self._marks.of(name, UseKind.CALL)]
        stubs += [name for name in names if name.owner in HANDLERS]
        if fields or stubs:
            self._ask(node.value, node, (*fields, *stubs), kind if fields else UseKind.CALL)
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        """Read a constructor, a stub, or a function that takes names as strings."""
        parts, first = self._bound(node.func), node.args[0] if node.args else None
        name = dotted(node.func) or ""
        if len(parts) == 1 and parts[0] in self._marks.old.classes:
            self._construct(node, PythonName(parts[0]))
        elif len(parts) == 2 and parts[1] in _VALIDATORS and isinstance(first, ast.Dict):
            self._fill(PythonName(parts[0]), dict(_items(first)))
        elif parts == (RECORDS, "get") and first is not None:
            self._look_up(first)
        elif name in ("isinstance", "issubclass") and len(node.args) == 2:
            with self._taking():
                self.visit(node.args[1])
        elif name == "getattr" and len(node.args) > 1:
            self._getattr(node)
        elif name.rpartition(".")[2] == "partial" and first is not None and len(self._bound(first)) == 1:
            self._fill(PythonName(self._bound(first)[0]), {k.arg: k for k in node.keywords if k.arg})
        elif name.rpartition(".")[2] == "attrgetter":
            for key in node.args:
                if isinstance(key, ast.Constant) and key.value in self._watched.attributes:
                    self._unresolve(key, str(key.value), "the type of the object is not known")
        elif isinstance(node.func, ast.Attribute) and not parts:
            self._method(node, node.func)
        self.generic_visit(node)

    def _method(self, node: ast.Call, function: ast.Attribute) -> None:
        """Read a call of a method of some object."""
        given = {keyword.arg: keyword for keyword in node.keywords}
        if function.attr == "model_copy" and "update" in given and isinstance(given["update"].value, ast.Dict):
            for key, value in _items(given["update"].value):
                names = tuple(n for n in self._watched.keywords.get(key, ()) if self._marks.of(n, UseKind.PASS))
                if names:
                    self._ask(function.value, value, names, UseKind.PASS, hidden=True)
        if function.attr in ("get", "pop") and node.args:
            self._dumped(function.value, node.args[0])
        for name in self._watched.attributes.get(function.attr, ()):
            arguments = self._watched.arguments(name) if name.owner in CALLERS else None
            if arguments and (None in given or affected(arguments, node)):
                self._ask(function.value, function, (name,), UseKind.PASS, hidden=None in given)

    def _getattr(self, node: ast.Call) -> None:
        value, name = node.args[:2]
        if isinstance(name, ast.Constant):
            names = [n for n in self._watched.attributes.get(str(name.value), ()) if self._marks.of(n, UseKind.READ)]
            if names:
                self._ask(value, node, tuple(names), UseKind.READ, hidden=True)
        elif owners := {PythonName(name.owner) for name in self._marks.fields if self._marks.of(name, UseKind.READ)}:
            self._ask(value, node, tuple(sorted(owners)), UseKind.READ, hidden=True)

    def _construct(self, node: ast.Call, owner: PythonName) -> None:
        arguments = self._watched.arguments(owner)
        if arguments and any(keyword.arg is None for keyword in node.keywords):
            self._unresolve(node, owner.owner, "the names of its arguments are computed")
        elif arguments:
            for argument in arguments.omitted.keys() - {self._python(owner, k.arg) for k in node.keywords}:
                self.touch(node, UseKind.BUILD, owner, arguments.omitted[argument])
        self._fill(owner, {keyword.arg: keyword for keyword in node.keywords if keyword.arg})

    def _fill(self, owner: PythonName, given: Mapping[str, ast.AST]) -> None:
        """Read the arguments of a constructor, by attribute or by wire name."""
        arguments = self._watched.arguments(owner)
        for spelled, node in given.items():
            name = self._python(owner, spelled)
            self.touch(node, UseKind.PASS, PythonName(owner.owner, name), arguments.passed.get(name, ()))

    def _python(self, owner: PythonName, spelled: str | None) -> str:
        cls = self._marks.old.classes.get(owner.owner)
        fields = cls.every_field if cls else ()
        return next((each.name for each in fields if spelled in (each.name, each.wire_name)), spelled or "")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Read an item of a table of the bindings, or of a dumped model."""
        parts = self._bound(node.value)
        if parts == (RECORDS,):
            self._look_up(node.slice)
        elif parts == ("ERRORS",):
            name = PythonName(self._watched.codes.get(ast.unparse(node.slice), ""))
            self.touch(node, UseKind.NAME, name, self._marks.of(name, UseKind.NAME))
        else:
            self._dumped(node.value, node.slice)
        self.generic_visit(node)

    def _dumped(self, value: ast.expr, key: ast.expr) -> None:
        """Record the key of a dumped model that has the name of something that changed."""
        dumped = dotted(value) in self._dumps or _is_dump(value)
        if dumped and isinstance(key, ast.Constant) and key.value in self._watched.keywords:
            self._unresolve(key, str(key.value), "it is a key of a dump")

    def _look_up(self, key: ast.expr) -> None:
        if isinstance(key, ast.Constant):
            self._method_named(key)
        elif self._marks.lookups:
            self._unresolve(key, RECORDS, "the name of the method is computed")

    def visit_Assign(self, node: ast.Assign) -> None:
        """Read an assignment; `__all__` has names as strings."""
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "__all__" and isinstance(node.value, ast.List | ast.Tuple):
                for item in node.value.elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        self._mention(item, self._parts(item.value))
            if isinstance(target, ast.Name) and _is_dump(node.value):
                self._dumps.add(target.id)
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Read the names that a module imports."""
        for alias in node.names:
            local = alias.asname or alias.name
            self._mention(alias, self._parts(local))
            whole = self._module.names.get(local, "")
            method = HELPERS.get(alias.name) if whole.startswith("mcp_runtime.") else None
            for member, function in self._marks.old.stubs[CALLERS[1]].items() if method else ():
                name = PythonName(CALLERS[1], member)
                if function.method == method:
                    self.touch(alias, UseKind.CALL, name, self._marks.of(name, UseKind.CALL))

    def visit_Import(self, node: ast.Import) -> None:
        """Read the modules that a module imports."""
        self._found.used |= {self._module for alias in node.names if is_within(alias.name, self._watched.packages)}

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Read a class, which may override handlers."""
        handlers = {base for base in self._lineage(self._module, node.bases, frozenset()) if base in HANDLERS}
        for member in node.body:
            if isinstance(member, ast.AsyncFunctionDef | ast.FunctionDef):
                for name in (PythonName(handler, member.name) for handler in handlers):
                    self.touch(member, UseKind.HANDLE, name, self._marks.of(name, UseKind.HANDLE))
        self.generic_visit(node)

    def _lineage(self, module: Module, bases: list[ast.expr], seen: frozenset[str]) -> Iterator[str]:
        """Iterate over the generated classes that a class inherits."""
        for base in bases:
            text = dotted(base.value if isinstance(base, ast.Subscript) else base)
            home, name = self._watched.modules.resolve(module, text or "", self._watched.packages)
            if home is None:
                yield from ("Server" if part == "App" else part for part in self._relative(name)[:1])
            elif name in home.classes and f"{home.home}:{name}" not in seen:
                yield from self._lineage(home, home.classes[name], seen | {f"{home.home}:{name}"})

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """Read the pattern of a model."""
        parts = self._bound(node.cls)
        for member, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
            if len(parts) == 1:
                name = PythonName(parts[0], member)
                self.touch(pattern, UseKind.READ, name, self._marks.of(name, UseKind.READ))
        with self._taking():
            self.visit(node.cls)
        for pattern in (*node.patterns, *node.kwd_patterns):
            self.visit(pattern)

    def visit_Match(self, node: ast.Match) -> None:
        """Read a statement that may tell methods apart."""
        if _is_method(node.subject):
            for value in (inner for case in node.cases for inner in ast.walk(case.pattern)):
                if isinstance(value, ast.Constant):
                    self._method_named(value)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Read a comparison with the name of a method, or with a value that is gone."""
        sides = (node.left, *node.comparators)
        for side in (inner for each in sides for inner in getattr(each, "elts", (each,))):
            if isinstance(side, ast.Constant):
                if any(map(_is_method, sides)):
                    self._method_named(side)
                self._valued(side)
        self.generic_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> None:
        """Read a pattern that is a constant."""
        if isinstance(node.value, ast.Constant):
            self._valued(node.value)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Read a display, which may be a message."""
        for key, value in _items(node):
            if key == "method" and isinstance(value, ast.Constant):
                self._method_named(value)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Read a statement; a docstring names nothing."""
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Read a string: an annotation in quotes, or the name of a method."""
        if self._takes and isinstance(node.value, str):
            try:
                inner = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return
            for part in ast.walk(inner):
                if isinstance(part, ast.expr):
                    ast.copy_location(part, node)
            self.visit(inner)
        elif isinstance(node.value, str) and "/" in node.value:
            self._method_named(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Read an annotated assignment."""
        with self._taking():
            self.visit(node.annotation)
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Read a parameter."""
        if node.annotation is not None:
            with self._taking():
                self.visit(node.annotation)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Read a function."""
        returns, node.returns = node.returns, None
        if returns is not None:
            with self._taking():
                self.visit(returns)
        self.generic_visit(node)
        node.returns = returns

    visit_AsyncFunctionDef = visit_FunctionDef

    @contextmanager
    def _taking(self) -> Generator[None]:
        """Read an expression that says of which type objects are."""
        kept, self._takes = self._takes, True
        try:
            yield
        finally:
            self._takes = kept

    def _named(self, node: ast.Name | ast.Attribute) -> bool:
        """Record a name of the bindings; return whether it is one."""
        outer: ast.expr = node
        parts = self._bound(node)
        for _ in parts[1:]:
            outer = outer.value if isinstance(outer, ast.Attribute) else outer
        self._mention(outer, parts)
        return bool(parts)

    def _mention(self, node: ast.AST, parts: tuple[str, ...]) -> None:
        if not parts:
            return
        self._found.used.add(self._module)
        name = PythonName(self._marks.old.errors.get(parts[0], parts[0]))
        if parts[0] in self._watched.records:
            name = PythonName(RECORDS, self._watched.records[parts[0]])
            self.touch(node, UseKind.LOOKUP, name, self._marks.of(name, UseKind.LOOKUP))
        self.touch(node, UseKind.NAME, name, self._marks.of(name, UseKind.NAME))
        if self._takes:
            self.touch(node, UseKind.TAKE, name, self._marks.of(name, UseKind.TAKE))

    def _bound(self, node: ast.expr) -> tuple[str, ...]:
        """Return what an expression names in the bindings: a name, and attributes of it; empty if nothing."""
        text = dotted(node)
        return self._parts(text) if text else ()

    def _parts(self, text: str) -> tuple[str, ...]:
        if text.partition(".")[0] not in self._module.names and not self._module.stars:
            return ()
        home, name = self._watched.modules.resolve(self._module, text, self._watched.packages)
        return () if home is not None else self._relative(name)

    def _relative(self, name: str) -> tuple[str, ...]:
        """Return a dotted name without the package of the bindings and its modules; empty outside of it."""
        package = next((each for each in self._watched.packages if name.startswith(f"{each}.")), None)
        parts = tuple(name.removeprefix(f"{package}.").split(".")) if package else ()
        return parts if self._watched.exports.intersection(parts[:1]) else parts[1:]

    def _ask(
        self, asked: ast.expr, node: ast.AST, names: tuple[PythonName, ...], kind: UseKind, *, hidden: bool = False
    ) -> None:
        question = Question(
            module=self._module, asked=asked, spot=self.spot(node), names=names, kind=kind, hidden=hidden
        )
        self._found.questions.append(question)

    def _unresolve(self, node: ast.AST, name: str, reason: str) -> None:
        self._found.unresolved.append(Unresolved(self.spot(node), name, reason))

    def _method_named(self, node: ast.Constant) -> None:
        name = PythonName(RECORDS, str(node.value))
        self.touch(node, UseKind.LOOKUP, name, self._marks.of(name, UseKind.LOOKUP))

    def _valued(self, node: ast.Constant) -> None:
        name = self._watched.values.get(json.dumps(node.value)) if isinstance(node.value, str | int | float) else None
        if name is not None:
            self._unresolve(node, str(name), "the property may have had this value")


def affected(arguments: Arguments, call: ast.Call) -> bool:
    """Whether a call passes or omits an argument so that a change may affect it."""
    given = {keyword.arg for keyword in call.keywords}
    return bool(given & (arguments.passed.keys() | arguments.narrowed.keys()) or arguments.omitted.keys() - given)


def scan(watched: Watched, modules: Sequence[Module], diagnostics: Diagnostics) -> Found:
    """Read modules, and return what they use and what is to be decided."""
    found = Found()
    for module in modules:
        try:
            Scanner(watched, module, found).visit(module.tree)
        except RecursionError:
            watched.modules.unread.append(module.path)
            diagnostics.warning(Location(source=str(module.path)), "skipped: its expressions are nested too deeply")
    return found


def _items(node: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    """Iterate over the items of a display whose keys are strings."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def _is_dump(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DUMPS


def _is_method(node: ast.expr) -> bool:
    """Whether an expression has the name of a method, by what it is called."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "method"
    return (dotted(node) or "").rpartition(".")[2] == "method" or (
        isinstance(node, ast.Attribute) and node.attr == "method"
    )

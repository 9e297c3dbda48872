"""Scan code for uses of the bindings that no type checker can mark, and for possible uses that it must decide on.

What has a name of its own (classes, aliases, constants, method records, overridden handlers, patterns, constructors) is
followed through imports. An attribute whose name is that of something that changed becomes a question: what is the type
of the object?
"""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from mcp_bindgen.impact.bindings import HANDLERS, RECORDS, PythonName
from mcp_bindgen.impact.marks import Findings, Marks, UseKind
from mcp_bindgen.impact.modules import Module, Modules, dotted
from mcp_bindgen.impact.report import Spot, Touched, Unresolved

_TYPED = ("annotation", "returns", "cls")
"""The parts of a syntax tree that say of which type objects are."""
_DUMPS = ("model_dump", "dict")
_MAX_BASES = 20
"""How many classes an override is followed through."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A possible use of something that changed: it is one if the type of `asked` is unknown.

    If the type is known, it is a use where a checker cannot see it (`hidden`): a computed name, say.
    """

    module: Module
    asked: ast.expr
    spot: Spot
    names: Sequence[PythonName]
    kind: UseKind
    hidden: bool = False


class Scan:
    """Reads modules; `used` are those that name the bindings."""

    def __init__(self, marks: Marks, modules: Modules) -> None:
        self._marks, self._modules = marks, modules
        self.touched: list[Touched] = []
        self.questions: list[Question] = []
        self.unresolved: list[Unresolved] = []
        self.used: set[Module] = set()
        self.built: list[tuple[PythonName, Spot, int]] = []
        """Constructors that leave out what has to be there now, which checkers mark: name, place, and last line."""

    def read(self, module: Module) -> None:
        """Find what a module uses.

        Raises:
            RecursionError: its expressions are nested too deeply.
        """
        self._module, self._types, self._dumps = module, set[ast.AST](), set[str]()
        pending: list[ast.AST] = [module.tree]
        for node in pending:  # It grows.
            self._types.update(*(ast.walk(getattr(node, name)) for name in _TYPED if getattr(node, name, None)))
            self._read(node)
            pending += ast.iter_child_nodes(node)
            if node in self._types and isinstance(node, ast.Constant) and isinstance(node.value, str):
                pending += self._unquoted(node)

    def _read(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name) | ast.alias(asname=str(name)) | ast.alias(name=name):
                self._mention(node, self._parts(name))
            case ast.Attribute():
                self._attribute(node)
            case ast.Call():
                self._call(node)
            case ast.Constant(value=str(text)) if "/" in text:
                self._touch(node, UseKind.LOOKUP, PythonName(RECORDS, text))
            case ast.ClassDef():
                for handler, member in product(HANDLERS & {*self._lineage(self._module, node.bases)}, node.body):
                    self._touch(member, UseKind.HANDLE, PythonName(handler, getattr(member, "name", "")))
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)):
                for each in names:
                    self._mention(each, self._parts(_text(each)))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_dump(value):
                self._dumps.add(name)
            case ast.Subscript(value=value, slice=key):
                self._item(value, key)
            case _:
                self._compare(node)

    def _compare(self, node: ast.AST) -> None:
        """Read a pattern, or a comparison with the name of a method or with a value that was removed."""
        match node:
            case ast.MatchClass(cls=cls):
                for member, pattern in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
                    self._touch(pattern, UseKind.READ, PythonName("".join(self._bound(cls)[:1]), member))
            case ast.Compare(left=left, comparators=others):
                self._methods([left, *others], [left, *others])
            case ast.Match(subject=subject, cases=cases):
                self._methods([subject], [case.pattern for case in cases])
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    self._methods([key], [value])
            case _:
                pass
        sides = [getattr(node, "left", None), *getattr(node, "comparators", ()), getattr(node, "value", None)]
        for side in sides if isinstance(node, ast.Compare | ast.MatchValue) else ():
            for value in (each for each in getattr(side, "elts", (side,)) if isinstance(each, ast.Constant)):
                name = self._marks.values.get(json.dumps(value.value, default=str))
                if name is not None:
                    self._unresolve(value, str(name), "the property may have had this value")

    def _unquoted(self, node: ast.Constant) -> list[ast.expr]:
        """Return the annotation that is in quotes."""
        try:
            inner = ast.parse(str(node.value).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        found = [ast.copy_location(part, node) for part in ast.walk(inner) if isinstance(part, ast.expr)]
        self._types.update(found)
        return found

    def _spot(self, node: ast.AST) -> Spot:
        """Return the place of a node; that of an attribute is where its name is."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        if isinstance(node, ast.Attribute):
            line, column = node.end_lineno or line, (node.end_col_offset or column) - len(node.attr.encode())
        return Spot(self._module.path, line, column + 1)

    def _touch(self, node: ast.AST, kind: UseKind, name: PythonName, findings: Findings | None = None) -> None:
        found = self._marks.of(name, kind) if findings is None else findings
        self.touched += (Touched(spot=self._spot(node), kind=kind, name=name, finding=each) for each in found)

    def _ask(
        self, asked: ast.expr, node: ast.AST, names: Sequence[PythonName], kind: UseKind, *, hidden: bool = False
    ) -> None:
        if names:
            self.questions.append(Question(self._module, asked, self._spot(node), names, kind, hidden))

    def _unresolve(self, node: ast.AST, name: str, reason: str) -> None:
        self.unresolved.append(Unresolved(self._spot(node), name, reason))

    def _parts(self, text: str) -> tuple[str, ...]:
        """Return what a dotted name names in the bindings: a name, and attributes of it; empty if nothing."""
        home, name = self._modules.resolve(self._module, text)
        package = self._modules.package_of(name) if home is None else ""
        if not package:
            return ()
        parts = tuple(name.removeprefix(package).split(".")[1:])
        if parts and parts[0] not in {*self._marks.old.exports, *self._marks.old.modules, "*"}:
            return ()  # A package of another revision.
        self.used.add(self._module)
        return parts[1:] if parts and parts[0] in self._marks.old.modules else parts

    def _bound(self, node: ast.expr) -> tuple[str, ...]:
        return self._parts(dotted(node))

    def _mention(self, node: ast.AST, parts: tuple[str, ...]) -> None:
        """Record a name of the bindings; its attributes are read elsewhere."""
        if len(parts) == 1:
            name, kinds = self._marks.old.errors.get(parts[0], parts[0]), (UseKind.NAME, UseKind.TAKE)
            for kind in kinds if node in self._types else kinds[:1]:
                self._touch(node, kind, PythonName(name))
            self._touch(node, UseKind.LOOKUP, PythonName(RECORDS, self._marks.old.records.get(name, "")))

    def _attribute(self, node: ast.Attribute) -> None:
        parts = self._bound(node)
        self._mention(node, parts)
        kind = UseKind.READ if isinstance(node.ctx, ast.Load) else UseKind.PASS
        if not parts:
            self._ask(node.value, node, self._marks.attributes(node.attr, kind), kind)

    def _call(self, node: ast.Call) -> None:
        """Read a constructor, a stub, or a function that takes names as strings."""
        parts, given = self._bound(node.func), {keyword.arg: keyword for keyword in node.keywords}
        callee = node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
        match callee, node.args:
            case "isinstance" | "issubclass", [_, types]:
                self._types.update(ast.walk(types))
            case "getattr", [value, key, *_]:
                names = self._marks.attributes(_text(key), UseKind.READ)
                self._ask(value, node, names if _text(key) else self._marks.readable, UseKind.READ, hidden=True)
            case "attrgetter", keys:
                for key in keys:
                    if self._marks.attributes(_text(key), UseKind.READ):
                        self._unresolve(key, _text(key), "the type of the object is not known")
            case "partial", [cls, *_]:
                self._fill(self._bound(cls), given)
            case "model_validate" | "model_construct", [ast.Dict() as shown]:
                self._fill(parts[:-1], _items(shown))
            case "get" | "pop", [key, *_] if isinstance(node.func, ast.Attribute):
                self._item(node.func.value, key)
            case _ if len(parts) == 1:
                self._fill(parts, given)
                self._build(PythonName(parts[0]), node, given)
            case _ if isinstance(node.func, ast.Attribute) and not parts:
                updated = given["update"].value if callee == "model_copy" and "update" in given else None
                for name, value in _items(updated).items():
                    self._ask(
                        node.func.value, value, self._marks.keywords.get(name or "", ()), UseKind.PASS, hidden=True
                    )
                names = self._marks.callables(callee, given)
                self._ask(node.func.value, node.func, names, UseKind.PASS, hidden=None in given)
            case _:
                pass

    def _fill(self, parts: Sequence[str], given: Mapping[str | None, ast.AST]) -> None:
        """Read the arguments of a constructor, by attribute or by wire name."""
        for owner in map(PythonName, parts[:1]):
            arguments = self._marks.arguments(owner)
            if arguments and None in given:
                self._unresolve(given[None], str(owner), "the names of its arguments are computed")
            for spelled, node in given.items():
                name = self._marks.old.field_name(owner, spelled)
                self._touch(node, UseKind.PASS, PythonName(owner.owner, name), arguments.passed.get(name, ()))

    def _build(self, owner: PythonName, node: ast.Call, given: Mapping[str | None, ast.AST]) -> None:
        """Note a constructor that leaves out what has to be there now."""
        passed = {self._marks.old.field_name(owner, name) for name in given if name}
        if None not in given and self._marks.arguments(owner).omitted.keys() - passed:
            self.built.append((owner, self._spot(node), node.end_lineno or node.lineno))

    def _item(self, value: ast.expr, key: ast.expr) -> None:
        """Read an item of a table of the bindings, or of a dumped model."""
        parts = self._bound(value)
        if parts == (RECORDS,) and self._marks.lookups:
            self._touch(key, UseKind.LOOKUP, PythonName(RECORDS, _text(key)))
            if not isinstance(key, ast.Constant):
                self._unresolve(key, RECORDS, "the name of the method is computed")
        elif parts == ("ERRORS",):
            self._touch(key, UseKind.NAME, PythonName(self._marks.old.codes.get(ast.unparse(key), "")))
        elif (dotted(value) in self._dumps or _is_dump(value)) and _text(key) in self._marks.keywords:
            self._unresolve(key, _text(key), "it is a key of a dump")

    def _methods(self, tested: Sequence[ast.AST | None], values: Sequence[ast.AST]) -> None:
        """Read the strings among values if something that is called method is tested for them."""
        found = [node for each in tested if each for node in ast.walk(each)]
        if any("method" in (getattr(node, "id", ""), getattr(node, "attr", ""), _text(node)) for node in found):
            for node in (inner for each in values for inner in ast.walk(each)):
                self._touch(node, UseKind.LOOKUP, PythonName(RECORDS, _text(node) or "-"))

    def _lineage(self, module: Module, bases: Sequence[ast.expr], depth: int = 0) -> Iterator[str]:
        """Iterate over the generated classes that a class inherits."""
        for base in bases if depth < _MAX_BASES else ():
            home, name = self._modules.resolve(module, dotted(base.value if isinstance(base, ast.Subscript) else base))
            if home is None:
                yield "Server" if name.endswith(".App") else name.rpartition(".")[2]
            else:
                yield from self._lineage(home, home.classes.get(name, ()), depth + 1)


def _text(node: ast.AST | None) -> str:
    """Return a string constant, and nothing for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _items(node: ast.expr | None) -> Mapping[str | None, ast.expr]:
    """Return the items of a display."""
    return dict(zip(map(_text, node.keys), node.values, strict=True)) if isinstance(node, ast.Dict) else {}


def _is_dump(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DUMPS

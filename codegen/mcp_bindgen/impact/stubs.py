"""The old bindings as stubs in which everything that the new revision changes is marked as deprecated (PEP 702)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rules.values import UNION_MEMBER_REMOVED
from mcp_bindgen.emit.header import header
from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.expressions import Expression
from mcp_bindgen.emit.python.package import package_pages
from mcp_bindgen.emit.python.render import Page, Templates
from mcp_bindgen.emit.python.spelling import ANY, DICT, NONE, STR, either, generic
from mcp_bindgen.impact.bindings import EXTRA, PythonName, RevisionBindings
from mcp_bindgen.impact.marks import Arguments, Findings, Marks, UseKind, what
from mcp_bindgen.ir.diagnostics import printable
from mcp_bindgen.ir.nodes import ListOf, Literal, MapOf, Ref, TypeRef, Union
from mcp_bindgen.ir.spell import spell

MAX_TOLD = 3
"""How many changes the notice of one mark describes."""
_MARKED = {"client.py": "marked_side.pyi.j2", "server.py": "marked_side.pyi.j2", "errors.py": "marked_errors.pyi.j2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What one mark is about: a kind of use of a name, and the changes that affect it."""

    kind: UseKind
    name: PythonName
    findings: Findings


@dataclass(slots=True)
class Stubs:
    """Makes the stubs of one package; `notes` are the marks in them, by the number at the end of each notice."""

    marks: Marks
    notes: list[Note] = field(default_factory=list[Note])

    def files(self, command: str) -> dict[str, str]:
        """Return the files of the package by path."""
        pages = [replace(page, path=f"{page.path}i", is_formatted=False) for page in self.pages()]
        return Templates().render(pages, (f"revision: {self.marks.old.title}", *header(command)))

    def pages(self) -> Iterator[Page]:
        """Iterate over the pages of the package."""
        assert isinstance(self.marks.old, RevisionBindings)
        modules = {f"{module.name}.py": module for module in self.marks.old.view.modules}
        for page in package_pages(self.marks.old.view):
            context = dict(page.context)
            if page.path in modules:
                context["module"] = self.module(modules[page.path])
                yield replace(page, template="marked_module.pyi.j2", context=context)
                continue
            if page.path in ("client.py", "server.py"):
                context["side"] = self._side(is_client=page.path == "client.py")
            elif page.path == "errors.py":
                context["notices"] = {name: self._named(code) for name, code in self.marks.old.errors.items()}
            yield replace(page, template=_MARKED.get(page.path, page.template), context=context)

    def _named(self, name: str) -> str:
        return self._notice(UseKind.NAME, PythonName(name), self.marks.of(PythonName(name), UseKind.NAME))

    def _notice(self, kind: UseKind, name: PythonName, findings: Sequence[Finding]) -> str:
        """Return the notice of a mark, and remember the mark; empty if nothing changes."""
        if not findings:
            return ""
        told = [f"{f.rule.id}: {what(f)}. {f.rule.purpose} {f.rule.advice}" for f in findings[:MAX_TOLD]]
        more = [f"and {len(findings) - MAX_TOLD} more"] if len(findings) > MAX_TOLD else []
        self.notes.append(Note(kind=kind, name=name, findings=tuple(findings)))
        return printable(f"{' / '.join([*told, *more])} [mcp-bindgen {len(self.notes) - 1}]")

    def module(self, module: views.Module) -> views.MarkedModule:
        """Return a module of models with its marks."""
        definitions = (view if isinstance(view, views.Alias) else self._class(view) for view in module.definitions)
        return views.MarkedModule(name=module.name, definitions=tuple(definitions))

    def _class(self, view: views.Class) -> views.MarkedClass:
        marked = {name.member for name in self.marks.fields if name.owner == view.name}
        shown = marked | {each.name for each in view.fields}
        fields = [self._field(view.name, each.name, each.type, each) for each in view.every_field if each.name in shown]
        if EXTRA in marked:
            fields.append(self._field(view.name, EXTRA, either(generic(DICT, STR, ANY), NONE)))
        parameters = [
            views.Parameter(
                name=each.name, field=each.name, type=each.type, schema_type=each.schema_type, default=each.default
            )
            for each in view.every_field
        ]
        owner = PythonName(view.name)
        return views.MarkedClass(
            name=view.name,
            view=view,
            notice=self._named(view.name),
            fields=tuple(fields),
            constructors=tuple(self._ways(owner, parameters, NONE, self.marks.arguments(owner))),
        )

    def _field(self, owner: str, name: str, type_: Expression, each: views.Field | None = None) -> views.MarkedField:
        attribute = PythonName(owner, name)
        return views.MarkedField(
            name=name,
            type=type_,
            field=each,
            # A property cannot override an attribute: all fields of a name are properties if one is.
            is_property=any(field.member == name for field in self.marks.fields),
            read=self._notice(UseKind.READ, attribute, self.marks.of(attribute, UseKind.READ)),
            write=self._notice(UseKind.PASS, attribute, self.marks.of(attribute, UseKind.PASS, UseKind.VALUE)),
        )

    def _side(self, *, is_client: bool) -> views.MarkedSide:
        caller, handler = ("Client", "ClientHandlers") if is_client else ("ConnectedClient", "Server")
        handlers = self.marks.old.stubs[handler].values()
        return views.MarkedSide(
            is_client=is_client,
            calls=self.calls(caller),
            handlers=tuple(self._handler(PythonName(handler, function.name), function) for function in handlers),
        )

    def calls(self, owner: str) -> tuple[views.MarkedFunction, ...]:
        """Return the methods of a class that call the peer, with their marks."""
        functions = self.marks.old.stubs[owner].values()
        return tuple(self._call(PythonName(owner, function.name), function) for function in functions)

    def _handler(self, name: PythonName, function: views.Function) -> views.MarkedFunction:
        called = self.marks.of(name, UseKind.DELEGATE)
        return views.MarkedFunction(
            name=function.name,
            function=function,
            ways=(),
            notice=self._notice(UseKind.DELEGATE, name, called),
            is_removed=any(finding.is_about_method for finding in called),
        )

    def _call(self, name: PythonName, function: views.Function) -> views.MarkedFunction:
        called, arguments = self.marks.of(name, UseKind.CALL), self.marks.arguments(name)
        gone = [f for f in self.marks.of(name, UseKind.PASS) if f.rule is UNION_MEMBER_REMOVED]
        ways: list[views.Way] = []
        for signature in function.overloads or (function.signature,):
            broken = called or tuple(f for f in gone if f.old in self._forms(function, signature))
            if broken:
                notice = self._notice(UseKind.CALL, name, broken)
                ways.append(views.Way(parameters=signature.parameters, result=signature.result, notice=notice))
            else:
                ways += self._ways(name, signature.parameters, signature.result, arguments)
        return views.MarkedFunction(name=name.member, function=function, ways=tuple(ways), notice="", is_removed=False)

    def _forms(self, function: views.Function, way: views.Signature) -> list[str]:
        """Return the definitions of the forms of the params that one overload sends."""
        fields = {parameter.field for parameter in way.parameters if parameter.field}
        forms = [self.marks.old.classes[cls] for cls in self.marks.old.params(function.method)]
        return [view.definition for view in forms if fields <= {each.name for each in view.every_field}]

    def _ways(
        self, owner: PythonName, parameters: Sequence[views.Parameter], result: Expression, arguments: Arguments
    ) -> Iterator[views.Way]:
        """Iterate over overloads that separate the calls which a change affects from all others.

        The first overload meets every condition: it omits what must not be passed, and passes what must not be omitted.
        Each further one drops a condition, so a call that matches it violates that condition.
        """
        by_name = {parameter.name: parameter for parameter in parameters}
        always: list[Finding] = []
        conditions: list[tuple[UseKind, str, Findings, Expression | None]] = []
        for name, findings in arguments.omitted.items():
            if name in by_name and by_name[name].default is not None:
                conditions.append((UseKind.BUILD, name, findings, None))
            elif name not in by_name:
                always += findings
        for name, findings in arguments.passed.items():
            if name in by_name and by_name[name].default is not None:
                conditions.append((UseKind.PASS, name, findings, None))
            elif name in by_name:
                always += findings
        for name, findings in arguments.narrowed.items():
            rest = self._remaining(by_name[name], findings) if name in by_name else None
            if rest is not None:
                conditions.append((UseKind.VALUE, name, findings, rest))
        for dropped in range(len(conditions) + 1):
            met = {name: (kind, type_) for kind, name, _, type_ in conditions[dropped:]}
            kind, _, findings, _ = conditions[dropped - 1] if dropped else (UseKind.BUILD, "", tuple(always), None)
            yield views.Way(
                parameters=tuple(_conditioned(parameters, met)),
                result=result,
                notice=self._notice(kind, owner, findings),
            )

    def _remaining(self, parameter: views.Parameter, findings: Findings) -> Expression | None:
        """Spell the type of an argument without the forms that were removed; None if no type tells them apart."""
        if parameter.schema_type is None:
            return None
        kept = parameter.schema_type
        for finding in findings:
            kept = self._without(kept, finding.old)
        if kept == parameter.schema_type:
            return None
        spelled = self.marks.old.speller.static(kept)
        return either(spelled, NONE) if parameter.default is not None else spelled

    def _without(self, type_: TypeRef, form: str) -> TypeRef:
        """Return a type without one of its forms, or without one of its values."""
        match type_:
            case Ref(name=name):
                target = self.marks.old.protocol.definitions[name]
                inner = getattr(target, "type", None)
                kept = self._without(inner, form) if inner is not None else inner
                return type_ if kept is None or kept == inner else kept
            case Union(members=members):
                kept_members = tuple(member for member in members if spell(member) != form)
                if len(kept_members) == len(members):
                    kept_members = tuple(self._without(member, form) for member in members)
                return replace(type_, members=kept_members) if kept_members else type_
            case Literal(values=values):
                kept_values = tuple(value for value in values if spell(Literal(values=(value,))) != form)
                return replace(type_, values=kept_values) if kept_values else type_
            case ListOf(item=item):
                return replace(type_, item=self._without(item, form))
            case MapOf(value=value):
                return replace(type_, value=self._without(value, form))
            case _:
                return type_


def _conditioned(
    parameters: Sequence[views.Parameter], met: Mapping[str, tuple[UseKind, Expression | None]]
) -> Iterator[views.Parameter]:
    """Iterate over the parameters of an overload that meets some conditions."""
    for parameter in parameters:
        kind, type_ = met.get(parameter.name, (None, None))
        if kind is UseKind.BUILD:
            yield replace(parameter, default=None)
        elif kind is UseKind.VALUE and type_ is not None:
            yield replace(parameter, type=type_)
        elif kind is not UseKind.PASS:
            yield parameter

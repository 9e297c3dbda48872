"""Views of client.py and server.py: how each side calls the other, and what each side handles."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.expressions import Symbol, expression
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.emit.python.spelling import ABSENT, ABSENT_TYPE, ANY, NONE, STR, Speller, either, generic, type_of
from mcp_bindgen.ingest.sources import SourceKind
from mcp_bindgen.ir.facts import admits_null, by_position, page_items, params_structs, result_struct
from mcp_bindgen.ir.history import NO_HISTORY, History
from mcp_bindgen.ir.methods import RUNTIME_REQUESTS
from mcp_bindgen.ir.nodes import ANY as ANYTHING
from mcp_bindgen.ir.nodes import Direction, Field, MapOf, Method, Protocol, Ref, Struct, TypeRef, Union

CLIENT_SENDS = (Direction.CLIENT_TO_SERVER, Direction.BOTH)
SERVER_SENDS = (Direction.SERVER_TO_CLIENT, Direction.BOTH, Direction.EMBEDDED)

_META = "_meta"
_OWN = frozenset(("self", "meta", "options", "result_type"))
"""Parameters that stubs add; a field of the same name gets an underscore."""
_STUB = Symbol("mcp_runtime.core.stub")
_RESULT = expression(_STUB, ".T")
OPTIONS = views.Parameter(
    doc="Timeouts and a progress callback for this call.",
    name="options",
    type=either(expression(_STUB, ".CallOptions"), NONE),
    default=NONE,
)
_PARTIAL = generic(Symbol("collections.abc.Mapping"), STR, ANY)
"""Metadata, without the properties that the connection fills in."""
_RESULT_TYPE = views.Parameter(name="result_type", type=type_of(_RESULT), doc="The class of the result.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """One form of the params of a method: its parameters, and how the object is constructed from them."""

    struct: Struct
    parameters: tuple[views.Parameter, ...]
    meta: tuple[views.Parameter, ...]
    task: views.Parameter | None
    params: views.Params


class StubViews:
    """Makes the views of the stubs of one protocol."""

    def __init__(self, protocol: Protocol, names: Names, speller: Speller, history: History = NO_HISTORY) -> None:
        self._protocol = protocol
        self._names = names
        self._speller = speller
        self._history = history
        self._iterators = self._name_iterators()
        # Only schema.ts has properties in an order that means something.
        self._is_ordered = any(source.kind == SourceKind.TYPESCRIPT.value for source in protocol.sources)

    def client(self) -> views.Side:
        """Return what a client sends and handles."""
        return self._side(CLIENT_SENDS, SERVER_SENDS)

    def server(self) -> views.Side:
        """Return what a server sends and handles."""
        return self._side(SERVER_SENDS, CLIENT_SENDS)

    def _side(self, sends: Sequence[Direction], answers: Sequence[Direction]) -> views.Side:
        methods = [method for method in self._protocol.methods if method.name not in RUNTIME_REQUESTS]
        return views.Side(
            calls=tuple(call for method in methods if method.direction in sends for call in self._calls(method)),
            handlers=tuple(self._handler(method) for method in methods if method.direction in answers),
        )

    def _calls(self, method: Method) -> Iterator[views.Function]:
        forms = [self._form(method, struct) for struct in params_structs(self._protocol, method)]
        if not method.is_request:
            yield self._notification(method, forms)
        elif len(forms) > 1:
            yield self._union_request(method, forms)
        else:
            form = forms[0] if forms else None
            request = self._request(method, form)
            yield request
            yield from self._pages(method, request, form)

    def _function(self, method: Method, kind: str, name: str, signature: views.Signature) -> views.Function:
        return views.Function(
            kind=kind,
            name=name,
            method=method.name,
            record=self._names.records[method.name],
            signature=signature,
            is_request=method.is_request,
            doc=self._protocol.definitions[method.message].doc,
            is_deprecated=method.deprecated,
            history=self._history.noted(method.name),
        )

    def _handler(self, method: Method) -> views.Function:
        stub = self._names.stubs[method.name]
        signature = self._signature((self._params(method),), method.result, *method.alternatives)
        return self._function(method, "handler", stub if method.is_request else f"on_{stub}", signature)

    def _signature(self, parameters: Sequence[views.Parameter], *results: str | None) -> views.Signature:
        """Return the signature of a function with one of several result types, or without a result."""
        named = [name for name in results if name]
        types = [Ref(name=name) for name in named]
        return views.Signature(
            parameters=tuple(parameters),
            result=either(*map(self._speller.reference, named)) if named else NONE,
            schema_result=None if not types else types[0] if len(types) == 1 else Union(members=tuple(types)),
        )

    def _params(self, method: Method) -> views.Parameter:
        """Return the parameter for the params of a message as a whole."""
        type_: TypeRef = Ref(name=method.params) if method.params else MapOf(value=ANYTHING)
        spelled = self._speller.static(type_)
        return views.Parameter(
            name="params", type=spelled if method.params_required else either(spelled, NONE), schema_type=type_
        )

    def _notification(self, method: Method, forms: Sequence[_Form]) -> views.Function:
        name = f"notify_{self._names.stubs[method.name]}"
        if len(forms) > 1:
            signature = self._signature((self._params(method),))
            return replace(self._function(method, "notification", name, signature), is_union=True)
        form = forms[0] if forms else None
        signature = self._signature((*form.parameters, *form.meta) if form else ())
        return replace(self._function(method, "notification", name, signature), params=form.params if form else None)

    def _request(self, method: Method, form: _Form | None) -> views.Function:
        plain = form.parameters if form else ()
        tail = (*(form.meta if form else ()), OPTIONS)
        if method.payload:
            parameters = (*plain, _RESULT_TYPE, *tail)
            signature = views.Signature(parameters=parameters, result=_RESULT)
        else:
            signature = self._signature((*plain, *tail), method.result)
        function = replace(
            self._function(method, "request", self._names.stubs[method.name], signature),
            params=form.params if form else None,
            is_payload=method.payload,
        )
        if form is None or form.task is None or method.payload:
            return function
        created = method.alternatives[0]
        return replace(
            function,
            signature=self._signature((*_without(plain, form.task), form.task, *tail), method.result, created),
            overloads=tuple(self._task_overloads(method, form, tail)),
            created=self._names.classes[created],
            task=form.task.name,
        )

    def _task_overloads(
        self, method: Method, form: _Form, tail: Sequence[views.Parameter]
    ) -> Iterator[views.Signature]:
        """Iterate over the overloads of a request: the usual one; if it may become a task, without and with one."""
        if form.task is None:
            yield self._signature((*form.parameters, *tail), method.result)
            return
        others = _without(form.parameters, form.task)
        left_out = replace(form.task, type=NONE, schema_type=None)
        yield self._signature((*others, left_out, *tail), method.result)
        yield self._signature((*others, self._required(form.task), *tail), method.alternatives[0])

    def _required(self, parameter: views.Parameter) -> views.Parameter:
        """Return an optional parameter as a required one."""
        type_ = parameter.type if parameter.schema_type is None else self._speller.static(parameter.schema_type)
        return replace(parameter, type=type_, default=None)

    def _union_request(self, method: Method, forms: Sequence[_Form]) -> views.Function:
        """Return a request whose params are a union: one overload per member, and another one with a task."""
        overloads = [way for form in forms for way in self._task_overloads(method, form, (*form.meta, OPTIONS))]
        created = method.alternatives[0] if any(form.task for form in forms) else None
        required = sorted({form.params.required_meta for form in forms if form.params.required_meta})
        takes_wire_name = not required and any(form.params.meta_field not in ("", "meta") for form in forms)
        renamed = [views.Argument(name="meta", value=_META)] if takes_wire_name else []
        fields = {p.name: p.field for form in forms for p in form.parameters if p.name != p.field}
        renamed += [views.Argument(name=name, value=field) for name, field in fields.items()]
        signature = replace(self._signature((OPTIONS,), method.result, created), takes_any=True)
        return replace(
            self._function(method, "request", self._names.stubs[method.name], signature),
            overloads=tuple(overloads),
            is_union=True,
            renamed=tuple(renamed),
            params=views.Params(name="", arguments=(), meta_field=_META, required_meta=required[0] if required else ""),
            created=self._names.classes[created] if created else "",
            task="task" if created else "",
        )

    def _pages(self, method: Method, request: views.Function, form: _Form | None) -> Iterator[views.Function]:
        """Yield the iterator of a paginated method, if its result has exactly one list."""
        paged = page_items(self._protocol, method)
        result = result_struct(self._protocol, method)
        if paged is None or form is None or result is None:
            return
        field, items = paged
        # A task would be answered immediately, not with a page.
        parameters = tuple(p for p in request.signature.parameters if p.field != "cursor" and p != form.task)
        signature = views.Signature(
            parameters=parameters,
            result=generic(Symbol("collections.abc.AsyncIterator"), self._speller.static(items.item)),
            schema_result=items.item,
        )
        passed = [p.name for p in parameters if p not in (*form.meta, OPTIONS)]
        passed += ["cursor", *(p.name for p in (*form.meta, OPTIONS))]
        yield replace(
            self._function(method, "pages", self._iterators[method.name], signature),
            items=self._names.attribute(result, field.wire_name),
            page=self._speller.reference(method.result or ""),
            request=request.name,
            params=request.params,
            forwarded=tuple(views.Argument(name=name, value=name) for name in passed),
        )

    def _name_iterators(self) -> dict[str, str]:
        """Name the iterators after their items, or after their methods if names would collide."""
        wanted: dict[str, str] = {}
        for method in self._protocol.methods:
            paged, result = page_items(self._protocol, method), result_struct(self._protocol, method)
            if paged is not None and result is not None:
                wanted[method.name] = f"iter_{self._names.attribute(result, paged[0].wire_name)}"
        taken = [*wanted.values(), *self._names.stubs.values()]
        return {
            method: name if taken.count(name) == 1 else f"iter_{self._names.stubs[method]}_pages"
            for method, name in wanted.items()
        }

    def _form(self, method: Method, struct: Struct) -> _Form:
        # A constant may discriminate the members of a union; otherwise the constructor fills it in.
        is_member = method.is_request and len(params_structs(self._protocol, method)) > 1
        parameters = self._parameters(struct, keep_constants=is_member)
        field = struct.field(_META)
        required = field.type.name if field and field.required and isinstance(field.type, Ref) else ""
        return _Form(
            struct=struct,
            parameters=parameters,
            meta=(self._meta(struct, field),) if field else (),
            task=next((p for p in parameters if method.task_augmentable and p.field == "task"), None),
            params=views.Params(
                name=self._names.classes[struct.name],
                arguments=tuple(views.Argument(name=p.field, value=p.name) for p in parameters),
                meta_field=self._names.attribute(struct, _META) if field else "",
                required_meta=self._names.classes[required] if required else "",
            ),
        )

    def _meta(self, struct: Struct, field: Field) -> views.Parameter:
        """Return the parameter for the metadata: never required, since the connection fills in required properties."""
        type_ = self._speller.static(field.type)
        return views.Parameter(
            name="meta",
            field=self._names.attribute(struct, _META),
            type=either(type_, _PARTIAL, NONE) if field.required else either(type_, NONE),
            schema_type=field.type,
            default=NONE,
            doc=field.doc,
        )

    def described(self, struct: Struct, left_out: Collection[str]) -> tuple[views.Parameter, ...]:
        """Return the properties of a listed item as parameters, except some of them."""
        chosen = tuple(field for field in struct.fields if field.wire_name not in left_out)
        meta = struct.field(_META)
        plain = self._parameters(replace(struct, fields=chosen), keep_constants=False)
        return (*plain, self._meta(struct, meta)) if meta else plain

    def _parameters(self, struct: Struct, *, keep_constants: bool) -> tuple[views.Parameter, ...]:
        """Return the properties of params as parameters: the required ones, then its own optional ones, then others.

        The first two kinds may be passed by position. Params that are a union have overloads, whose order differs.
        """
        found: list[views.Parameter] = []
        ordered = by_position(struct) if self._is_ordered and not keep_constants else ()
        for field in struct.fields:
            if field.wire_name == _META or (field.is_constant and not keep_constants):
                continue
            attribute = self._names.attribute(struct, field.wire_name)
            type_, default = self._speller.static(field.type), None
            if not field.required:
                nullable = admits_null(self._protocol, field.type)
                default = ABSENT if nullable else NONE
                type_ = either(type_, ABSENT_TYPE if nullable else NONE)
            found.append(
                views.Parameter(
                    name=f"{attribute}_" if attribute in _OWN else attribute,
                    field=attribute,
                    type=type_,
                    schema_type=field.type,
                    default=default,
                    doc=field.doc,
                    is_positional=field.wire_name in ordered,
                )
            )
        return tuple(sorted(found, key=lambda each: (not each.is_positional, each.default is not None)))


def _without(parameters: Sequence[views.Parameter], left_out: views.Parameter) -> tuple[views.Parameter, ...]:
    return tuple(parameter for parameter in parameters if parameter is not left_out)

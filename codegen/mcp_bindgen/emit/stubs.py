"""Views of client.py and server.py: how each side calls the other, and what each side answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_bindgen.emit.names import Names
from mcp_bindgen.emit.text import docstring
from mcp_bindgen.emit.types import Speller
from mcp_bindgen.emit.view import Item
from mcp_bindgen.ir.nodes import Direction, Field, ListOf, Literal, Method, Protocol, Ref, Struct, Union

CLIENT_SENDS = (Direction.CLIENT_TO_SERVER, Direction.BOTH)
SERVER_SENDS = (Direction.SERVER_TO_CLIENT, Direction.BOTH)
_ANSWERS = {
    "_stub.ServerHandlers": CLIENT_SENDS,
    "_stub.Handlers": (Direction.SERVER_TO_CLIENT, Direction.BOTH, Direction.EMBEDDED),
}

_META = "_meta"
_OWN = frozenset(("self", "meta", "options", "result_type"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    """One keyword argument of a stub; `default` is empty if it must be passed."""

    name: str
    attribute: str
    type: str
    default: str

    def __str__(self) -> str:
        return f"{self.name}: {self.type}{f' = {self.default}' if self.default else ''}"


class StubViews:
    """Makes the views of the stubs of one protocol."""

    def __init__(self, protocol: Protocol, names: Names, speller: Speller) -> None:
        self._protocol = protocol
        self._names = names
        self._speller = speller
        self._iterators = self._name_iterators()

    def caller(self, name: str, base: str, doc: str, sends: Sequence[Direction]) -> Item:
        """Make the class whose methods call the peer; `base` is the class of the runtime that it extends."""
        lines = ["    __binding__: _ClassVar[_stub.Binding] = _BINDING", ""]
        for method in self._protocol.methods:
            if method.direction in sends:
                lines += self._request(method) if method.is_request else self._notify(method)
        return Item(name=name, head=f"class {name}({base}):", doc="\n".join(docstring(doc, 4)), lines=tuple(lines))

    def handlers(self, name: str, base: str, context: str, peer: str, doc: str) -> Item:
        """Make the class whose methods answer the peer; `base` is the class of the runtime that it extends."""
        answers = _ANSWERS[base]
        table: list[str] = []
        lines: list[str] = []
        for method in self._protocol.methods:
            if method.direction in answers:
                handler = self._names.stubs[method.name]
                handler = handler if method.is_request else f"on_{handler}"
                table.append(f"            {method.name!r}: {handler!r},")
                lines += self._handler(method, handler, context)
        head = [
            "    __binding__: _ClassVar[_stub.Binding] = _BINDING",
            f"    __context__: _ClassVar[_type[_stub.Context[_Any]]] = {context}",
            f"    __peer__: _ClassVar[_type[_stub.Stub]] = {peer}",
            "    __handlers__: _ClassVar[_Mapping[_str, _str]] = _MappingProxyType(",
            "        {",
            *table,
            "        }",
            "    )",
            "",
        ]
        return Item(
            name=name,
            head=f"class {name}({base}):",
            doc="\n".join(docstring(doc, 4)),
            lines=(*head, *lines),
        )

    def context(self, name: str, peer: str, role: str, doc: str) -> Item:
        """Make the class of the context that handlers get; `role` names the peer in it."""
        lines = (
            "    @property",
            f"    def {role}(self) -> {peer}:",
            *docstring(f"The {role} that sent the message.", 8),
            "        return self.peer",
        )
        doc = "\n".join(docstring(doc, 4))
        return Item(name=name, head=f"class {name}(_stub.Context[{peer}]):", doc=doc, lines=lines)

    def _handler(self, method: Method, name: str, context: str) -> list[str]:
        params = self._params_type(method)
        if method.result is None:
            signature = f"    async def {name}(self, params: {params}, ctx: {context}) -> None:"
            return [signature, *self._doc(method), ""]
        results = " | ".join(self._names.classes[result] for result in (method.result, *method.alternatives))
        signature = f"    async def {name}(self, params: {params}, ctx: {context}) -> {results}:"
        return [signature, *self._doc(method), f"        raise _errors.MethodNotImplemented({method.name!r})", ""]

    def _params_type(self, method: Method) -> str:
        spelled = self._names.classes[method.params] if method.params else "_dict[_str, _Any]"
        return spelled if method.params_required else f"{spelled} | None"

    def _doc(self, method: Method) -> list[str]:
        message = self._protocol.definitions[method.message]
        doc = f"{message.doc}\n\nMethod ``{method.name}``."
        if method.deprecated:
            doc += f" Deprecated in revision {self._protocol.revision}."
        return docstring(doc, 8)

    def _notify(self, method: Method) -> list[str]:
        name = f"notify_{self._names.stubs[method.name]}"
        record = f"_methods.{self._names.records[method.name]}"
        structs = self._params_structs(method)
        if len(structs) > 1:
            return self._union_notify(method, name, record)
        struct = structs[0] if structs else None
        arguments = self._arguments(struct, keep_constants=False) if struct else ()
        head = self._signature(name, [*map(str, arguments), *self._meta_argument(struct)], "None")
        return [
            *head,
            *self._doc(method),
            *self._build(method, struct, arguments),
            f"        await self._caller.notify({record}, params)",
            "",
        ]

    def _union_notify(self, method: Method, name: str, record: str) -> list[str]:
        head = self._signature(name, [f"params: {self._params_type(method)}"], "None")
        return [*head, *self._doc(method), f"        await self._caller.notify({record}, params)", ""]

    def _request(self, method: Method) -> list[str]:
        name = self._names.stubs[method.name]
        structs = self._params_structs(method)
        if len(structs) > 1:
            return self._union_request(method, name, structs)
        struct = structs[0] if structs else None
        arguments = self._arguments(struct, keep_constants=False) if struct else ()
        lines = self._single_request(method, name, struct, arguments)
        return [*lines, *self._pages(method, name, struct, arguments)]

    def _single_request(
        self, method: Method, name: str, struct: Struct | None, arguments: Sequence[_Argument]
    ) -> list[str]:
        record = f"_methods.{self._names.records[method.name]}"
        result = self._names.classes[method.result or ""]
        tail = [*self._meta_argument(struct), "options: _stub.CallOptions | None = None"]
        build = self._build(method, struct, arguments)
        plain = [str(a) for a in arguments]
        if method.payload:
            head = self._signature(name, [*plain, "result_type: _type[_stub.T]", *tail], "_stub.T")
            call = f"        return await self._caller.request_as({record}, params, result_type, options)"
            return [*head, *self._doc(method), *build, call, ""]
        call = f"        return await self._caller.request({record}, params, options)"
        task = next((a for a in arguments if method.task_augmentable and a.attribute == "task"), None)
        if task is None:
            return [*self._signature(name, [*plain, *tail], result), *self._doc(method), *build, call, ""]
        created = self._names.classes[method.alternatives[0]]
        required = task.type.removesuffix(" | None")
        others = [str(a) for a in arguments if a is not task]
        return [
            "    @_overload",
            *self._signature(name, [*others, f"{task.name}: None = None", *tail], result, "..."),
            "    @_overload",
            *self._signature(name, [*others, f"{task.name}: {required}", *tail], created, "..."),
            *self._signature(name, [*others, str(task), *tail], f"{result} | {created}"),
            *self._doc(method),
            *build,
            f"        if {task.name} is not None:",
            *self._import(created, 12),
            f"            return await self._caller.request_as({record}, params, {created}, options)",
            call,
            "",
        ]

    def _union_request(self, method: Method, name: str, structs: Sequence[Struct]) -> list[str]:
        """One overload per member of the params; with a task in them, one more of each."""
        record = f"_methods.{self._names.records[method.name]}"
        result = self._names.classes[method.result or ""]
        tail = ["options: _stub.CallOptions | None = None"]
        lines: list[str] = []
        results = [result]
        for struct in structs:
            arguments = self._arguments(struct, keep_constants=True)
            meta = self._meta_argument(struct)
            task = next((a for a in arguments if method.task_augmentable and a.attribute == "task"), None)
            others = [str(a) for a in arguments if a is not task]
            if task is None:
                lines += ["    @_overload", *self._signature(name, [*others, *meta, *tail], result, "...")]
                continue
            created = self._names.classes[method.alternatives[0]]
            results = [result, created]
            required = f"{task.name}: {task.type.removesuffix(' | None')}"
            for kind, answer in ((f"{task.name}: None = None", result), (required, created)):
                lines += ["    @_overload", *self._signature(name, [*others, kind, *meta, *tail], answer, "...")]
        body = [*self._spelled(structs), f"        params = self._given({record}, arguments)"]
        if len(results) > 1:
            body += [
                "        if arguments.get('task') is not None:",
                *self._import(results[1], 12),
                f"            return await self._caller.request_as({record}, params, {results[1]}, options)",
            ]
        body.append(f"        return await self._caller.request({record}, params, options)")
        head = f"    async def {name}(self, *, {tail[0]}, **arguments: _Any) -> {' | '.join(results)}:"
        return [*lines, head, *self._doc(method), *body, ""]

    def _spelled(self, structs: Sequence[Struct]) -> Iterator[str]:
        """The lines that bring the arguments of a union of params to the names that all its members understand."""
        required = sorted({name for struct in structs if (name := self._required_meta(struct))})
        if required:
            yield from self._import(required[0], 8)
            yield f"        arguments[{_META!r}] = self._meta({required[0]}, arguments.pop('meta', None))"
        every = [a for struct in structs for a in self._arguments(struct, keep_constants=True)]
        renamed = {"meta": _META} if any(self._meta_attribute(s) != "meta" for s in structs) and not required else {}
        renamed |= {a.name: a.attribute for a in every if a.name != a.attribute}
        for name, spelled in renamed.items():
            yield f"        if {name!r} in arguments:"
            yield f"            arguments[{spelled!r}] = arguments.pop({name!r})"

    def _required_meta(self, struct: Struct) -> str | None:
        """Name the class of the metadata that params must have, if they must."""
        field = struct.field(_META)
        if field is None or not field.required or not isinstance(field.type, Ref):
            return None
        return self._names.classes[field.type.name]

    def _meta_attribute(self, struct: Struct) -> str:
        """The attribute that holds the metadata; a member called `meta` may have taken the name."""
        return self._names.attribute(struct, _META) if struct.field(_META) else "meta"

    def _pages(self, method: Method, name: str, struct: Struct | None, arguments: Sequence[_Argument]) -> list[str]:
        """The iterator over all items of a paginated method, if its result has one list to page through."""
        items = self._paged_field(method)
        if items is None or struct is None or not isinstance(items.type, ListOf):
            return []
        others = [a for a in arguments if a.attribute != "cursor"]
        result = self._result_struct(method)
        attribute = self._names.attribute(result, items.wire_name) if result else items.wire_name
        passed = ", ".join(
            [
                *(f"{a.name}={a.name}" for a in others),
                "cursor=cursor",
                *(["meta=meta"] if self._meta_argument(struct) else []),
                "options=options",
            ]
        )
        tail = [*map(str, others), *self._meta_argument(struct), "options: _stub.CallOptions | None = None"]
        item = self._speller.static(items.type.item)
        head = self._signature(self._iterators[method.name], tail, f"_AsyncIterator[{item}]", is_async=False)
        doc = docstring(f"Iterate over the items of all pages of ``{method.name}``.", 8)
        result_name = self._names.classes[method.result or ""]
        return [
            *head,
            *doc,
            "",
            f"        async def _page(cursor: _str | None) -> {result_name}:",
            f"            return await self.{name}({passed})",
            "",
            f"        return _stub.iterate(_page, lambda result: (result.{attribute}, result.next_cursor))",
            "",
        ]

    def _name_iterators(self) -> dict[str, str]:
        """Name the iterators by what they iterate over, those that would be called the same by their methods."""
        wanted: dict[str, str] = {}
        for method in self._protocol.methods:
            items, result = self._paged_field(method), self._result_struct(method)
            if items is not None and result is not None:
                wanted[method.name] = f"iter_{self._names.attribute(result, items.wire_name)}"
        taken = [*wanted.values(), *self._names.stubs.values()]
        return {
            method: name if taken.count(name) == 1 else f"iter_{self._names.stubs[method]}_pages"
            for method, name in wanted.items()
        }

    def _paged_field(self, method: Method) -> Field | None:
        result = self._result_struct(method)
        if not method.paginated or result is None:
            return None
        lists = [f for f in result.fields if f.required and isinstance(f.type, ListOf)]
        return lists[0] if len(lists) == 1 else None

    def _result_struct(self, method: Method) -> Struct | None:
        target = self._protocol.resolve(Ref(name=method.result)) if method.result else None
        return target if isinstance(target, Struct) else None

    def _params_structs(self, method: Method) -> list[Struct]:
        if method.params is None:
            return []
        target = self._protocol.resolve(Ref(name=method.params))
        if isinstance(target, Struct):
            return [target]
        members = target.members if isinstance(target, Union) else ()
        found = [resolved for m in members if isinstance(resolved := self._protocol.resolve(m), Struct)]
        return found

    def _arguments(self, struct: Struct, *, keep_constants: bool) -> tuple[_Argument, ...]:
        """The members of params as arguments, the required ones first; constants fill themselves in."""
        found: list[_Argument] = []
        for field in struct.fields:
            constant = field.required and isinstance(field.type, Literal) and len(field.type.values) == 1
            if field.wire_name == _META or (constant and not keep_constants):
                continue
            attribute = self._names.attribute(struct, field.wire_name)
            name = f"{attribute}_" if attribute in _OWN else attribute
            spelled = self._speller.static(field.type)
            default = ""
            if not field.required:
                nullable = self._speller.admits_null(field.type)
                default = "_m.ABSENT" if nullable else "None"
                spelled = f"{spelled} | {'_m.Absent' if nullable else 'None'}" if spelled != "_Any" else spelled
            found.append(_Argument(name=name, attribute=attribute, type=spelled, default=default))
        return tuple(sorted(found, key=lambda argument: bool(argument.default)))

    def _meta_argument(self, struct: Struct | None) -> list[str]:
        field = struct.field(_META) if struct else None
        return [f"meta: {self._speller.static(field.type)} | None = None"] if field else []

    def _build(self, method: Method, struct: Struct | None, arguments: Sequence[_Argument]) -> list[str]:
        """The lines that make the params of a call from its arguments."""
        if struct is None:
            return ["        params = None"]
        name = self._names.classes[struct.name]
        field = struct.field(_META)
        passed = [f"{a.attribute}={a.name}" for a in arguments]
        lines = list(self._import(name, 8))
        meta = self._required_meta(struct)
        if meta is not None:
            lines += self._import(meta, 8)
            passed.append(f"{self._meta_attribute(struct)}=self._meta({meta}, meta)")
        elif field is not None:
            passed.append(f"{self._meta_attribute(struct)}=meta")
        return [*lines, f"        params = {name}({', '.join(passed)})"]

    def _import(self, name: str, indent: int) -> Iterator[str]:
        yield f"{' ' * indent}from . import {name}"

    def _signature(
        self, name: str, arguments: Sequence[str], result: str, body: str = "", *, is_async: bool = True
    ) -> list[str]:
        star = f", *, {', '.join(arguments)}" if arguments else ""
        line = f"    {'async ' if is_async else ''}def {name}(self{star}) -> {result}:"
        return [f"{line} {body}".rstrip()]

"""Derive the table of methods from the definitions that carry a method constant.

The unions of the schema (ClientRequest, ServerNotification, ...) say who sends a message, but not every message is in
one: an embedded request travels inside a result, and some schema files forget a member (see `Senders`). Nothing is
named here but those unions and the patterns by which MCP names its messages.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.leaves import structs
from mcp_bindgen.ir.names import closure, contained, field_of, lineage, methods_of, pascal, reference, references
from mcp_bindgen.ir.nodes import (
    Alias,
    Definition,
    Direction,
    Field,
    MapOf,
    Method,
    Ref,
    Struct,
    TypeRef,
    Union,
    protocol_of,
)

UNIONS: Mapping[str, Direction] = {
    "ClientRequest": Direction.CLIENT_TO_SERVER,
    "ClientNotification": Direction.CLIENT_TO_SERVER,
    "ServerRequest": Direction.SERVER_TO_CLIENT,
    "ServerNotification": Direction.SERVER_TO_CLIENT,
}
_ROOTS = (*UNIONS, "ClientResult", "ServerResult")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """A result that the schema states only in prose; `reason` says where."""

    result: str
    if_params_have: str
    reason: str


PAIRINGS = (
    Pairing(
        result="CreateTaskResult",
        if_params_have="task",
        reason="2025-11-25 basic/utilities/tasks: a request with `task` is answered by the task that was created;"
        " no union and no reference says so",
    ),
)
"""Rows that no rule can derive. One that applies to no released revision fails a test."""

RUNTIME_REQUESTS: Mapping[str, str] = {
    "initialize": "begins a conversation of the legacy era, before there is a stub or a handler (basic/lifecycle)",
    "server/discover": "is answered from what a server implements and declares (2026-07-28 server/discover)",
    "subscriptions/listen": "opens a stream that the runtime fills and ends (2026-07-28 basic/patterns/subscriptions)",
}
"""The requests that the runtime sends and answers by itself, and why users get neither a stub nor a handler for them.

One that no released revision has fails a test.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    """The senders of the messages that no root union names.

    `rows` are those of schema/directions.toml; `elsewhere` returns the direction that a method has in another revision,
    or None.
    """

    rows: Mapping[str, Direction]
    elsewhere: Callable[[str], Direction | None]


def derive_methods(
    definitions: Mapping[str, Definition], source: str, senders: Senders, diagnostics: Diagnostics
) -> tuple[Method, ...]:
    """Derive one record per method, requests first, each kind sorted by name."""
    derivation = _Derivation(definitions, source, senders, diagnostics)
    found = [derivation.method(name, struct) for name, struct in derivation.messages.items()]
    methods = [method for method in found if method is not None]
    return tuple(sorted(methods, key=lambda method: (not method.is_request, method.name)))


class _Derivation:
    def __init__(
        self, definitions: Mapping[str, Definition], source: str, senders: Senders, diagnostics: Diagnostics
    ) -> None:
        self._definitions = definitions
        self._diagnostics = diagnostics
        self._source = source
        self._rows = senders
        self._senders = {root: set(self._members(root)) for root in UNIONS}
        found = self._candidates()
        self.messages = {method: self._message(method, structs) for method, structs in found.items()}

    def _where(self, name: str) -> Location:
        return Location(source=self._source, pointer=f"/{name}")

    def _candidates(self) -> dict[str, list[Struct]]:
        """Find the messages of every method; a root union of one member may stand as a copy of it and is none.

        An inline object is a message only as a member of a root union.
        """
        found: dict[str, list[Struct]] = {}
        listed = set[str]().union(*self._senders.values())
        for name, definition in self._definitions.items():
            methods = methods_of(definition)
            if name in _ROOTS or not isinstance(definition, Struct) or not methods:
                continue
            if (definition.holder and name not in listed) or not self._kind(definition):
                self._diagnostics.loose(
                    self._where(name),
                    f"{name} has the method {methods[0]!r}, but neither its name nor its bases say whether it is a"
                    " request or a notification; it is not one of the messages",
                )
                continue
            for method in methods:
                found.setdefault(method, []).append(definition)
        return found

    def _kind(self, struct: Struct) -> str:
        """Return ``Request`` or ``Notification``: by the root unions, or its id, or the names of it and its bases."""
        for root, names in self._senders.items():
            if struct.name in names:
                return "Request" if root.endswith("Request") else "Notification"
        if struct.field("id") is not None:
            return "Request"
        for name in (struct.name, *lineage(struct.name, self._definitions)):
            for kind in ("Request", "Notification"):
                if name.endswith(kind):
                    return kind
        return ""

    def _message(self, method: str, structs: list[Struct]) -> Struct:
        """Choose the message of a method: one in a root union, else one with a result, else the most derived one."""

        def rank(struct: Struct) -> tuple[bool, bool, int]:
            in_union = any(struct.name in names for names in self._senders.values())
            has_result = struct.name.removesuffix("Request") + "Result" in self._definitions
            return not in_union, not has_result, -len(lineage(struct.name, self._definitions))

        chosen, *others = sorted(structs, key=rank)
        for other in others:
            self._diagnostics.note(
                self._where(other.name), f"{method} is also the method of {chosen.name}, which is used"
            )
        return chosen

    def _members(self, root: str) -> Iterator[str]:
        """Iterate over the messages that a root union admits, through the unions in it."""

        def inside(name: str) -> Iterable[str]:
            definition = self._definitions.get(name)
            return references(definition.type) if isinstance(definition, Alias) else ()

        names = closure([root], inside)
        if copied := methods_of(self._definitions.get(root)):  # It stands as a copy of its one member.
            names = {n for n, d in self._definitions.items() if n not in _ROOTS and methods_of(d) == copied}
        return (name for name in names - {root} if isinstance(self._definitions.get(name), Struct))

    def method(self, name: str, message: Struct) -> Method | None:
        """Derive the record of a method; None if it has no possible result."""
        is_request = self._kind(message) == "Request"
        params = message.field("params")
        params_name = self._params(message, params)
        fields = self._fields(params.type) if params else {}
        result = self._result(message, name) if is_request else None
        if is_request and result is None:
            return None
        result_fields = self._fields(Ref(name=result)) if result else {}
        alternatives = self._alternatives(message, result, fields) if result else ()
        stated = self._stated_direction(name, message, is_request)
        return Method(
            name=name,
            message=message.name,
            direction=stated or self._inferred_direction(name, message),
            is_directed=stated is not None,
            params=params_name,
            params_required=params is not None and params.required and self._is_object(params.type),
            result=result,
            alternatives=alternatives,
            paginated="cursor" in fields and "nextCursor" in result_fields,
            cacheable={"ttlMs", "cacheScope"} <= result_fields.keys(),
            task_augmentable="task" in fields,
            multi_round_trip=any("inputRequests" in self._fields(Ref(name=a)) for a in alternatives),
            payload=result is not None and self._is_payload(result),
            deprecated=message.deprecated,
        )

    def _stated_direction(self, method: str, message: Struct, is_request: bool) -> Direction | None:
        senders = {UNIONS[root] for root, names in self._senders.items() if message.name in names}
        if senders:
            return senders.pop() if len(senders) == 1 else Direction.BOTH
        if method in self._rows.rows:
            return self._rows.rows[method]
        return Direction.EMBEDDED if is_request and self._is_embedded(message.name) else None

    def _inferred_direction(self, method: str, message: Struct) -> Direction:
        where, unions = self._where(message.name), ", ".join(UNIONS)
        known = self._rows.elsewhere(method)
        if known is not None:
            self._diagnostics.note(
                where, f"{message.name} is in none of {unions}; {method} is {known.value} as in another revision"
            )
            return known
        self._diagnostics.loose(
            where, f"{message.name} is in none of {unions}, so the sender of {method} is unknown: both may send it"
        )
        return Direction.BOTH

    def _is_embedded(self, message: str) -> bool:
        """Whether a result carries the message, through unions and maps."""
        results = [name for name in self._definitions if name.endswith("Result") and name not in _ROOTS]
        return message in closure(results, lambda name: contained(self._definitions[name]))

    def _params(self, message: Struct, params: Field | None) -> str | None:
        if params is None:
            return None
        name = reference(params.type)
        if not self._is_object(params.type):
            self._diagnostics.loose(
                self._where(message.name), "its params are not a named object or union of objects; they are not typed"
            )
            return None
        return name

    def _is_object(self, type_: TypeRef) -> bool:
        match type_:
            case Ref(name=name):
                definition = self._definitions.get(name)
                return isinstance(definition, Struct) or (definition is not None and self._is_object(definition.type))
            case Union(members=members):
                return all(self._is_object(member) for member in members)
            case _:
                return isinstance(type_, MapOf)

    def _result(self, message: Struct, method: str) -> str | None:
        """Return the name of the result of a request: its own, else the empty one, else that of all; objects first."""
        # An inline message has no name of its own: that of tools/list would be ListToolsRequest.
        name = pascal(" ".join(reversed(method.split("/")))) if message.holder else message.name.removesuffix("Request")
        own = f"{name}Result"
        stated = self._stated_results(message)
        names = (own, "EmptyResult", "Result") if own in stated or not stated else stated
        for name in names:
            if name in self._definitions and self._is_object(Ref(name=name)):
                return name
            if name in self._definitions:
                self._diagnostics.loose(self._where(message.name), f"a result is an object, which {name} is not")
        general = [name for name in names if name != own and name in self._definitions]
        if not general:
            where = self._where(message.name)
            self._diagnostics.loose(where, f"neither {own} nor EmptyResult is defined, so it has no result: skipped")
        return general[0] if general else None

    def _alternatives(self, message: Struct, result: str, params: Mapping[str, Field]) -> tuple[str, ...]:
        named = [name for name in self._stated_results(message) if name != result]
        prose = [p.result for p in PAIRINGS if p.if_params_have in params and p.result in self._definitions]
        return (*named, *prose)

    def _stated_results(self, message: Struct) -> tuple[str, ...]:
        """Return the names of the results that the response of a request states; may be empty."""
        stated = field_of(f"{message.name.removesuffix('Request')}ResultResponse", "result", self._definitions)
        type_ = stated.type if stated else None
        if isinstance(type_, Ref) and isinstance(alias := self._definitions.get(type_.name), Alias):
            type_ = alias.type if isinstance(alias.type, Union) else type_
        members = type_.members if isinstance(type_, Union) else (type_,) if type_ else ()
        return tuple(name for member in members if (name := reference(member)))

    def _is_payload(self, result: str) -> bool:
        """Whether the result is a placeholder for that of another request: it extends a result and adds nothing."""
        definition = self._definitions.get(result)
        return isinstance(definition, Struct) and not definition.own and len(definition.bases) == 1

    def _fields(self, type_: TypeRef) -> dict[str, Field]:
        """The properties of a struct, or of all structs of a union."""
        found = structs(type_, protocol_of(self._definitions))
        return {field.wire_name: field for struct in found for field in struct.fields}

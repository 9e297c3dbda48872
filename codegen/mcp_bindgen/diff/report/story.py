"""What a person must know of two revisions: a line for each big change, from their methods, eras and findings."""

from collections.abc import Iterable, Iterator, Mapping

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.report.model import Line
from mcp_bindgen.diff.report.words import listed, reading
from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.diff.rules import annotations, messages, properties, rules_of, values
from mcp_bindgen.ir.names import closure, contained
from mcp_bindgen.ir.nodes import Direction, Era, Method, Protocol, Ref, Struct, TypeRef
from mcp_bindgen.load.protocol import replacements

MAX_HELD = 8
"""The number of properties of a new message that a line lists."""
MAX_CAPABILITIES = 1000
"""The number of capabilities of a side that are looked at."""

_META = "_meta"
_FRAMES = messages.JSONRPC_MESSAGE_FORM_ADDED, messages.JSONRPC_MESSAGE_FORM_REMOVED
_CODES = messages.ERROR_CODE_ADDED, messages.ERROR_CODE_REMOVED, messages.ERROR_CODE_RENUMBERED
_NEW_FORMS = values.UNION_MEMBER_ADDED, values.NULLABLE_ADDED, values.ENUM_VALUE_ADDED
_OLD_FORMS = values.UNION_MEMBER_REMOVED, values.NULLABLE_REMOVED, values.ENUM_VALUE_REMOVED
_RESULTS = messages.RESULT_ALTERNATIVE_ADDED, messages.RESULT_ALTERNATIVE_REMOVED
_FORMS = *_RESULTS, *_NEW_FORMS, *_OLD_FORMS
_TYPES = tuple(rule for rule in rules_of(values) if rule not in _FORMS)
_TITLES: Mapping[str, tuple[Rule, ...]] = {
    "Requests gone": (messages.REQUEST_METHOD_REMOVED,),
    "Notifications gone": (messages.NOTIFICATION_METHOD_REMOVED,),
    "New requests": (messages.REQUEST_METHOD_ADDED,),
    "New notifications": (messages.NOTIFICATION_METHOD_ADDED,),
    "Renamed": (messages.METHOD_RENAMED, properties.PROPERTY_RENAMED, properties.PROPERTY_MOVED),
    "New forms of JSON-RPC messages": _FRAMES[:1],
    "Forms of JSON-RPC messages gone": _FRAMES[1:],
    "New kinds of results": _RESULTS[:1],
    "Kinds of results gone": _RESULTS[1:],
    "Now required": (properties.PROPERTY_ADDED_REQUIRED, properties.PROPERTY_NOW_REQUIRED),
    "No longer required": (properties.PROPERTY_NOW_OPTIONAL,),
    "Properties gone": (
        properties.PROPERTY_REMOVED_REQUIRED,
        properties.PROPERTY_REMOVED_OPTIONAL,
        properties.PROPERTY_REMOVED_FROM_CLOSED,
    ),
    "Properties now rejected": (properties.PROPERTY_FORBIDDEN,),
    "Properties no longer rejected": (properties.PROPERTY_ALLOWED,),
    "New forms of values": _NEW_FORMS,
    "Forms of values gone": _OLD_FORMS,
    "Any value is allowed": (properties.PROPERTY_CONSTRAINT_DROPPED,),
    "Other types of values": _TYPES,
    "New error codes": _CODES[:1],
    "Error codes gone": _CODES[1:2],
    "Other error codes": _CODES[2:],
    "New optional properties": (properties.PROPERTY_ADDED_OPTIONAL, properties.PROPERTY_ADDED_TO_CLOSED),
    "Deprecated": (annotations.DEPRECATED_ADDED,),
    "No longer deprecated": (annotations.DEPRECATED_REMOVED,),
    "Dialect of JSON Schema": (annotations.DIALECT_CHANGED,),
}
"""What a line is called, and the rules whose findings it tells, in the order of the lines."""


def story(old: Protocol, new: Protocol, findings: Iterable[Finding]) -> tuple[Line, ...]:
    """Return the lines, the most far-reaching changes first."""
    lines = (Line(title=title, names=tuple(names)) for title, names in _Story(old, new, findings).lines())
    return tuple(line for line in lines if line.names)


def capabilities(protocol: Protocol) -> Iterator[str]:
    """Iterate over what each side can declare: ``server.tools.listChanged``."""
    for peer in ("client", "server"):
        definition = protocol.definitions.get(f"{peer.capitalize()}Capabilities")
        pending = [(peer, definition)] if isinstance(definition, Struct) else []
        while pending and len(pending) < MAX_CAPABILITIES:
            path, struct = pending.pop()
            for field in struct.fields:
                yield f"{path}.{field.wire_name}"
                inner = protocol.resolve(field.type)
                if isinstance(inner, Struct) and inner.name not in path.split("."):
                    pending.append((f"{path}.{field.wire_name}", inner))


class _Story:
    """Tells the changes, each once: what a line has named is left out of those after it."""

    def __init__(self, old: Protocol, new: Protocol, findings: Iterable[Finding]) -> None:
        self._old, self._new = old, new
        self._findings = list(findings)
        self._messages = {method.message: method.name for method in new.methods}
        self._told: set[str] = set()

    def lines(self) -> Iterator[tuple[str, Iterable[str]]]:
        yield from self._era()
        yield from self._asked_in_results()
        yield from self._features()
        self._told |= self._parts_of_deprecated()
        yield "Use instead", self._replaced()
        for title, rules in _TITLES.items():
            yield title, self._items(finding for finding in self._findings if finding.rule in rules)

    def _era(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Tell that conversations begin in another way, and what requests state instead of a handshake."""
        if self._old.era is self._new.era:
            return
        if self._new.era is Era.LEGACY:
            yield "Conversations begin with a handshake", ("initialize",)
            return
        before, stated = _stated(self._old), _stated(self._new)
        required, optional = ([n for n in stated if n not in before and stated[n] is must] for must in (True, False))
        self._told |= {*stated, _META, "params"}
        yield f"No handshake any more; each request states in {_META}", required
        yield "It may also state", optional

    def _asked_in_results(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Tell which requests became part of a result, of which, and what answers them."""
        before = {method.name: method for method in self._old.methods}
        asked = [method for method in self._new.methods if method.direction is Direction.EMBEDDED]
        moved = [m for m in asked if m.name in before and before[m.name].direction is not Direction.EMBEDDED]
        asking: dict[str, list[Method]] = {}
        for method in self._new.methods:
            for name in method.alternatives:
                inside = closure([name], lambda each: contained(self._new.definitions[each]))
                if any(each.message in inside for each in moved):
                    asking.setdefault(name, []).append(method)
        params = {method.params for methods in asking.values() for method in methods}
        given = [f.after for f in self._findings if f.after and f.rule is properties.PROPERTY_ADDED_OPTIONAL]
        answers = dict.fromkeys(subject.member for subject in given if subject.definition in params)
        self._told |= {*asking, *answers, *(method.name for method in moved)}
        yield "Asked for in results, no longer in requests of the server", [method.name for method in moved]
        yield "Results that ask", [f"{name} ({', '.join(m.name for m in by)})" for name, by in asking.items()]
        yield "The client answers by sending the request again with", answers

    def _features(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Tell which capabilities came or went, with the methods that need them."""
        before, after = set(capabilities(self._old)), set(capabilities(self._new))
        names = {method.name for method in self._old.methods} ^ {method.name for method in self._new.methods}
        for title, behind, protocol, paths in (
            ("Capabilities gone", "Requests gone with them", self._old, before - after),
            ("New capabilities", "New requests that need them", self._new, after - before),
        ):
            whole = {path for path in paths if path.count(".") == 1}
            inner = {path for path in paths - whole if ".".join(path.split(".")[:2]) not in whole}
            needing = [
                m
                for m in protocol.methods
                if m.name in names and _feature(m) in {path.partition(".")[2] for path in whole}
            ]
            self._told |= {method.name for method in needing}
            yield title, sorted(whole | inner)
            yield behind, [method.name for method in needing]

    def _replaced(self) -> Iterator[str]:
        """Iterate over what replaces methods that are gone, with those methods."""
        gone = {method.name for method in self._old.methods} - {method.name for method in self._new.methods}
        by_use: dict[str, list[str]] = {}
        for name in sorted(gone & replacements().keys()):
            by_use.setdefault(replacements()[name], []).append(name)
        yield from (f"{use} for {', '.join(names)}" for use, names in by_use.items())

    def _parts_of_deprecated(self) -> set[str]:
        """Return the definitions of what deprecated messages carry: the names of the methods say enough."""
        roots = [name for m in self._new.methods if m.deprecated for name in (m.params, m.result) if name]
        return closure(roots, lambda name: contained(self._new.definitions[name]))

    def _items(self, findings: Iterable[Finding]) -> list[str]:
        """Name what findings are about, each name once, with the definitions or places that have it."""
        owners: dict[str, set[str]] = {}
        for finding in findings:
            what, owner = _named(finding)
            if what not in self._told:
                owners.setdefault(self._messages.get(what, what), set()).add(owner)
        alike: dict[str, list[str]] = {}
        for what, places in owners.items():
            alike.setdefault(listed(sorted(places - {""})), []).append(f"{what}{self._held(what)}")
        return [f"{', '.join(names)}{f' ({places})' if places else ''}" for places, names in alike.items()]

    def _held(self, name: str) -> str:
        """List the properties of a new message's params."""
        new = next((m for m in self._new.methods if m.name == name and m.params), None)
        if new is None or new.params is None or any(method.name == name for method in self._old.methods):
            return ""
        held = list(_properties(self._new, Ref(name=new.params), 1))
        return f" (with {', '.join(held[:MAX_HELD])})" if held else ""


def _named(finding: Finding) -> tuple[str, str]:
    """Return the name of what changed, and of what has it: a property and its definition, a form and its place."""
    rule, place, text = finding.rule, finding.place, reading(finding)
    subject = finding.after or finding.before
    if finding.is_about_method or rule in _FRAMES:
        return f"batches of {text.removesuffix('[]')}" if text.endswith("[]") else text, ""
    if rule in _FORMS:
        return text, ", ".join(finding.methods) if "." not in place and finding.methods else place
    if subject is None or rule in _CODES:
        return f"{place} {text}", ""
    if not subject.member:
        return subject.definition, ""
    return f"{subject.member}: {text}" if rule in _TYPES else subject.member, subject.definition


def _feature(method: Method) -> str:
    """Return the capability that a method needs, without the side that declares it."""
    return method.capability.partition(".")[2].partition(".")[0]


def _stated(protocol: Protocol) -> dict[str, bool]:
    """Return the properties of the `_meta` of requests, and whether they are required."""
    found: dict[str, bool] = {}
    for method in protocol.methods:
        params = protocol.resolve(Ref(name=method.params)) if method.is_request and method.params else None
        meta = params.field(_META) if isinstance(params, Struct) else None
        inner = protocol.resolve(meta.type) if meta else None
        found |= {field.wire_name: field.required for field in inner.fields} if isinstance(inner, Struct) else {}
    return found


def _properties(protocol: Protocol, type_: TypeRef, depth: int) -> Iterator[str]:
    """Iterate over the properties of an object; nested objects are replaced by their properties."""
    struct = protocol.resolve(type_)
    for field in struct.fields if isinstance(struct, Struct) else ():
        if field.wire_name != _META:
            inner = (
                [f"{field.wire_name}.{name}" for name in _properties(protocol, field.type, depth - 1)] if depth else []
            )
            yield from inner or [field.wire_name]

"""Decide conservatively whether everything that one JSON Schema allows a sender to send is valid for another.

Both schemas are read as those of the protocol are, and compared by the same rules. Each place where the receiver may
refuse something is a gap. A gap is either
proven by a value that jsonschema finds valid for the sender and invalid for the receiver, or undecided. A sender does
not send properties that its schema does not declare, unless the schema explicitly allows them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcp_bindgen.diff.finding import Carrier, Travel
from mcp_bindgen.diff.rule import NOTHING, Change, Rule
from mcp_bindgen.diff.rules import judge
from mcp_bindgen.diff.rules.values import FORMAT_ADDED, FORMAT_CHANGED, OPAQUE_CHANGED
from mcp_bindgen.diff.types.equality import Equality
from mcp_bindgen.diff.wire.proof import are_about, hints_in, prove, turned
from mcp_bindgen.diff.wire.spot import Spot, root
from mcp_bindgen.diff.wire.walk import Sides, Walk
from mcp_bindgen.ingest.json_keywords import ANNOTATIONS
from mcp_bindgen.ingest.json_schema import read_type
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError
from mcp_bindgen.ir.json_values import escaped, is_list, is_object, read_pointer
from mcp_bindgen.ir.leaves import forms
from mcp_bindgen.ir.nodes import Kind, Protocol, Ref, TypeRef, protocol_of
from mcp_bindgen.ir.spell import opaque_facts
from mcp_bindgen.merge.build import build
from mcp_bindgen.tool_clients.typing.keywords import References, is_annotation, nodes, texts
from mcp_bindgen.values.builder import Builder, Step
from mcp_runtime.json_schema.check import Check, ExhaustedSchema, UnusableSchema
from mcp_runtime.json_schema.keywords import NAMED
from mcp_runtime.json_schema.meter import Meter, TooManySteps, weight_of

MAX_STEPS = 50_000
"""The maximum number of steps of a comparison; each of the two validators may take as many."""
MAX_SIZE = 250_000
"""The maximum length of two schemas that are compared in detail, in characters."""
_PAIR = 20
"""How many steps it takes to compare two types."""
_SORTED = 4
"""How many pairs of members are looked at in one step before they are compared."""
_COPIED = 200
"""How many characters of names are copied in one step."""
_PROOF = 100
"""How many steps it takes to look for a proof."""

_ROOT = Ref(name="Value")
_START = Spot(before=root(_ROOT.name), after=root(_ROOT.name), carrier=Carrier("", "", Travel.TO_SERVER))
_NESTED = ("items", "additionalProperties", "anyOf", "oneOf", "allOf")
_SHAPING = frozenset(("type", "properties", "required", "items", "enum", "const", "$ref", "anyOf", "oneOf"))
_TOGETHER = ({"type", "properties", "required", "items"}, {"type", "enum"}, {"type", "const"})
"""Keywords that are read as one type; any others that shape a value together are joined as well as can be."""
_NOT_CHECKED = (FORMAT_ADDED, FORMAT_CHANGED)
"""What no validator refuses, though a server may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A place where a receiver may refuse what a sender may send.

    Attributes:
        way: the steps to the place from the root.
        rule: what changed from the sender to the receiver.
        sent: what the sender's schema says there, as text.
        taken: what the receiver's schema says there.
        is_proven: whether `witness` proves it; otherwise `why` says why there is no proof.
        witness: a value that is valid for the sender and invalid for the receiver.
    """

    way: tuple[Step, ...]
    rule: Rule
    sent: str
    taken: str
    is_proven: bool
    witness: Any = None
    why: str = ""


def gaps(sent_schema: Any, taken_schema: Any) -> list[Gap]:
    """Return where a receiver may refuse what a sender may send; nothing if it certainly never does."""
    schemas = sent_schema, taken_schema
    try:
        if meaning(sent_schema) == meaning(taken_schema):
            return []
        if sum(len(json.dumps(schema)) for schema in schemas) > MAX_SIZE:
            return [_unknown("the schemas are too large to be compared")]
        return list(_Comparison(*(plain(schema, References(schema)) for schema in schemas)).gaps())
    except InputError as error:
        return [_unknown(f"a schema cannot be read: {error.diagnostics.errors[0].message}")]
    except RecursionError:
        return [_unknown("the schemas are nested too deeply to be compared")]
    except TooManySteps:
        return [_unknown("there is too much to compare")]


def smallest(schema: Any) -> Any:
    """Return a small value that a schema probably allows, an empty object if none is known."""
    try:
        return Builder(read(schema), ()).smallest(_ROOT)
    except (InputError, RecursionError):
        return {}


def meaning(schema: Any) -> str:
    """Return the assertions of a schema as text; schemas with equal texts accept the same values.

    Raises:
        RecursionError: it is nested too deeply.
    """
    return json.dumps(_meaning(schema), sort_keys=True)  # as text, since true equals 1 in Python


def _meaning(schema: Any) -> Any:
    if not is_object(schema):
        return [_meaning(part) for part in schema] if is_list(schema) else schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name in NAMED and is_object(value):
            found[name] = {key: _meaning(member) for key, member in value.items()}
        elif name == "required" and is_list(value):
            found[name] = sorted(map(str, value))
        elif not is_annotation(name):
            found[name] = value if name in ("enum", "const") else _meaning(value)
    return found


def reworded(old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Iterate over what two schemas say differently without asserting it, such as descriptions and defaults.

    Yields the pointer and both values, in schemas that are at the same place; None for none.
    """
    before, after = dict(nodes(old)), dict(nodes(new))
    for pointer in sorted(before.keys() & after.keys()):
        was, is_ = before[pointer], after[pointer]
        for name in sorted(filter(is_annotation, was.keys() | is_.keys())):
            if json.dumps(was.get(name)) != json.dumps(is_.get(name)) or (name in was) != (name in is_):
                yield f"{pointer}/{escaped(name)}", was.get(name), is_.get(name)


def plain(schema: Any, references: References) -> Any:
    """Return a schema that accepts the same values, spelled as the reader understands it best.

    It has no keywords that only annotate, and its references are pointers.
    """
    if not is_object(schema):
        return [plain(part, references) for part in schema] if is_list(schema) else schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name in NAMED and is_object(value):
            found[name] = {key: plain(member, references) for key, member in value.items()}
        elif name == "$ref" and (pointer := references.pointer(value)) is not None:
            found[name] = f"#{pointer}"
        elif name not in _BASES and (name in ANNOTATIONS or not is_annotation(name)):
            found[name] = plain(value, references) if name in _NESTED else value
    return found


_BASES = frozenset(("$id", "id", "$anchor", "$dynamicAnchor"))
"""The bases of references, which `plain` spells as pointers from the root."""


def read(schema: Any) -> Protocol:
    """Read a schema that stands alone as the definitions of a protocol.

    Raises:
        InputError: it is not a valid schema.
    """
    diagnostics = Diagnostics()
    declarations = read_type(schema, _ROOT.name, "the schema", diagnostics)
    diagnostics.raise_errors()
    definitions = build(declarations, "the schema", diagnostics)
    diagnostics.raise_errors()
    return protocol_of(definitions)


class _MeteredEquality(Equality):
    """Compares the types of two schemas, and counts the steps."""

    def __init__(self, old: Protocol, new: Protocol, meter: Meter) -> None:
        super().__init__(old, new, exact=True)
        self._meter = meter

    def same(self, old: TypeRef, new: TypeRef) -> bool:
        self._meter.spend(_PAIR)
        return super().same(old, new)

    def _forms(self, old: TypeRef, new: TypeRef) -> bool:
        self._meter.spend(len(forms(old, self._old)) * len(forms(new, self._new)) // _SORTED)
        return super()._forms(old, new)


class _Comparison:
    def __init__(self, sender: Any, receiver: Any) -> None:
        self._schemas = sender, receiver
        self._meter = Meter(MAX_STEPS)
        self._meter.spend(_steps(sender) + _steps(receiver))
        self._old, self._new = read(closed(sender)), read(receiver)
        self._checks: list[Check] | None = None
        self._found: dict[tuple[tuple[Step, ...], str, str], Rule] = {}

    def gaps(self) -> Iterator[Gap]:
        """Iterate over the gaps, place by place."""
        sides = Sides(self._old, self._new, _MeteredEquality(self._old, self._new, self._meter))
        Walk(sides, self._see).types(_ROOT, _ROOT, _START)
        for pointer, text in self._loose():
            self._found.setdefault((_way(pointer), NOTHING, text), OPAQUE_CHANGED)
        for (way, sent, taken), rule in sorted(self._found.items(), key=lambda item: str(item[0])):
            proven, witness = self._proof(way, sent, taken) if rule not in _NOT_CHECKED else (False, None)
            why = "" if proven else "no value was found that demonstrates it"
            yield Gap(way=way, rule=rule, sent=sent, taken=taken, is_proven=proven, witness=witness, why=why)

    def _see(self, site: object, spot: Spot) -> None:
        """Keep the findings that may make a receiver refuse something."""
        self._meter.spend(_PAIR + sum(len(step.name) for step in spot.way) // _COPIED)
        for rule, (old, new) in judge(site):
            if (
                rule is OPAQUE_CHANGED and new != NOTHING
            ):  # `_loose` looks at the receiver's file itself, which says more.
                continue
            if Change.NARROWS in spot.effect(rule, site) or rule in _NOT_CHECKED:
                self._found[spot.way, old, new] = rule

    def _loose(self) -> Iterator[tuple[str, str]]:
        """Iterate over what the receiver says beyond its type, unless the sender says the same at the same place."""
        sender, receiver = self._schemas
        stated = set(self._facts(receiver, self._new))
        if stated and not _is_rerouted(sender, receiver):
            stated -= set(self._facts(sender, read(sender)))
        yield from ((pointer, text) for pointer, _, text in sorted(stated))

    def _proof(self, way: tuple[Step, ...], sent: str, taken: str) -> tuple[bool, Any]:
        """Look for a whole value that the sender's schema allows and the receiver's refuses."""
        if self._checks is None:
            self._checks = list(_checks(self._schemas))
        if not self._checks:
            return False, None
        sender, receiver = self._checks
        steps = tuple(map(turned, way))
        candidates = Builder(self._old, hints_in(sent, taken)).along(_ROOT, steps)
        try:
            self._meter.spend(_PROOF)
            proof = prove(
                candidates,
                sends=lambda value: _errors(sender, value) == [],
                refuses=lambda value: are_about(_errors(receiver, value) or (), steps),
            )
        except (ExhaustedSchema, TooManySteps):
            self._checks = []
            return False, None
        return proof.is_found, proof.value

    def _facts(self, schema: Any, protocol: Protocol) -> Iterator[tuple[str, str, str]]:
        """Iterate over what a schema says beyond its type: the pointer, the type accepted there, and the text."""
        nevers: list[str] = []
        for fact in opaque_facts(protocol):
            if fact.accepted == Kind.NEVER:
                nevers.append(fact.opaque.where.pointer)
            else:
                yield fact.opaque.where.pointer, fact.accepted, fact.opaque.text
        for pointer, node in nodes(schema):
            shaping = _SHAPING & node.keys()
            is_joined = "allOf" in node or not any(shaping <= together or len(shaping) < 2 for together in _TOGETHER)
            needed = [f"{pointer}/properties/{escaped(name)}" for name in texts(node.get("required")) if nevers]
            self._meter.spend(1 + len(needed) * len(nevers))
            # The reader demands no property that cannot be there.
            if is_joined or any(never.startswith(place) for never in nevers for place in needed):
                self._meter.spend(weight_of(node))
                yield pointer, "", meaning(node)


def _steps(schema: Any, length: int = 0) -> int:
    """Return how many steps it takes to read a schema at a pointer of a length: each part has a pointer of its own."""
    if is_object(schema):
        inner = sum(_steps(part, length + len(name)) for name, part in schema.items())
    elif is_list(schema):
        inner = sum(_steps(part, length) for part in schema)
    else:
        return weight_of(schema)
    return 1 + length // _COPIED + inner


def _checks(schemas: tuple[Any, Any]) -> Iterator[Check]:
    """Iterate over the compiled schemas; nothing if one cannot be used."""
    try:
        yield from [Check(one if is_object(one) else {"allOf": [one]}, is_trusted=False) for one in schemas]
    except UnusableSchema:
        return


def _errors(check: Check, value: Any) -> list[Any] | None:
    """Return the errors of a value; None if they are not certain.

    Raises:
        ExhaustedSchema: it cannot be found out within bounds.
    """
    try:
        return check.errors(value)
    except ExhaustedSchema:
        raise
    except UnusableSchema:
        return None


def closed(schema: Any) -> Any:
    """Return a schema as its sender follows it: closed, unless it explicitly allows undeclared properties."""
    if not is_object(schema):
        return [closed(part) for part in schema] if is_list(schema) else schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name in NAMED and is_object(value):
            found[name] = {key: closed(member) for key, member in value.items()}
        else:
            found[name] = closed(value) if name in _NESTED else value
    types = schema.get("type")
    is_of_objects = "properties" in schema or types == "object" or (is_list(types) and "object" in types)
    is_whole = set(texts(schema.get("required"))) <= set(schema.get("properties") or ())
    return {"additionalProperties": False, **found} if is_of_objects and is_whole else found


def _is_rerouted(sender: Any, receiver: Any) -> bool:
    """Whether the references at a place differ, so that pointers do not lead to the same values."""
    old, new = (dict(nodes(schema)) for schema in (sender, receiver))
    return any(old[pointer].get("$ref") != new[pointer].get("$ref") for pointer in old.keys() & new.keys())


def _way(pointer: str) -> tuple[Step, ...]:
    """Return the way to what a pointer leads to; the root if that is not below it."""
    way: list[Step] = []
    tokens = iter(read_pointer(pointer))
    for token in tokens:
        match token:
            case "properties":
                way.append(Step("field", next(tokens, "")))
            case "items":
                way.append(Step("item"))
            case "additionalProperties":
                way.append(Step("value"))
            case "anyOf" | "oneOf" | "allOf":
                next(tokens, "")
            case _:
                break
    return () if pointer.startswith(("/$defs", "/definitions")) else tuple(way)


def _unknown(why: str) -> Gap:
    return Gap(way=(), rule=OPAQUE_CHANGED, sent="", taken="", is_proven=False, why=why)

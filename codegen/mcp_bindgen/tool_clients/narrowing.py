"""Whether all that one JSON Schema lets a sender send is valid for another, decided conservatively.

Each place where that is not certain is a gap: it breaks, which a value proves that jsonschema finds valid for the
sender and invalid for the receiver, or nobody knows. As everywhere in `diff`, a sender does not send members that its
schema does not declare, unless the schema says in so many words that it may.
"""

import json
from dataclasses import dataclass
from typing import Any

from mcp_bindgen.tool_clients.contract import dump
from mcp_bindgen.tool_clients.kinds import is_list, is_number, is_object
from mcp_bindgen.tool_clients.probes import ANY, Step, around, resolve, values
from mcp_bindgen.tool_clients.proof import prove
from mcp_bindgen.tool_clients.validity import Undecidable, Validity

MAX_DEPTH = 40
MAX_PAIRS = 2_000
"""How many pairs of schemas one comparison looks at; what is left is not known."""
MAX_TRIES = 150
"""How many values are tried for each gap."""
MAX_SIZE = 200_000
"""How long a schema may be to be compared in detail, in characters."""

_SILENT = frozenset(
    "$schema $id $comment $defs definitions title description default examples deprecated readOnly writeOnly example"
    " $anchor id nullable discriminator contentEncoding contentMediaType".split()
)
"""Keywords that say nothing on what is valid."""
_HANDLED = frozenset(
    "type properties required additionalProperties items enum const anyOf oneOf minLength maxLength minItems maxItems"
    " minimum maximum exclusiveMinimum exclusiveMaximum multipleOf uniqueItems $ref".split()
)
_LEAST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A place where a receiver may refuse what a sender may send.

    Attributes:
        path: the way to the place from the root.
        sent: what the sender's schema says there, as text.
        taken: what the receiver's schema says there.
        is_proven: whether `witness` proves it; otherwise `why` says what stands in the way of a proof.
        witness: a value that is valid for the sender and invalid for the receiver.
    """

    path: tuple[Step, ...]
    sent: str
    taken: str
    is_proven: bool
    witness: Any = None
    why: str = ""


def gaps(sender: Any, receiver: Any) -> list[Gap]:
    """Return where a receiver may refuse what a sender may send; nothing if it certainly never does."""
    try:
        if meaning(sender) == meaning(receiver):
            return []
        if any(has_inner_names(schema) for schema in (sender, receiver)):
            return [_unknown("a part of the schema has a name ($id) of its own")]
        if max(len(dump(sender)), len(dump(receiver))) > MAX_SIZE:
            return [_unknown("the schemas are too large to be compared")]
        return _Comparison(sender, receiver).run()
    except RecursionError:
        return [_unknown("the schemas are nested too deep to be compared")]


def meaning(schema: Any) -> str:
    """Return what a schema says on validity, as text; schemas with equal ones accept the same.

    Raises:
        RecursionError: it is nested too deep.
    """
    # As text, since to Python true is 1.
    return json.dumps(_meaning(schema), sort_keys=True)


def _meaning(schema: Any) -> Any:
    if not is_object(schema):
        return schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name in ("$defs", "definitions", "properties", "patternProperties") and is_object(value):
            found[name] = {key: _meaning(member) for key, member in value.items()}
        elif name in ("anyOf", "oneOf", "allOf", "prefixItems") and is_list(value):
            found[name] = [_meaning(member) for member in value]
        elif name == "required" and is_list(value):
            found[name] = sorted(map(str, value))
        elif name in ("enum", "const", "default"):
            if name != "default":
                found[name] = value
        elif name not in _SILENT or name == "$schema":
            found[name] = _meaning(value)
    return found


def has_inner_names(schema: Any) -> bool:
    """Whether a part of a schema is a resource of its own, in which references mean something else."""
    members = {k: v for k, v in schema.items() if k != "$id"} if is_object(schema) else schema
    return '"$id":' in dump(members)


def _unknown(why: str) -> Gap:
    return Gap(path=(), sent="", taken="", is_proven=False, why=why)


class _Comparison:
    def __init__(self, sender: Any, receiver: Any) -> None:
        self._sender, self._receiver = sender, receiver
        self._pairs: set[tuple[int, int]] = set()
        self._kept: list[Any] = []
        self._seen = 0
        self._found: list[Gap] = []

    def run(self) -> list[Gap]:
        self._walk(self._sender, self._receiver, ())
        return self._found

    def _walk(self, sent: Any, taken: Any, path: tuple[Step, ...]) -> None:
        """Compare what is at one place of both."""
        self._seen += 1
        if self._seen > MAX_PAIRS or len(path) > MAX_DEPTH:
            self._gap(sent, taken, path, "there is too much to compare")
            return
        first, second = resolve(sent, self._sender), resolve(taken, self._receiver)
        if first is None or second is None:
            self._gap(sent, taken, path, "a reference leads nowhere, or out of the schema")
            return
        pair = (id(first), id(second))
        if pair in self._pairs:
            return
        self._pairs.add(pair)
        self._kept += (first, second)  # An identity is one only as long as the object lives.
        if first is False or second is True or second == {}:
            return
        if _has_siblings(sent) or _has_siblings(taken):
            self._gap(sent, taken, path, "keywords beside a reference")
            return
        if meaning(first) == meaning(second) and not _refers(first):
            return
        self._compare(first, second, path)

    def _compare(self, sent: Any, taken: Any, path: tuple[Step, ...]) -> None:
        if not is_object(sent) or not is_object(taken):
            self._gap(sent, taken, path)
            return
        first, second = sent, taken
        chosen = _choices(first)
        if chosen is not None:
            self._check_each(chosen, first, second, path)
        elif (members := _members(first)) is not None:
            for member in members:
                self._walk(member, taken, path)
        elif _members(second) is not None:
            if not self._fits_one(first, second, path):
                self._gap(sent, taken, path)
        else:
            self._compare_plain(first, second, path)

    def _check_each(
        self, chosen: list[Any], sent: dict[str, Any], taken: dict[str, Any], path: tuple[Step, ...]
    ) -> None:
        try:
            validity = Validity({**_definitions(self._receiver), **taken})
            lost = [value for value in chosen if not validity.accepts(value)]
        except Undecidable as error:
            self._gap(sent, taken, path, str(error))
            return
        if lost:
            self._gap(sent, taken, path, tries=lost)

    def _fits_one(self, sent: Any, taken: dict[str, Any], path: tuple[Step, ...]) -> bool:
        """Whether what is sent certainly fits one of several alternatives, and for `oneOf` no other."""
        members = _members(taken) or []
        if {"anyOf", "oneOf"} & taken.keys() and len(taken.keys() - _SILENT) > 1:
            return False
        if "oneOf" in taken and not _are_apart([resolve(member, self._receiver) for member in members]):
            return False
        for member in members:
            pairs, found = self._pairs, self._found
            self._pairs, self._found = set(pairs), _Sink()
            self._walk(sent, member, path)
            fits, self._pairs, self._found = not self._found, pairs, found
            if fits:
                return True
        return False

    def _compare_plain(self, sent: dict[str, Any], taken: dict[str, Any], path: tuple[Step, ...]) -> None:
        type_, wanted = sent.get("type"), taken.get("type")
        if wanted is not None and type_ != wanted and not (type_ == "integer" and wanted == "number"):
            self._gap(sent, taken, path)
            return
        unread = {name for name in taken.keys() - _SILENT - _HANDLED if not name.startswith("x-")}
        rest = {"prefixItems", "patternProperties"} & sent.keys()
        if any(name not in taken for name in rest):
            self._gap(sent, taken, path)
            return
        if any(meaning(sent.get(name)) != meaning(taken[name]) for name in unread) or "enum" in taken:
            self._gap(sent, taken, path)
            return
        if "const" in taken or not self._within(sent, taken):
            self._gap(sent, taken, path)
            return
        if "items" in taken and type_ == "array":
            self._walk(sent.get("items", True), taken["items"], (*path, 0))
        if type_ == "object" or (wanted is None and "properties" in taken):
            self._compare_objects(sent, taken, path)
        elif type_ is None and wanted is None and {"properties", "items", "required"} & taken.keys():
            self._gap(sent, taken, path)

    def _within(self, sent: dict[str, Any], taken: dict[str, Any]) -> bool:
        """Whether the limits of the sender are within those of the receiver."""
        for name in (*_LEAST, *_MOST):
            if name not in taken or sent.get(name) == taken[name]:
                continue
            ours, theirs = sent.get(name), taken[name]
            if not is_number(ours) or not is_number(theirs):
                if theirs == 0 and name in ("minLength", "minItems"):
                    continue
                return False
            if ours < theirs if name in _LEAST else ours > theirs:
                return False
        if taken.get("uniqueItems") is True and sent.get("uniqueItems") is not True:
            return False
        step, finer = taken.get("multipleOf"), sent.get("multipleOf")
        if step is None or step == finer or (step == 1 and sent.get("type") == "integer"):
            return True
        return isinstance(step, int) and isinstance(finer, int) and step > 0 and finer % step == 0

    def _compare_objects(self, sent: dict[str, Any], taken: dict[str, Any], path: tuple[Step, ...]) -> None:
        ours, theirs = _properties(sent), _properties(taken)
        needed, given = _required(taken), _required(sent)
        for name in sorted(needed - given):
            shown = "optional" if name in ours else "not declared"
            self._add(path, name, shown, "required", self._proof(sent, path, taken, without=name))
        additional = taken.get("additionalProperties", True)
        for name, schema in ours.items():
            if name in theirs:
                self._walk(schema, theirs[name], (*path, name))
            elif additional is not True and additional != {}:
                self._walk(schema, additional, (*path, name))
        extra = sent.get("additionalProperties")
        if extra is not None and extra is not False:
            for name, schema in theirs.items():
                if name not in ours and extra is not True and extra != {}:
                    self._walk(extra, schema, (*path, name))
            if additional is not True and additional != {}:
                self._walk(extra, additional, (*path, ANY))

    def _add(self, path: tuple[Step, ...], name: str, sent: str, taken: str, proof: tuple[bool, Any]) -> None:
        proven, witness = proof
        why = "" if proven else "no value was found that shows it"
        place = (*path, name)
        self._found.append(Gap(path=place, sent=sent, taken=taken, is_proven=proven, witness=witness, why=why))

    def _gap(
        self, sent: Any, taken: Any, path: tuple[Step, ...], why: str = "", tries: list[Any] | None = None
    ) -> None:
        proven, witness = (False, None) if isinstance(self._found, _Sink) else self._proof(sent, path, taken, tries)
        why = "" if proven else why or "no value was found that shows it, and the schemas are too different to be sure"
        self._found.append(
            Gap(path=path, sent=spell(sent), taken=spell(taken), is_proven=proven, witness=witness, why=why)
        )

    def _proof(
        self, sent: Any, path: tuple[Step, ...], taken: Any, tries: list[Any] | None = None, *, without: str = ""
    ) -> tuple[bool, Any]:
        """Look for a whole value that the sender's schema allows and the receiver's refuses."""
        if isinstance(self._found, _Sink):
            return False, None
        tried = [*values(sent, self._sender), *around(taken)] if tries is None else tries
        return prove(self._sender, self._receiver, path, tried, without=without)


class _Sink(list[Gap]):
    """Gaps that nobody asks the reason of."""


def is_same(first: Any, second: Any) -> bool:
    """Whether two schemas certainly accept the same."""
    try:
        return meaning(first) == meaning(second)
    except RecursionError:
        return False


def spell(schema: Any) -> str:
    """Spell what a schema says in a few words: its meaning as JSON, clipped."""
    if schema is True:
        return "anything"
    try:
        text = meaning(schema)
    except (RecursionError, TypeError):
        return "a schema"
    return text if len(text) <= 200 else f"{text[:200]}..."


def _definitions(root: Any) -> dict[str, Any]:
    if not is_object(root):
        return {}
    known = root
    return {name: known[name] for name in ("$schema", "$defs", "definitions") if name in known}


def _choices(schema: dict[str, Any]) -> list[Any] | None:
    """Return the values that a schema lists; there are no others."""
    if "const" in schema:
        return [schema["const"]]
    values_ = schema.get("enum")
    return values_ if is_list(values_) else None


def _members(schema: dict[str, Any]) -> list[Any] | None:
    """Return the alternatives of a schema, None if it is none of alternatives."""
    for keyword in ("anyOf", "oneOf"):
        members = schema.get(keyword)
        if is_list(members):
            return members
    types = schema.get("type")
    return [{**schema, "type": type_} for type_ in types] if is_list(types) else None


def _are_apart(members: list[Any]) -> bool:
    """Whether alternatives certainly have no value in common: their types differ."""
    types = [member.get("type") if is_object(member) else None for member in members]
    if not all(isinstance(type_, str) for type_ in types):
        return False
    return len(set(types)) == len(types) and not {"integer", "number"} <= set(types)


def _has_siblings(schema: Any) -> bool:
    return is_object(schema) and "$ref" in schema and bool(schema.keys() - _SILENT - {"$ref"})


def _refers(schema: Any) -> bool:
    return "$ref" in dump(schema) or "$dynamicRef" in dump(schema)


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if is_object(found) else {}


def _required(schema: dict[str, Any]) -> set[str]:
    found = schema.get("required")
    return {name for name in found if isinstance(name, str)} if is_list(found) else set()

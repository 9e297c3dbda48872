"""Decide whether a receiver's type admits everything that a sender's type admits.

The answer is conservative: true is a proof, false only means that there is none. A sender sends declared properties,
and undeclared ones where its object is open, but not one that only the receiver declares.
"""

from collections.abc import Callable, Iterator

from mcp_bindgen.diff.rule import Change
from mcp_bindgen.diff.types.equality import Assumptions, marked, stated
from mcp_bindgen.diff.types.scalars import bound_sites, effect_of_bound
from mcp_bindgen.ir.leaves import forms, is_json_schema, members, rest_of
from mcp_bindgen.ir.nodes import (
    ANY,
    Field,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Primitive,
    Protocol,
    Struct,
    TypeRef,
    Union,
)
from mcp_bindgen.ir.scalars import fits, values_of
from mcp_bindgen.ir.spell import is_never


class Containment:
    """Decides it for the types of two revisions.

    `same` says whether a type of each is equivalent. If `strict`, a sender whose object is open may send any property.
    """

    def __init__(
        self,
        sender: Protocol,
        receiver: Protocol,
        same: Callable[[TypeRef, TypeRef], bool],
        *,
        strict: bool = False,
    ) -> None:
        self._strict = strict
        self._sender = sender
        self._receiver = receiver
        self._same = same
        self._known = Assumptions()

    def holds(self, sent: TypeRef, taken: TypeRef) -> bool:
        """Whether the receiver's type admits every value of the sender's type."""
        key = (sent, stated(sent, self._sender), taken, stated(taken, self._receiver))
        return self._known.decide(key, lambda: self._forms(sent, taken))

    def _forms(self, sent: TypeRef, taken: TypeRef) -> bool:
        if is_never(sent):
            return True
        receiving, sending = list(marked(taken, self._receiver, "")), list(marked(sent, self._sender, ""))
        plain = tuple(leaf for leaf, text in receiving if not text)
        admitted = forms(Union(members=plain), self._receiver) if plain else ()
        if admitted == (ANY,) or (receiving == sending and self._is_same(sent, taken)):
            return True
        texts = dict(sending)
        leaves = texts if any(texts.values()) else forms(sent, self._sender)
        return all(
            any(self._single(leaf, other) for other in admitted)
            or any(
                text == texts.get(leaf) and type(leaf) is type(other) and self._is_same(leaf, other)
                for other, text in receiving
                if text
            )
            for part in leaves
            for leaf in (part.each() if isinstance(part, Literal) else (part,))
        )

    def _is_same(self, sent: TypeRef, taken: TypeRef) -> bool:
        """Whether two types are equivalent; what a text refers to may have changed."""
        texts = stated(sent, self._sender), stated(taken, self._receiver)
        return texts[0] == texts[1] and "$ref" not in texts[0] and self._same(sent, taken)

    def _single(self, sent: TypeRef, taken: TypeRef) -> bool:
        a, b = self._sender.resolve(sent), self._receiver.resolve(taken)
        match a, b:
            case _, Primitive(kind=Kind.ANY):
                return True
            case Literal(values=values), Primitive():
                return all(fits(value, b) for value in values)
            case Literal(), Literal():
                return {*a.each()} <= {*b.each()}
            case Primitive(), Primitive() | Literal() if values := values_of(a):
                return all(self._single(value, b) for value in Literal(values=values).each())
            case Primitive(), Primitive():
                kinds = {a.kind, b.kind}
                is_kind = len(kinds) == 1 or (a.kind, b.kind) == (Kind.INTEGER, Kind.NUMBER)
                return is_kind and _within(bound_sites(a, b))
            case ListOf(), ListOf():
                if not _within(bound_sites(a, b)) or a.prefix or b.prefix:
                    return a == b and not (a.prefix or b.prefix)
                return a.bounds.max_items == 0 or self.holds(a.item, b.item)
            case (Struct() | MapOf()), (Struct() | MapOf()):
                return self._objects(a, b)
            case _:
                return False

    def _objects(self, sent: Struct | MapOf, taken: Struct | MapOf) -> bool:
        if not _within(bound_sites(sent, taken)):
            return False
        declared, rest, other = members(sent), rest_of(sent), rest_of(taken)
        if rest is not None and (other is None or not self.holds(rest, other)):
            return False
        for name, field in declared.items():
            wanted = members(taken).get(name)
            type_ = wanted.type if wanted else other
            if not is_never(field.type) and (type_ is None or not self.holds(field.type, type_)):
                return False
            if wanted and wanted.required and not field.required:
                return False
        return all(self._lacking(field, sent, taken) for name, field in members(taken).items() if name not in declared)

    def _lacking(self, field: Field, sent: Struct | MapOf, taken: Struct | MapOf) -> bool:
        """Whether a property that only the receiver declares may be absent."""
        rest = rest_of(sent)
        if field.required:
            return False
        if rest is None or is_never(field.type):
            return rest is None
        is_free = forms(rest, self._sender) == (ANY,) and not is_json_schema(field.wire_name, sent, taken)
        return (is_free and not self._strict) or self.holds(rest, field.type)


def _within(bounds: Iterator[object]) -> bool:
    """Whether no bound excludes more at the receiver."""
    return not any(Change.NARROWS in effect_of_bound(site) for site in bounds)

"""Unions of types that arbitrary schemas make: flat, without repetitions, and of a bounded width."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_bindgen.ir.nodes import ANY, Alias, Definition, Ref, Scalar, TypeRef, Union
from mcp_bindgen.tool_clients.typing.keywords import MAX_CHOICES


class Untypable(Exception):
    """A schema cannot become types; the message says why."""


def any_of(members: Sequence[TypeRef]) -> TypeRef:
    """Return the union of types; with `ANY` among them, it is `ANY`."""
    flat = [one for member in members for one in (member.members if isinstance(member, Union) else (member,))]
    different = tuple(dict.fromkeys(flat))
    if ANY in different:
        return ANY
    return different[0] if len(different) == 1 else Union(members=different)


def distinct(values: Sequence[Any]) -> tuple[Scalar, ...]:
    """Return constants without repetitions; true is not 1, as in JSON."""
    found: dict[tuple[bool, Scalar], Scalar] = {(isinstance(value, bool), value): value for value in values}
    return tuple(found.values())


def refuse_explosions(definitions: Mapping[str, Definition]) -> None:
    """Refuse definitions that expand to too many alternatives, or to themselves: later steps visit each of them.

    Raises:
        Untypable: one of them does.
    """
    widths: dict[str, int] = {}

    def width(type_: TypeRef) -> int:
        match type_:
            case Union(members=members):
                return sum(map(width, members))
            case Ref(name=name):
                if name not in widths:
                    widths[name] = MAX_CHOICES + 1  # the placeholder if the path is recursive
                    found = definitions[name]
                    widths[name] = width(found.type) if isinstance(found, Alias) else 1
                return widths[name]
            case _:
                return 1

    if any(width(Ref(name=name)) > MAX_CHOICES for name in definitions):
        raise Untypable("it has too many alternatives, or is recursive in a way that has no type")

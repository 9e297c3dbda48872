"""Inspects annotations without loading pydantic."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

_SCALARS: Final = (str, int, float, bool, NoneType)
_UNIONS: Final = (Union, UnionType)


def is_plain(annotation: Any) -> bool:
    """Whether a type certainly has a JSON Schema, so that building it can wait until a client asks for it."""
    if annotation is None or any(annotation is scalar for scalar in _SCALARS):  # not every annotation has a hash
        return True
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return all(isinstance(value, str) for value in arguments)
    if origin is dict:
        return arguments[0] is str and is_plain(arguments[1])
    return (origin is list or origin in _UNIONS) and all(map(is_plain, arguments))


def leaves(annotation: Any) -> Iterator[Any]:
    """Iterate over the types that a union, list or tuple is made of."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from leaves(get_args(annotation)[0])
    elif origin in (*_UNIONS, list, tuple):
        for inner in get_args(annotation):
            yield from leaves(inner)
    else:
        yield annotation

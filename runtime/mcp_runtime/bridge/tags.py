"""By what the forms of a union can be told apart: constants, and words that their JSON has."""

from collections.abc import Sequence

from mcp_runtime.bridge.steps import ALWAYS
from mcp_runtime.bridge.table import Constants, Items, Members, Shape


def tag_of(shapes: Sequence[Shape]) -> str:
    """Return the member by whose constants all objects among some shapes can be told apart, empty if none."""
    objects = [shape for shape in shapes if isinstance(shape, Members)]
    if not objects or any(not isinstance(shape, Members | Items) for shape in shapes):
        return ""
    for name in objects[0].required:
        tags = [tag(shape, name) for shape in objects]
        if None not in tags and len(set(tags)) == len(tags):
            return name
    return ""


def tag(shape: Shape, key: str) -> str | None:
    """Return the constant that a shape demands of a member, None if it demands none."""
    if not isinstance(shape, Members) or key not in shape.required:
        return None
    constant = shape.members.get(key)
    if not isinstance(constant, Constants) or len(constant.values) != 1:
        return None
    value = constant.values[0]
    return value if isinstance(value, str) else None


def spelled(name: str) -> bytes:
    """Spell a string as JSON."""
    return f'"{name}"'.encode()


def words_of(shape: Shape) -> frozenset[bytes] | None:
    """Return a word that every JSON text of a shape has, `ALWAYS` if there is none."""
    if isinstance(shape, Members) and shape.required:
        return frozenset((spelled(shape.required[-1]),))
    return ALWAYS

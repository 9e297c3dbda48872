"""How to distinguish the variants of a union: by constants, and by words that their JSON contains."""

from collections.abc import Sequence

from mcp_runtime.bridge.steps import ALWAYS
from mcp_runtime.bridge.table import Constants, Items, Members, Shape


def tag_of(shapes: Sequence[Shape]) -> str:
    """Return the property whose constants distinguish all objects among some shapes, or an empty string."""
    objects = [shape for shape in shapes if isinstance(shape, Members)]
    if not objects or any(not isinstance(shape, Members | Items) for shape in shapes):
        return ""
    for name in objects[0].required:
        tags = [tag(shape, name) for shape in objects]
        if None not in tags and len(set(tags)) == len(tags):
            return name
    return ""


def tag(shape: Shape, key: str) -> str | None:
    """Return the constant that a shape requires of a property, or None."""
    if not isinstance(shape, Members) or key not in shape.required:
        return None
    constant = shape.members.get(key)
    if not isinstance(constant, Constants) or len(constant.values) != 1:
        return None
    value = constant.values[0]
    return value if isinstance(value, str) else None


def spelled(name: str) -> bytes:
    """Encode a string as JSON."""
    return f'"{name}"'.encode()


def words_of(shape: Shape) -> frozenset[bytes] | None:
    """Return words of which every JSON text of a shape contains one, `ALWAYS` if there are none."""
    if isinstance(shape, Members) and shape.required:
        return frozenset((spelled(shape.required[-1]),))
    return ALWAYS

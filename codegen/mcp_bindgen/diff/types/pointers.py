"""Find definitions and their properties in the schema.json that a revision was read from."""

from collections.abc import Iterator

from mcp_bindgen.ir.json_values import escaped, unescaped
from mcp_bindgen.ir.nodes import Definition, ListOf, MapOf, Protocol, Ref, Struct, TypeRef, Union


class Pointers:
    """JSON pointers (RFC 6901) into the schema.json of one revision.

    Inline objects and unions are found in the property that contains them. Pointers stop at unions and intersections:
    the IR does not record the order of their members. A revision that was read from a schema.ts alone is assumed to
    keep its definitions under ``$defs``.
    """

    def __init__(self, protocol: Protocol) -> None:
        container = f"/{protocol.container or '$defs'}"
        self._protocol = protocol
        self._inline: dict[str, str] = {}
        self._container = container
        for name, definition in protocol.definitions.items():
            for pointer, type_ in self._slots(name, definition):
                for deeper, found in self._held(pointer, type_):
                    self._inline.setdefault(found, deeper)

    def of(self, name: str, member: str = "") -> str:
        """Return the pointer of a definition or of one of its properties."""
        here = self._inline.get(name, f"{self._container}/{escaped(name)}")
        return f"{here}/properties/{escaped(member)}" if member and not self._is_left_out(name, member) else here

    def rooted(self, pointer: str) -> str:
        """Convert a pointer that begins with a definition's name in the IR to a pointer into this file."""
        _, _, name, *rest = pointer.split("/")
        here = unescaped(name)
        if here not in self._protocol.definitions and self._protocol.container:
            return ""  # a constant of schema.ts
        start = self.of(here)
        return start if self._is_left_out(here, rest[1] if len(rest) > 1 else "") else "/".join([start, *rest])

    def _is_left_out(self, name: str, member: str) -> bool:
        """Whether the file does not declare a property directly in the definition.

        It is below the ``allOf`` of an inline intersection, or it is the `_meta` that the official converter omits from
        inline params.
        """
        definition = self._protocol.definitions.get(name)
        if not isinstance(definition, Struct):
            return False
        return bool(definition.holder and definition.bases) or (
            definition.holder.endswith(".params") and member == "_meta"
        )

    def _slots(self, name: str, definition: Definition) -> Iterator[tuple[str, TypeRef]]:
        if not isinstance(definition, Struct):
            yield self.of(name), definition.type
            return
        for field in definition.fields:
            if field.wire_name in definition.own:
                yield self.of(name, field.wire_name), field.type
        if definition.extra is not None:
            yield f"{self.of(name)}/additionalProperties", definition.extra

    def _held(self, pointer: str, type_: TypeRef) -> Iterator[tuple[str, str]]:
        """Iterate over the inline definitions in a type, each with its pointer."""
        match type_:
            case Ref(name=name):
                definition = self._protocol.definitions[name]
                if definition.holder:
                    yield pointer, name
            case ListOf(item=item):
                yield from self._held(f"{pointer}/items", item)
            case MapOf(value=value):
                yield from self._held(f"{pointer}/additionalProperties", value)
            case Union(members=members):
                for member in members:
                    yield from ((pointer, name) for _, name in self._held(pointer, member))
            case _:
                return

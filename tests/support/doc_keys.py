"""Which lines of docs.toml describe something, so that tests find those that describe nothing."""

from collections.abc import Iterator

from mcp_bindgen.ir.document import DocBook, Key, owners
from mcp_bindgen.ir.nodes import Protocol, Struct


def used_keys(protocol: Protocol, book: DocBook) -> Iterator[Key]:
    """Iterate over the keys of the book that describe something in this revision."""
    for name, definition in protocol.definitions.items():
        if found := book.definition(protocol.revision, name):
            yield found[0]
        if isinstance(definition, Struct):
            for field in definition.fields:
                if found := book.property(protocol.revision, owners(definition, protocol), field.wire_name):
                    yield found[0]
    for constant in protocol.constants:
        if found := book.constant(constant.name):
            yield found[0]

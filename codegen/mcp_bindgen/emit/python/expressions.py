"""Expressions of Python: spelled types, bases and defaults, which know what a page must import to use them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that a page imports before it uses it, by its path: ``typing.Annotated``, ``mcp_runtime.model``."""

    path: str

    def __str__(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Defined:
    """The class or alias of a definition, and the sibling module that holds it."""

    module: str
    name: str

    def __str__(self) -> str:
        return self.name


Part: TypeAlias = str | Symbol | Defined


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression: source text, and between it the names that a page may have to import.

    Printed by a template (``{{ field.type }}``), it records the imports of the page. As a string it has the names
    without their modules, for documents that import nothing.
    """

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


def expression(*parts: Part | Expression) -> Expression:
    """Join text, names and expressions to one expression."""
    flat: list[Part] = []
    for part in parts:
        flat += part.parts if isinstance(part, Expression) else (part,)
    return Expression(tuple(flat))


def joined(separator: str, expressions: Iterable[Expression]) -> Expression:
    """Join expressions, with a separator between them."""
    parts: list[Part] = []
    for index, one in enumerate(expressions):
        parts += [separator, *one.parts] if index else one.parts
    return Expression(tuple(parts))

"""Python expressions: types, bases and defaults as text, with the imports that they need."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that a page must import, by its path: ``typing.Annotated``, ``mcp_runtime.core.model``."""

    path: str

    def __str__(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Defined:
    """The class or alias of a definition, and the sibling module that contains it."""

    module: str
    name: str

    def __str__(self) -> str:
        return self.name


Part: TypeAlias = str | Symbol | Defined


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression: source text and names that a page may have to import.

    When a template prints it (``{{ field.type }}``), the page's imports are recorded. Converted to a string, it has the
    names without their modules, for documents without imports.
    """

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


def expression(*parts: Part | Expression) -> Expression:
    """Join text, names and expressions into one expression."""
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

"""The interfaces between parts of the scanner: reading an expression, or a block of statements."""

import ast
from collections.abc import Sequence
from typing import Protocol

from mcp_bindgen.impact.frame import Frame
from mcp_bindgen.impact.types import Type


class ExpressionReader(Protocol):
    """Reads the expressions of one frame."""

    frame: Frame

    def type_of(self, node: ast.expr) -> Type:
        """Return the type of an expression."""
        ...

    def annotation(self, node: ast.expr) -> Type:
        """Return the type that an annotation describes."""
        ...

    def lambda_result(self, node: ast.Lambda, arguments: tuple[Type, ...]) -> Type:
        """Return the type that a lambda returns for arguments of those types."""
        ...


class StatementReader(Protocol):
    """Reads the statements of one frame."""

    frame: Frame

    @property
    def reader(self) -> ExpressionReader:
        """The reader of the expressions of the frame."""
        ...

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Read statements in order."""
        ...

    def within(self, frame: Frame) -> "StatementReader":
        """Return a reader of a frame inside this one."""
        ...

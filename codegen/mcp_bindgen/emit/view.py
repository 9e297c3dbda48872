"""What the templates see: plain text in the order of the page, every decision taken.

The attributes of these classes are the documented context of user templates (docs/templates.md).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One top-level statement of a module: its first line, its docstring and the lines below."""

    name: str
    head: str
    doc: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Names that a module takes from a sibling module."""

    module: str
    names: tuple[str, ...]

    @property
    def listed(self) -> str:
        """The names as they stand in an import statement."""
        return ", ".join(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One generated file: `template` is the name of the template that lays it out."""

    path: str
    template: str
    header: str
    doc: str
    prelude: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()
    deferred: tuple[Import, ...] = ()
    items: tuple[Item, ...] = ()
    exports: tuple[str, ...] = ()

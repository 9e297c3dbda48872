"""Render pages through the templates and format them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_bindgen.diagnostics import InputError, Location
from mcp_bindgen.emit.view import Page
from mcp_bindgen.paths import shipped

if TYPE_CHECKING:
    from jinja2 import Environment

LINE_LENGTH = 120


def environment(templates: Path | None) -> "Environment":
    """Return the environment of the shipped templates; those of the user go first, by name."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined

    folders = [folder for folder in (templates, shipped("templates")) if folder]
    return Environment(
        loader=ChoiceLoader([FileSystemLoader(folder) for folder in folders]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(pages: Iterable[Page], templates: Path | None) -> dict[str, str]:
    """Render pages to formatted source text, by path.

    Raises:
        InputError: a template of the user cannot be rendered, or what it gives is not Python.
    """
    environment_ = environment(templates)
    files: dict[str, str] = {}
    for page in pages:
        where = Location(source=str(_place(page.template, templates)))
        try:
            text = environment_.get_template(page.template).render(page=page)
        except Exception as error:  # An expression in a template of the user's may raise anything.
            raise InputError.at(where, f"{type(error).__name__}: {error}") from None
        files[page.path] = format_source(text, where)
    return files


def _place(template: str, templates: Path | None) -> Path:
    """Return the file that a template is read from."""
    own = templates / template if templates else None
    return own if own and own.is_file() else shipped("templates") / template


def format_source(text: str, where: Location) -> str:
    """Format source text as every generated file is.

    Raises:
        InputError: it is no Python.
    """
    from black import Mode, format_str
    from black.mode import TargetVersion
    from black.parsing import InvalidInput

    try:
        return format_str(text, mode=Mode(target_versions={TargetVersion.PY311}, line_length=LINE_LENGTH))
    except InvalidInput as error:
        raise InputError.at(where, f"what it renders is not Python: {error}") from None

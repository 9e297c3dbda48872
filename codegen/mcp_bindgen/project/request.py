"""The request to `generate`: the command line, completed by the project's settings."""

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from mcp_bindgen.ingest.extensions import ExtensionTable, read_table, shipped_extensions
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import is_url, public_name
from mcp_bindgen.ir.diagnostics import InputError, Location
from mcp_bindgen.project.settings import REVISION_FIELD, Extra, Settings, is_package_name

DEFAULT_PACKAGE = "mcp_bindings"
DEFAULT_OUT = "generated"
EXTENSIONS = "extensions"
"""The folder of the packages of the shipped extensions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to generate, from which sources, and to which place.

    With a schema and no revision, the revision is the one that the schema states. `named` are the revisions that the
    user named. `chosen_place` is true if the user chose the package's place; then the whole package is generated.
    `partial` is true if the package may also contain other revisions, which are kept. `extra` are templates of the
    project `project` in addition to those of the package.
    """

    revisions: tuple[str, ...]
    named: tuple[str, ...]
    schema: tuple[str, ...]
    home: Path
    package: str
    templates: Path | None
    source_lines: bool
    project: Path
    extra: tuple[Extra, ...]
    chosen_place: bool
    partial: bool
    options: tuple[str, ...]
    """The options that repeat the request, independent of the project's location."""
    extension: ExtensionTable | None = None
    """The extension whose package is generated instead of revisions."""

    def command(self, revision: str) -> str:
        """Return the command that regenerates a revision's package.

        In the default place it covers one revision; in a chosen place, all revisions of the package.
        """
        revisions = self.named if self.chosen_place else (revision,)
        return " ".join(["mcp-bindgen generate", *map(shlex.quote, revisions), *self.options])

    @property
    def extensions(self) -> tuple[ExtensionTable, ...]:
        """The shipped extensions whose packages belong to the whole output."""
        return () if self.chosen_place or self.partial or self.extension else tuple(shipped_extensions().values())

    @property
    def root_command(self) -> str:
        """The command that regenerates the package that contains several revisions."""
        return self.command("") if self.chosen_place else "mcp-bindgen generate"


def settle(asked: Settings, settings: Settings, extension: str | None = None) -> Request:
    """Complete the arguments, as settings, from those of the project; the command line takes precedence.

    `extension` is the extension to generate instead of revisions, as ``ID`` or ``ID=FILE``.

    Raises:
        InputError: the arguments contradict each other, the templates are not a directory, or an extra template's
            output path is invalid.
    """
    if extension is not None:
        return _extension_request(asked, extension, settings)
    schema = asked.schema or settings.schema
    stated = asked.revisions or (() if asked.schema else settings.revisions)
    revisions = tuple(dict.fromkeys(stated))
    if schema and len(revisions) > 1:
        origin = "--schema" if asked.schema else f"`schema` in {settings.source}"
        raise InputError.at(origin, f"describes one revision, but {len(revisions)} were named")
    package = asked.package or settings.package
    if package is not None and not is_package_name(package):
        raise InputError.at("--package", f"{package!r} is not a package name: write identifiers joined by dots")
    templates = asked.templates or settings.templates
    if templates is not None and not templates.is_dir():
        raise InputError.at(templates, "templates: not a directory")
    chosen = any((asked.out, settings.out, package))
    package = package or DEFAULT_PACKAGE
    base = settings.source.parent if settings.source and not asked.package else Path()
    out = asked.out or settings.out or (base if chosen else Path(DEFAULT_OUT))
    home = out.joinpath(*package.split("."))
    every = revisions or (() if schema else tuple(released()))
    _refuse_misplaced(settings, len(every), home)
    return Request(
        revisions=every,
        named=tuple(dict.fromkeys(asked.revisions)),
        schema=schema,
        home=home,
        package=package,
        templates=templates,
        source_lines=asked.source_lines or settings.source_lines,
        project=settings.folder,
        extra=settings.extra,
        chosen_place=chosen,
        partial=not chosen and bool(revisions or schema),
        options=tuple(_options(asked)),
    )


def _extension_request(asked: Settings, stated: str, settings: Settings) -> Request:
    """Complete the arguments of a run that generates an extension."""
    if asked.schema:
        raise InputError.at("--schema", "describes a revision; give the file of an extension as --extension ID=FILE")
    table = extension_table(stated, settings)
    revisions = tuple(dict.fromkeys(asked.revisions)) or ((table.revision,) if table.revision else ())
    if len(revisions) != 1 or revisions[0] not in released():
        known = ", ".join(released())
        raise InputError.at("REVISION", f"name the one revision that {table.id} extends; the released ones are {known}")
    plain = settle(replace(asked, revisions=revisions), replace(settings, schema=(), extra=()))
    if not plain.chosen_place and table.schema:
        raise InputError.at("--package", f"name a package for {table.id}, such as acme.orders")
    home = plain.home if plain.chosen_place else plain.home / EXTENSIONS / table.module
    file = f"={from_here(table.schema)}" if "=" in stated else ""
    option = f"--extension {shlex.quote(table.id + file)}"
    schema = (table.schema,) if table.schema else ()
    options = (option, *plain.options)
    return replace(plain, named=revisions, schema=schema, home=home, options=options, extension=table)


def extension_table(stated: str, settings: Settings) -> ExtensionTable:
    """Return the table of the extension that an option names as ``ID`` or ``ID=FILE``.

    Raises:
        InputError: there is no such extension, or its table is not valid.
    """
    id, _, file = stated.partition("=")
    where = str(settings.source or "pyproject.toml")
    if id in settings.extensions:
        table = read_table(id, settings.extensions[id], where)
        if table.schema and not is_url(table.schema):
            table = replace(table, schema=str(settings.folder / table.schema))
    elif file or id in shipped_extensions():
        table = shipped_extensions().get(id) or read_table(id, {}, where)
    else:
        known = ", ".join(shipped_extensions())
        raise InputError.at(id, f"no such extension; the shipped ones are {known}; give your own as ID=FILE")
    if not file and not table.schema and id not in shipped_extensions():
        raise InputError.at(table.row("schema"), "name its schema.ts, here or as --extension ID=FILE")
    return replace(table, schema=file or table.schema)


def _refuse_misplaced(settings: Settings, revisions: int, home: Path) -> None:
    """Reject an output path of an extra template that cannot be written or would be removed again."""
    for extra in settings.extra:
        where = Location(source=str(settings.source))
        place = (settings.folder / extra.path).resolve()
        if not extra.template.is_file():
            raise InputError.at(extra.template, "the template of an extra file does not exist")
        if not place.is_relative_to(settings.folder.resolve()):
            raise InputError.at(where, f"extra: {extra.path}: outside the project")
        if place.is_relative_to(home.resolve()):
            raise InputError.at(where, f"extra: {extra.path}: inside {home}, which contains only bindings")
        if revisions > 1 and REVISION_FIELD not in extra.path:
            message = f"extra: {extra.path}: with several revisions, the path must contain {REVISION_FIELD}"
            raise InputError.at(where, message)


def stable_name(place: str, base: Path) -> str:
    """Return a machine-independent name of a source: relative to `base`, or otherwise the file name."""
    if is_url(place):
        return public_name(place)
    path = PurePath(place)
    if not path.is_absolute():
        return path.as_posix()
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.name


def _options(asked: Settings) -> list[str]:
    """Return the options as typed in the current folder: absolute paths differ between machines."""
    stated = [*(("--schema", place) for place in asked.schema), ("--out", asked.out)]
    stated += [("--package", asked.package), ("--templates", asked.templates)]
    options = [f"{option} {shlex.quote(from_here(value))}" for option, value in stated if value]
    return [*options, "--source-lines"] if asked.source_lines else options


def from_here(value: str | Path) -> str:
    """Return an absolute path relative to the current folder; anything else unchanged."""
    if isinstance(value, str) and is_url(value):
        return public_name(value)
    return Path(os.path.relpath(value)).as_posix() if Path(value).is_absolute() else PurePath(value).as_posix()

"""What `generate` is asked to do: the command line, completed by the settings of the project."""

import shlex
from dataclasses import dataclass
from pathlib import Path, PurePath

import typer

from mcp_bindgen.diagnostics import InputError, Location
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import public_name
from mcp_bindgen.settings import REVISION_FIELD, Extra, Settings, is_package_name

DEFAULT_PACKAGE = "mcp_bindings"
DEFAULT_OUT = "generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of `generate` as they were typed."""

    revisions: tuple[str, ...] = ()
    schema: tuple[str, ...] = ()
    out: Path | None = None
    package: str | None = None
    templates: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to generate, from what, and where to.

    No revision together with a schema means the one that the schema states. `named` are those revisions that the user
    named. `chosen_place` is true when the user chose where the package goes; then the whole package is ours. `partial`
    is true when the package may also hold other revisions, which stay as they are. `extra` are the templates of the
    project `project` beside those of the package.
    """

    revisions: tuple[str, ...]
    named: tuple[str, ...]
    schema: tuple[str, ...]
    home: Path
    package: str
    templates: Path | None
    project: Path
    extra: tuple[Extra, ...]
    chosen_place: bool
    partial: bool
    options: tuple[str, ...]
    """The options by which the same can be asked for again, wherever the project lies."""

    def command(self, revision: str) -> str:
        """Spell the command that generates the package of a revision again.

        In its usual place it stands by itself; in a chosen one it comes and goes with its neighbours.
        """
        revisions = self.named if self.chosen_place else (revision,)
        return " ".join(["mcp-bindgen generate", *map(shlex.quote, revisions), *self.options])

    @property
    def root_command(self) -> str:
        """The command that generates the package around several revisions again."""
        return self.command("") if self.chosen_place else "mcp-bindgen generate"


def settle(asked: Asked, settings: Settings) -> Request:
    """Complete the arguments from the settings; the command line wins.

    Raises:
        InputError: the templates are not a directory, or an extra template cannot be rendered where it should.
        typer.BadParameter: the arguments contradict each other.
    """
    schema = asked.schema or settings.schema
    stated = asked.revisions or (() if asked.schema else settings.revisions)
    revisions = tuple(dict.fromkeys(stated))
    if schema and len(revisions) > 1:
        origin = "--schema" if asked.schema else f"`schema` in {settings.source}"
        raise typer.BadParameter(f"{origin} describes one revision, but {len(revisions)} are named")
    package = asked.package or settings.package
    if package is not None and not is_package_name(package):
        raise typer.BadParameter(
            f"{package!r} is no package name: write identifiers joined by dots", param_hint="--package"
        )
    templates = asked.templates or settings.templates
    if templates is not None and not templates.is_dir():
        raise InputError.at(Location(source=str(templates)), "templates: not a directory")
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
        project=settings.folder,
        extra=settings.extra,
        chosen_place=chosen,
        partial=not chosen and bool(revisions or schema),
        options=tuple(_options(asked)),
    )


def _refuse_misplaced(settings: Settings, revisions: int, home: Path) -> None:
    """Refuse the output of an extra template where it cannot be written, or would be removed again."""
    for extra in settings.extra:
        where = Location(source=str(settings.source))
        place = (settings.folder / extra.path).resolve()
        if not extra.template.is_file():
            raise InputError.at(Location(source=str(extra.template)), "the template of an extra file is not there")
        if not place.is_relative_to(settings.folder.resolve()):
            raise InputError.at(where, f"extra: {extra.path}: outside the project")
        if place.is_relative_to(home.resolve()):
            raise InputError.at(where, f"extra: {extra.path}: inside {home}, which holds nothing but bindings")
        if revisions > 1 and REVISION_FIELD not in extra.path:
            message = (
                f"extra: {extra.path}: written once per revision, so with several it must contain {REVISION_FIELD}"
            )
            raise InputError.at(where, message)


def stable_name(place: str, base: Path) -> str:
    """Name a source in a way that is the same on every machine: relative to `base`, else without its folders."""
    if place.startswith(("http://", "https://")):
        return public_name(place)
    path = PurePath(place)
    if not path.is_absolute():
        return path.as_posix()
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.name


def _options(asked: Asked) -> list[str]:
    """An absolute folder is one of this machine, so no file says it."""
    options = [f"--schema {shlex.quote(stable_name(place, Path.cwd()))}" for place in asked.schema]
    if asked.out and not asked.out.is_absolute():
        options.append(f"--out {shlex.quote(asked.out.as_posix())}")
    if asked.package:
        options.append(f"--package {shlex.quote(asked.package)}")
    if asked.templates and not asked.templates.is_absolute():
        options.append(f"--templates {shlex.quote(asked.templates.as_posix())}")
    return options

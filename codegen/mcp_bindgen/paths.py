"""The paths of the data files shipped with the generator: the schema, the templates and the documentation."""

from functools import cache
from pathlib import Path


@cache
def shipped(folder: str) -> Path:
    """Return a shipped folder (``schema``, ``templates``, ``docs``): in a wheel or in the repository."""
    package = Path(__file__).resolve().parent
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder


def shown(path: Path | str) -> str:
    """Return a path relative to the current folder if it is below that."""
    here = Path.cwd()
    whole = here / path
    return (whole.relative_to(here) if whole.is_relative_to(here) else Path(path)).as_posix()

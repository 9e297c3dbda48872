"""The paths of the data files shipped with the generator: the schema and the templates."""

from functools import cache
from pathlib import Path


@cache
def shipped(folder: str) -> Path:
    """Return a shipped folder (``schema``, ``templates``): from the package in a wheel, else from the repository."""
    package = Path(__file__).resolve().parent
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder

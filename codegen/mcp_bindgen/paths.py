"""Where the generator finds what travels with it: the schema and the templates."""

from functools import cache
from pathlib import Path


@cache
def shipped(folder: str) -> Path:
    """Return a shipped folder (``schema``, ``templates``): in the package of a wheel, else at the repository's top."""
    package = Path(__file__).resolve().parent
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder

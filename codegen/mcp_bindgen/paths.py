"""The paths of the data files shipped with the generator: the schema, the templates and the documentation."""

from functools import cache
from pathlib import Path


@cache
def shipped(folder: str) -> Path:
    """Return a shipped folder (``schema``, ``templates``, ``docs``): in a wheel or in the repository."""
    package = Path(__file__).resolve().parent
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder

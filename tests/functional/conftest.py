"""Fixtures of the functional tests: a place for generated packages."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from functional.generated import install


@pytest.fixture
def unique(tmp_path: Path) -> Callable[[Mapping[str, str]], Any]:
    """Installs generated files as packages with unique names."""
    names = (f"acme_{abs(hash(tmp_path))}_{number}" for number in itertools.count())
    return lambda files: install(files, tmp_path, next(names))

"""One build and its environments for all tests of this folder."""

import sys
import tomllib

import pytest

from support.distributions import Distribution, Environment, empty_environment, run
from support.documents import ROOT


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    """Build the sdist, and the wheel from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return Distribution(sdist=sdist, wheel=wheel)


@pytest.fixture(scope="session")
def bare(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel and its base dependencies only."""
    environment = empty_environment(tmp_path_factory.mktemp("bare"))
    environment.install(distribution.wheel)
    return environment


@pytest.fixture(scope="session")
def complete(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel, the extras for users, and what type checkers look for."""
    environment = empty_environment(tmp_path_factory.mktemp("complete"))
    # jsonschema has no types of its own: a type checker takes them from a package that nothing needs at run time.
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    extras = ",".join(sorted(declared.keys() - {"dev"}))
    environment.install(distribution.wheel, f"[{extras}]", "types-jsonschema", "pytest")
    return environment

"""One build and its environments for all tests of this folder."""

import pytest

from support.distributions import Distribution, Environment, Release, empty_environment
from support.documents import ROOT


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Build the sdist of each distribution, and the wheel from the sdist."""
    out = tmp_path_factory.mktemp("dist")
    return Release(
        bindings=Distribution.built("mcp-bindings", ROOT / "runtime", out),
        bindgen=Distribution.built("mcp-bindgen", ROOT, out),
    )


@pytest.fixture(scope="session")
def bare(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the bindings and their base dependencies only."""
    environment = empty_environment(tmp_path_factory.mktemp("bare"))
    environment.install(release.bindings.requirement())
    return environment


@pytest.fixture(scope="session")
def complete(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with both distributions, all extras, and what type checkers look for."""
    environment = empty_environment(tmp_path_factory.mktemp("complete"))
    # jsonschema has no types of its own: a type checker takes them from a package that nothing needs at run time.
    both = release.bindings.requirement("all"), release.bindgen.requirement("impact")
    environment.install(*both, "types-jsonschema", "pytest")
    return environment

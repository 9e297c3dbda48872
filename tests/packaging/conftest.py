"""One build and its environments for all tests of this folder."""

from collections.abc import Callable
from functools import cache

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
    both = release.bindings.requirement("all"), release.bindgen.requirement("impact,openapi")
    environment.install(*both, "types-jsonschema", "pytest")
    return environment


@pytest.fixture(scope="session")
def installed(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Callable[[frozenset[str]], Environment]:
    """Return the environment with both distributions, as the README installs them, and some extras of the bindings."""

    @cache
    def environment(extras: frozenset[str]) -> Environment:
        made = empty_environment(tmp_path_factory.mktemp("installed"))
        named = ",".join(sorted(extras))
        made.install(release.bindings.requirement(named), release.bindgen.requirement(), "pytest")
        return made

    return environment

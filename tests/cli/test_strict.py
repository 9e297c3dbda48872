"""What no type expresses: accepted loosely with a warning, and refused with --strict."""

from pathlib import Path

import pytest

from support.command import Cli
from support.samples import HANDSHAKE_TS

REVISION = 'export const LATEST_PROTOCOL_VERSION = "2099-01-01";'
OPAQUE = f"{REVISION}{HANDSHAKE_TS}export interface Thing {{ name: `a-${{string}}` }}"
OPAQUE_FACT = "schema.ts:6: Thing.name: no type expresses '`a-${string}`'; string is accepted"


@pytest.fixture(autouse=True)
def schema(tmp_path: Path) -> None:
    """A schema.ts in the current folder with one opaque fact."""
    (tmp_path / "schema.ts").write_text(OPAQUE, "utf-8")


def test_it_generates_with_a_warning(cli: Cli) -> None:
    done = cli("generate", "--schema", "schema.ts", "--verbose")
    assert f"warning: {OPAQUE_FACT}" in done.err


@pytest.mark.parametrize("command", [("generate", "--schema", "schema.ts"), ("diff", "schema.ts", "2026-07-28")])
def test_strict_refuses_it(cli: Cli, command: tuple[str, ...], tmp_path: Path) -> None:
    done = cli(*command, "--strict", expect=2)
    assert f"error: {OPAQUE_FACT}" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["schema.ts"]


def test_strict_ignores_the_cache(cli: Cli) -> None:
    cli("generate", "--schema", "schema.ts")
    cli("generate", "--schema", "schema.ts", "--strict", expect=2)


def test_strict_accepts_an_exact_schema(cli: Cli) -> None:
    cli("generate", "2024-11-05", "--strict")

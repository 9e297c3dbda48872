"""An interrupted run leaves the old bindings intact, and the next run cleans up after it."""

import json
import signal
from pathlib import Path

import pytest

from mcp_bindgen.emit.tree import STAGING
from support.command import files_below, start
from support.samples import HANDSHAKE

pytestmark = pytest.mark.slow

ARGUMENTS = ("generate", "2099-01-01", "--schema", "schema.json", "--package", "acme")

WHILE_STAGING = f"""
import pathlib, time
write = pathlib.Path.write_bytes
def slowly(path, data):
    write(path, data)
    if {STAGING!r} in str(path):
        print("now", flush=True)
        time.sleep(60)
pathlib.Path.write_bytes = slowly
"""
BETWEEN_TWO_STEPS = f"""
import pathlib, time
from mcp_bindgen.emit import swap
swap.exchange = lambda one, other: False
rename = pathlib.Path.rename
def slowly(path, target):
    rename(path, target)
    if str(target).endswith({STAGING + "old"!r}):
        print("now", flush=True)
        time.sleep(60)
pathlib.Path.rename = slowly
"""


@pytest.fixture
def before(tmp_path: Path) -> dict[str, bytes]:
    """Existing bindings, and a schema that has changed since."""
    (tmp_path / "schema.json").write_text(json.dumps({"$defs": HANDSHAKE}), "utf-8")
    assert start(*ARGUMENTS, cwd=tmp_path).wait() == 0
    (tmp_path / "schema.json").write_text(json.dumps({"$defs": {**HANDSHAKE, "More": {"type": "string"}}}), "utf-8")
    return files_below(tmp_path / "acme")


@pytest.mark.parametrize("program", [WHILE_STAGING, BETWEEN_TWO_STEPS])
def test_interrupted_by_the_user(tmp_path: Path, before: dict[str, bytes], program: str) -> None:
    process = start(*ARGUMENTS, program=program, cwd=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (130, "mcp-bindgen: interrupted\n")
    assert files_below(tmp_path / "acme") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cache", "acme", "schema.json"]


def test_killed_while_writing(tmp_path: Path, before: dict[str, bytes]) -> None:
    process = start(*ARGUMENTS, program=WHILE_STAGING, cwd=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    process.kill()
    process.communicate()
    assert files_below(tmp_path / "acme") == before
    assert start(*ARGUMENTS, cwd=tmp_path).wait() == 0
    assert files_below(tmp_path / "acme") != before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cache", "acme", "schema.json"]


def test_killed_between_the_two_steps_of_a_system_that_cannot_exchange(
    tmp_path: Path, before: dict[str, bytes]
) -> None:
    process = start(*ARGUMENTS, program=BETWEEN_TWO_STEPS, cwd=tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    process.kill()
    process.communicate()
    assert files_below(tmp_path / f".acme{STAGING}old") == before
    assert start(*ARGUMENTS, cwd=tmp_path).wait() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".cache", "acme", "schema.json"]


def test_two_runs_at_once_wait_for_each_other(tmp_path: Path, before: dict[str, bytes]) -> None:
    first = start(*ARGUMENTS, program=WHILE_STAGING.replace("60", "0.5"), cwd=tmp_path)
    assert first.stdout is not None
    assert first.stdout.readline() == "now\n"
    second = start(*ARGUMENTS, cwd=tmp_path)
    second.communicate()
    first.communicate()
    assert (first.returncode, second.returncode) == (0, 0)
    assert start(*ARGUMENTS, "--check", cwd=tmp_path).wait() == 0

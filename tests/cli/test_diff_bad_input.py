"""`mcp-bindgen diff` with sides that cannot be compared: what is wrong and where, in a few lines, and exit status 2."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.command import Cli
from support.samples import HANDSHAKE, HANDSHAKE_TS

GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@example.org")


def schema(**definitions: Any) -> bytes:
    return json.dumps({"$defs": {**HANDSHAKE, **definitions}}).encode()


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


CASES: Mapping[str, tuple[str, bytes, str]] = {
    "a cycle of aliases": ("s.json", schema(A=ref("B"), B=ref("A")), "'A' is defined in terms of itself"),
    "a cycle of bases": (
        "s.ts",
        f"{HANDSHAKE_TS} interface A extends A {{ }}".encode(),
        "is defined in terms of itself",
    ),
    "a definition that is not there": ("s.json", schema(A=ref("Nowhere")), "has no target in this file"),
    "not an MCP schema": ("s.json", b'{"$defs": {"A": {"type": "string"}}}', "not an MCP schema"),
    "no schema at all": ("s.json", b"[1, 2]", "a schema is a JSON object"),
    "no JSON": ("s.json", b'{"$defs": ', "s.json:1"),
    "nothing": ("s.ts", b"", "s.ts"),
    "binary": ("s.json", bytes(range(256)), "this is a binary file"),
    "a hostile name": ("s.json", schema(**{"[red]x\x1b[31m": ref("y")}), r"x\x1b[31m"),
}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_an_unusable_file_is_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, swapped: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    name, data, expected = CASES[case]
    Path(name).write_bytes(data)
    sides = ("2024-11-05", f"./{name}")
    refused(cli("diff", *(sides[::-1] if swapped else sides), expect=2), expected)


def refused(outcome: Any, expected: str) -> None:
    assert expected in outcome.err
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) < 8
    assert "Traceback" not in outcome.err
    assert "\x1b" not in outcome.err


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A commit with a schema and a file that is not a schema."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_bytes(schema())
    (tmp_path / "picture.json").write_bytes(bytes(range(256)))
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
        subprocess.run([*GIT, *command], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ("nobody:schema.json", "git cannot show it: invalid object name 'nobody'"),
        ("HEAD:other.json", "git cannot show it: path 'other.json' does not exist"),
        ("HEAD~5:schema.json", "git cannot show it"),
        ("HEAD:picture.json", "a binary file"),
        ("HEAD:", "git"),
        (".", "."),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_git_cannot_show_is_refused(cli: Cli, side: str, expected: str) -> None:
    refused(cli("diff", side, "HEAD:schema.json", expect=2), expected)


def test_a_commit_outside_any_repository_is_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    refused(cli("diff", "HEAD:schema.json", "2024-11-05", expect=2), "not a git repository")


def test_a_commit_without_git_is_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(cli("diff", "HEAD:schema.json", "2024-11-05", expect=2), "git cannot be run")


@pytest.mark.usefixtures("repository")
def test_a_file_of_a_commit_is_compared(cli: Cli) -> None:
    """The same commands with valid input: the refusals above have the right cause."""
    found = cli("diff", "HEAD:schema.json", "schema.json", "--format", "json").json["findings"]
    assert [f for f in found if f["view"] == "wire"] == []

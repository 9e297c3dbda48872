"""Completion: what the command offers, and a bash that has installed it as a user does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_bindgen.diff.rules import CATALOGUE
from mcp_bindgen.ingest.revisions import released
from support.command import Cli

RULES = [rule.id for rule in CATALOGUE]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder whose .bashrc loads the completion."""
    folder = tmp_path_factory.mktemp("home")
    done = bash("mcp-bindgen --install-completion\nexit $?", folder)
    assert done.returncode == 0, done.stderr
    assert "bash completion installed" in done.stdout
    return folder


def bash(script: str, home: Path) -> "subprocess.CompletedProcess[str]":
    path = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    variables = {"HOME": str(home), "PATH": path, "TERM": "dumb"}
    command = ["bash", "--noprofile", "--norc", "-c", script]
    return subprocess.run(command, env=variables, cwd=home, capture_output=True, text=True, check=False, timeout=60)


def completions(home: Path, *words: str) -> list[str]:
    """Return what bash offers for the last word of a command line."""
    line = " ".join(words)
    quoted = " ".join(f"'{word}'" for word in words)
    done = bash(
        "source ~/.bashrc\n"
        f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}"
        f" COMP_LINE='{line}' COMP_POINT={len(line)}\n"
        "read -r _ _ _ _ function _ < <(complete -p mcp-bindgen)\n"
        '"$function" mcp-bindgen\n'
        'printf "%s\\n" "${COMPREPLY[@]}"',
        home,
    )
    assert done.stderr == ""
    return done.stdout.split()


def offered(cli: Cli, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return what the command offers bash for the last word of a command line."""
    with monkeypatch.context() as asked:
        asked.setenv("_MCP_BINDGEN_COMPLETE", "complete_bash")
        asked.setenv("COMP_WORDS", " ".join(words))
        asked.setenv("COMP_CWORD", str(len(words) - 1))
        return cli().out.split()


@pytest.mark.parametrize(
    "words",
    [
        ("generate", ""),
        ("generate", "2024-11-05", "2025-0"),
        ("diff", "2025"),
        ("diff", "2024-11-05", "2025"),
        ("impact", "src", "--from", ""),
        ("impact", "src", "--to", ""),
        ("migrate", "2025-06-18", "2026"),
        ("bridge", ""),
        ("verify", ""),
        ("errata", ""),
        ("show", "Tool", "--revision", "2025-1"),
        ("inspect", "--revision", ""),
        ("validate", "x.log", "--revision", ""),
    ],
    ids=" ".join,
)
def test_revisions_are_offered(cli: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    expected = [name for name in released() if name.startswith(words[-1])]
    assert expected and offered(cli, monkeypatch, "mcp-bindgen", *words) == expected


@pytest.mark.parametrize("start", ["", "property-", "capability-"])
def test_rules_are_offered(cli: Cli, monkeypatch: pytest.MonkeyPatch, start: str) -> None:
    expected = [rule for rule in RULES if rule.startswith(start)]
    assert expected and offered(cli, monkeypatch, "mcp-bindgen", "rules", start) == expected


def test_commands_are_offered(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered(cli, monkeypatch, "mcp-bindgen", "ge") == ["generate"]
    assert {"generate", "list", "check"} <= {*offered(cli, monkeypatch, "mcp-bindgen", "tools", "")}


@pytest.mark.slow
def test_bash_completes_what_is_offered(home: Path) -> None:
    assert completions(home, "mcp-bindgen", "generate", "2024-11-05", "2025-0") == ["2025-03-26", "2025-06-18"]
    assert completions(home, "mcp-bindgen", "rules", "capability-") == [r for r in RULES if r.startswith("capability-")]
    assert completions(home, "mcp-bindgen", "ge") == ["generate"]


@pytest.mark.slow
def test_where_no_revision_fits_bash_completes_files(home: Path) -> None:
    assert completions(home, "mcp-bindgen", "diff", "schema.j") == []
    assert "-o default" in bash("source ~/.bashrc\ncomplete -p mcp-bindgen", home).stdout

"""The examples of middleware, logging and tracing do what they say."""

import re
from pathlib import Path

import pytest

from support.at_terminal import EXAMPLES
from support.programs import Done, run_program


def run(name: str, *words: str, examples: Path = EXAMPLES) -> Done:
    """Run the client of an example, which starts its server."""
    done = run_program(examples / f"{name}_client.py", *words)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_logging(era: str) -> None:
    done = run("logging", era)
    assert done.stdout.splitlines() == [
        "warning backup: {'message': 'the disk is nearly full', 'free_bytes': 1024, 'api_key': '***'}",
        "  error backup: {'message': 'one file could not be read', 'exception': 'FileNotFoundError'}",
        "   info backup: backup of 3 files done",
    ]
    assert done.stderr == ""


def test_audit() -> None:
    done = run("audit")
    assert done.stdout == "unknown tool burn (-32602)\n"
    lines = [re.sub(r" [0-9.]+ ms$", "", line) for line in done.stderr.splitlines()]
    assert lines == [
        "AUDIT visitor received notifications/initialized ok",
        "AUDIT visitor received tools/list ok",
        "AUDIT visitor sent notifications/message ok",
        "AUDIT visitor received tools/call ok",
        "AUDIT visitor received tools/call error -32602",
    ]


def test_trace() -> None:
    shown = run("trace").stdout
    assert re.search(r"^\d\d:\d\d:\d\d\.\d{3} #1 -> request initialize id=1 \d+ B$", shown, re.MULTILINE)
    assert re.search(r"#1 <- result tools/call id=2 \d+ B [0-9.]+ ms$", shown, re.MULTILINE)
    assert '"user": "ada", "password": "***"' in shown
    assert "lovelace" not in shown


def test_rate_limit(examples: Path) -> None:
    lines = run("rate_limit", examples=examples).stdout.splitlines()
    done = [f"call {number} done" for number in range(1, 13)]
    assert [line for line in lines if line.startswith("call")] == done
    refused = [line for line in lines if line not in done]
    assert refused
    assert all(re.fullmatch(r"too many tools/call: try again in 0\.\d+ s \(429\)", line) for line in refused)


def test_validation(examples: Path) -> None:
    lines = run("validation", examples=examples).stdout.splitlines()
    assert lines[0] == "{'sum': 3.5}"
    assert "Invalid arguments for tool sum: /b: 'two' is not of type 'number'" in lines[1]
    assert lines[2] == "prompt explain-code needs the argument code (-32602)"

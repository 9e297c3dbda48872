"""Every example that is a program says how to call it when it is called wrongly."""

import re
from pathlib import Path

import pytest

from support.at_terminal import EXAMPLES
from support.programs import Done, run_program

SOURCES = {path.name: path.read_text("utf-8") for path in sorted(EXAMPLES.glob("*.py"))}
GENERATED = [name for name, source in SOURCES.items() if source.startswith("# Generated")]
PROGRAMS = [name for name, source in SOURCES.items() if '__name__ == "__main__"' in source and name not in GENERATED]


def called(name: str, *words: str) -> Done:
    """Run an example on a terminal of 200 columns, so that its usage is one line."""
    return run_program(EXAMPLES / name, *words, COLUMNS="200")


def test_other_files_are_imported_by_examples() -> None:
    for name in SOURCES.keys() - set(PROGRAMS):
        assert any(f"from {Path(name).stem} import" in source for source in SOURCES.values()), name


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_unknown_option_is_answered_with_the_usage(name: str) -> None:
    done = called(name, "--no-such-option")
    assert (done.returncode, done.stdout) == (2, "")
    usage, error = done.stderr.splitlines()
    assert usage.startswith(f"usage: {name}") or usage == f"usage: uvicorn {Path(name).stem}:api"
    assert error.startswith(f"{name}: error: ")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if re.search(r'add_argument\("(?!.*nargs)', SOURCES[name])])
def test_a_missing_argument_is_answered_with_the_usage(name: str) -> None:
    done = called(name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: the following arguments are required: " in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("handbook_server.py", ["absent"]),
        ("http_client.py", ["absent"]),
        ("http_tls_proxy.py", ["absent", "absent"]),
        ("log_file_client.py", ["absent"]),
        ("log_file_server.py", ["absent"]),
        ("project_client.py", ["absent"]),
        ("project_server.py", ["absent"]),
        ("sum_client.py", ["one"]),
        ("eras_client.py", ["old"]),
    ],
)
def test_a_wrong_argument_is_answered_with_the_usage(name: str, words: list[str]) -> None:
    done = called(name, *words)
    assert (done.returncode, done.stdout) == (2, "")
    usage, error = done.stderr.splitlines()
    assert usage.startswith(f"usage: {name} ") and words[0] in error

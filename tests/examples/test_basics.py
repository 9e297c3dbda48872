"""The examples of tools, prompts, resources, completion, pagination, progress, revisions and vendor methods."""

from pathlib import Path

import pytest

from support.at_terminal import EXAMPLES
from support.programs import run_program


def run(client: str, *words: str | Path, examples: Path = EXAMPLES, stderr: str = "") -> list[str]:
    """Run the client of an example, which starts its server; returns the lines that it prints."""
    done = run_program(examples / f"{client}_client.py", *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == stderr
    return done.stdout.splitlines()


def test_sum(examples: Path) -> None:
    assert run("sum", "2", "3.5", examples=examples) == [
        "calculator says: Use sum whenever numbers are to be added.",
        "sum: Adds two numbers.",
        "result: 5.5 {'sum': 5.5}",
        "failed: a and b must be numbers ",
        "error: unknown tool product (-32602)",
    ]


def test_git_commit_and_explain_code(examples: Path) -> None:
    assert run("prompts", examples=examples) == [
        "git-commit changes - Writes a commit message.",
        "explain-code code [language] - Explains what code does.",
        "git-commit, user: Write a commit message: one short line in the imperative, then why it was done.",
        "",
        "- tea = 3",
        "+ tea = 4",
        "explain-code, user: Tell someone new to Python what this code does, step by step:",
        "",
        "print(6 * 7)",
        "explain-code: explain-code needs the argument code (-32602)",
    ]


def test_a_project_as_embedded_resources(examples: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Tea\n")
    (tmp_path / "tea.py").write_text("print(4)\n")
    (tmp_path / "secret.key").write_text("1234\n")
    code = -32002 if examples == EXAMPLES else -32602
    assert run("project", tmp_path, examples=examples) == [
        "Here are the 2 files of a project. Tell me which file needs tests.",
        "  README.md (text/markdown): # Tea",
        "  tea.py (text/x-python): print(4)",
        "and again:",
        "  README.md (text/markdown): # Tea",
        f"there is no such file ({code}) {{'uri': 'file:///etc/passwd'}}",
    ]


def test_debugging_in_several_steps(examples: Path) -> None:
    assert run("debugging", "KeyError: 'tea'", "turned it off; turned it on", examples=examples) == [
        "     user: My program stops with this: KeyError: 'tea'",
        "assistant: Let us find the cause before we change anything. What have you tried so far?",
        "     user: These did not help: turned it off, turned it on.",
        "assistant: Good, that rules out 2 of the usual causes. What changed last?",
        "     user: I do not know. Tell me how to find out, one step after the other.",
    ]


def test_debugging_without_arguments(examples: Path) -> None:
    assert run("debugging", examples=examples)[-1] == "     user: Nothing yet."


def test_a_log_file_that_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("started\n")
    assert run("log_file", path, "one", "two words") == ["app.log: 1 lines so far", "new: one", "new: two words"]


def test_completion(examples: Path) -> None:
    assert run("completion", examples=examples) == [
        "language '': python, perl, pascal, rust",
        "language 'p': python, perl, pascal",
        "language 'py': python",
        "file '': ",
        "file 'm': main.py, model.py",
        "file '': part0.rs, part1.rs, part2.rs, part3.rs ... 100 of 150",
    ]


def test_pagination(examples: Path) -> None:
    assert run("pagination", examples=examples) == [
        "all 25: Note 1 to Note 25",
        "a page of 10, from Note 1",
        "a page of 10, from Note 11",
        "a page of 5, from Note 21",
        "this cursor is not one of ours (-32602)",
    ]


def test_progress_and_cancellation(examples: Path) -> None:
    assert run("progress", examples=examples) == [
        "  1 of 3: loaf 1",
        "  2 of 3: loaf 2",
        "  3 of 3: loaf 3",
        "result: 3 loaves",
        "cancelled: True",
        "loaves were thrown away: the guests have left",
        "tools/call: no answer within 2 s",
        "loaves were thrown away: no answer within 2 s",
    ]


@pytest.mark.slow
def test_several_revisions() -> None:
    assert run("revisions") == [
        "both speak 2025-11-25",
        "  structured: {'words': 6}",
        "both speak 2024-11-05",
        "  text: 6",
        "no revision in common: this side speaks 2025-03-26, the peer speaks 2025-11-25; "
        "pass open_any() a client of each revision that the peer may speak, "
        "or allow more: ClientOptions(revisions='all')",
    ]


def test_vendor_methods() -> None:
    page = "https://modelcontextprotocol.io/specification/2026-07-28/schema"
    complaint = f"acme/order of 2026-07-28: /dish: Field required (see {page})\n"
    assert run("vendor", stderr=complaint) == [
        "it smells of soup",
        "that is 9.00 EUR",
        "/dish: Field required (-32602)",
    ]


def test_each_example_explains_itself() -> None:
    # That of HTTP is a client for two servers, and hosts have the servers of other examples.
    for path in sorted(EXAMPLES.glob("*_client.py")):
        has_own = path.with_name(path.name.replace("_client", "_server")).exists()
        assert has_own or path.name.startswith(("http_", "host_")), path.name
        assert path.read_text("utf-8").startswith('"""'), path.name


@pytest.mark.slow
def test_both_eras() -> None:
    deleted = [
        "  Delete letter? no",
        "  letter is kept",
        "  Delete draft? yes",
        "  draft is deleted, 2 are left",
    ]
    more = ["  changed: tools", "  now: letter, notes; 2 of 4 lists came from the cache"]
    assert run("eras") == ["both speak 2026-07-28", *deleted, *more]
    assert run("eras", "modern") == ["both speak 2026-07-28", *deleted, *more]
    assert run("eras", "legacy") == ["both speak 2025-11-25", *deleted]


@pytest.mark.slow
def test_a_server_for_clients_of_every_revision() -> None:
    assert run("bridged") == [
        "2024-11-05 booked in the stalls",
        "2025-06-18 booked on the balcony",
        "2026-07-28 booked on the balcony",
    ]

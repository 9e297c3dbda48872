"""The examples of a host: several servers, one of which does not exist."""

from pathlib import Path

from support.programs import run_program


def test_a_model_calls_the_tools_of_two_servers(examples: Path) -> None:
    done = run_program(examples / "host_client.py")
    assert (done.returncode, done.stderr) == (0, "")
    math, tracker, gone, *rest = done.stdout.splitlines()
    assert (math, tracker) == ("math: ready", "tracker: ready")
    assert gone.startswith("gone: failed cannot start no-such-server")
    assert rest == [
        "math__sum True ['a', 'b']",
        "5.5",
        "The arguments of math__sum are wrong: at the top: 'b' is a required property",
        "The user does not want sums with 13.",
    ]


def test_a_model_is_shown_the_tools_that_fit(examples: Path) -> None:
    done = run_program(examples / "host_search_client.py", "add numbers")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["math__sum: Adds two numbers.", "5 others"]

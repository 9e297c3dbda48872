"""The example of tasks."""

from support.at_terminal import EXAMPLES
from support.programs import run_program


def test_it_watches_one_task_and_cancels_another() -> None:
    done = run_program(EXAMPLES / "tasks_client.py", "to be or not")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    seen = [line for line in lines if line.startswith("  working  ")]
    assert seen and set(seen) <= {
        "  working  counting up to 4 words",
        "  working  1 of 4: to",
        "  working  2 of 4: be",
        "  working  3 of 4: or",
        "  working  4 of 4: not",
    }
    assert lines[-3] == "  completed" and lines[-2:] == ["4 words", "the second one is cancelled"]
    assert done.stderr == ""

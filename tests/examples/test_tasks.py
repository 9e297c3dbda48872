"""The example of tasks."""

from support.at_terminal import EXAMPLES
from support.programs import run_program


def test_it_watches_one_task_and_cancels_another() -> None:
    done = run_program(EXAMPLES / "tasks_client.py", "to be or not")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if " of " in line] == [
        "  1 of 4: to",
        "  2 of 4: be",
        "  3 of 4: or",
        "  4 of 4: not",
    ]
    assert "  it is working" in lines and "  it is completed" in lines
    assert lines[-3:] == ["4 words", "the second one is cancelled", "tasks: ['completed', 'cancelled']"]
    assert done.stderr == ""

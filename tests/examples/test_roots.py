"""The example of two roots."""

from pathlib import Path

from support.programs import run_program


def test_files_are_read_inside_the_current_roots(examples: Path, tmp_path: Path) -> None:
    for name in ("front/app.js", "back/app.py", "secret"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"this is {name}")
    front, back = str(tmp_path / "front"), str(tmp_path / "back")
    paths = ["app.js", f"{back}/app.py", "../secret", f"{tmp_path}/secret"]
    done = run_program(examples / "roots_client.py", front, back, *paths)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"roots ->  Front end: {front}",
        f"Back end: {back}",
        "read app.js ->  this is front/app.js",
        f"read {back}/app.py ->  this is back/app.py",
        "read ../secret -> refused: the path goes up (..)",
        f"read {tmp_path}/secret -> refused: the path is outside the roots",
        f"roots ->  Front end: {front}",
        "read app.js ->  this is front/app.js",
        f"read {back}/app.py -> refused: the path is outside the roots",
        "read ../secret -> refused: the path goes up (..)",
        f"read {tmp_path}/secret -> refused: the path is outside the roots",
    ]
    assert done.stderr == ""

"""Run a type checker on a user's code, and read what it reports.

Each checker keeps the settings that the project has for it; ours are added on its command line or in a file of our own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_bindgen.ir.diagnostics import InputError, printable

MAX_SECONDS = 300
"""The time that one run of a checker may take, in seconds."""
_CONFIGURED = ("pyproject.toml", "ty.toml", "pyrightconfig.json", "pyrefly.toml")
_TROUBLE = 400
"""The number of characters of a checker's error output that an error shows."""


@dataclass(frozen=True, slots=True)
class CheckerError:
    """What a checker says about a place in a file: its first and last line and column, which count from 1."""

    path: Path
    begin: tuple[int, int]
    end: tuple[int, int]
    message: str

    @property
    def revealed(self) -> str:
        """The type of an expression, if the message is about that."""
        found = _REVEALED.search(self.message)
        return found[1] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to check: some files of a project, with our stubs in place of its bindings.

    Attributes:
        root: the folder of the project, with its settings.
        files: the files to check.
        stubs: the folder with our stubs.
        scratch: a folder for a file of settings.
        texts: files with another text than on disk.
        everything: whether to report errors of all kinds, and not only marks.
    """

    root: Path
    files: Sequence[Path]
    stubs: Path
    scratch: Path
    texts: Mapping[Path, str] = field(default_factory=dict[Path, str])
    everything: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the checker: those that name the Python environment, which its settings override.

        It is the active one, that of the project, or the one that this program is installed in.
        """
        local = self.root / ".venv"
        prefix = os.environ.get("VIRTUAL_ENV") or str(local if local.is_dir() else sys.prefix)
        programs = os.path.join(prefix, "Scripts" if os.name == "nt" else "bin")
        found = {**os.environ, "VIRTUAL_ENV": prefix, "PATH": os.pathsep.join([programs, os.environ.get("PATH", "")])}
        return {name: value for name, value in found.items() if name != "PYTHONPATH"}

    @property
    def sources(self) -> list[Path]:
        """The folders from which the project imports its own modules."""
        return [self.root, *(folder for folder in [self.root / "src"] if folder.is_dir()), *self.stated]

    @property
    def stated(self) -> list[Path]:
        """The folders in PYTHONPATH without bindings, which would hide the stubs; checkers do not see the variable."""
        ours = [package.name for package in self.stubs.iterdir()]
        folders = [Path(folder).absolute() for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
        return [folder for folder in folders if not any((folder / name).exists() for name in ours)]


@dataclass(frozen=True, slots=True)
class Checker:
    """A type checker: how it is called, and how its output is read.

    Attributes:
        name: its command.
        command: returns the arguments for a job.
        reports: reads its output; a `ValueError` or `KeyError` means that it is not what we know.
    """

    name: str
    command: Callable[[Job], list[str]]
    reports: Callable[[Any, Path], Iterator[CheckerError]]

    def run(self, job: Job) -> list[CheckerError]:
        """Check the files of a job, and return what the checker reports.

        Raises:
            InputError: the checker is missing, crashes, hangs, or writes something that we do not know.
        """
        program = self._program()
        command = [program, *self.command(job)]
        try:
            done = subprocess.run(
                command, cwd=job.root, env=job.environment, capture_output=True, check=False, timeout=MAX_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise self._failed(program, f"still running after {MAX_SECONDS} seconds") from None
        except OSError as error:
            raise self._failed(program, f"cannot be run: {error.strerror}") from None
        if done.returncode not in (0, 1):
            trouble = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace")[-_TROUBLE:]
            raise self._failed(program, f"failed with exit status {done.returncode}: {printable(trouble)}")
        try:
            return list(self.reports(json.loads(done.stdout), job.root))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._failed(program, "wrote something that mcp-bindgen does not understand") from None

    def _program(self) -> str:
        beside = Path(sys.executable).with_name(self.name)
        program = shutil.which(self.name) or (str(beside) if beside.exists() else None)
        if program is None:
            needed = "mcp-bindgen[impact]" if self.name == DEFAULT else self.name
            message = f"not installed; run `pip install '{needed}'`, or choose another one with --checker"
            raise InputError.at(self.name, message)
        return program

    def _failed(self, program: str, reason: str) -> InputError:
        try:
            done = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=10)
            version = printable(done.stdout.decode("utf-8", "replace").strip()[:80]) or self.name
        except (OSError, subprocess.TimeoutExpired):
            version = f"{self.name} (unknown version)"
        hint = "try another release of it, or another checker with --checker"
        return InputError.at(version, f"{reason}; {hint}")


def project_root(paths: Sequence[Path]) -> Path:
    """Return the folder with the settings of the project that some paths are in, otherwise their common folder."""
    common = Path(os.path.commonpath([path.resolve() for path in paths]))
    folder = common if common.is_dir() else common.parent
    above = (each for each in (folder, *folder.parents) if any((each / name).is_file() for name in _CONFIGURED))
    return next(above, folder)


def _settings(root: Path, file: str, table: str) -> tuple[Path | None, Any]:
    """Return the settings of a checker, and the file that has them."""
    for path in (root / file, root / "pyproject.toml"):
        try:
            read = json.loads if path.suffix == ".json" else tomllib.loads
            found: Any = read(path.read_text("utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError):  # The checker reports it; pyright's JSON may have comments.
            return path, {}
        if path.name != "pyproject.toml":
            return path, found
        if table in found.get("tool", {}):
            return path, found["tool"][table]
    return None, {}


def _ty(job: Job) -> list[str]:
    command = ["check", "--project", str(job.root), "--output-format", "gitlab", "--no-progress"]
    command += [] if job.everything else ["--ignore", "all"]
    command += ["--warn", "deprecated", "--exit-zero", "--no-respect-ignore-files", "--no-force-exclude"]
    command += [part for path in (job.stubs, *job.stated) for part in ("--extra-search-path", str(path))]
    command += ["--config", "analysis.respect-type-ignore-comments=false"]
    return [*command, *map(str, job.files)]


def _from_ty(output: Any, root: Path) -> Iterator[CheckerError]:
    for found in output:
        location = found["location"]
        sides = (location["positions"][side] for side in ("begin", "end"))
        begin, end = ((int(side["line"]), int(side["column"])) for side in sides)
        yield CheckerError(root / location["path"], begin, end, str(found["description"]))


def _pyright(job: Job) -> list[str]:
    path, settings = _settings(job.root, "pyrightconfig.json", "pyright")
    kept = [job.root / extra for extra in settings.get("extraPaths", ())]
    for folder in [folder for folder in job.stubs.rglob("*") if folder.is_dir()]:
        (folder / "__init__.pyi").touch()  # A package without this file comes after all others.

    def inside(path: Path) -> str:
        """Spell a path in the only way that pyright accepts: relative to the file of settings."""
        return os.path.relpath(path, job.scratch)

    ours: dict[str, Any] = {
        **({"extends": inside(path)} if path else {}),
        "include": [inside(file) for file in job.files],
        "exclude": [],
        "ignore": [],
        "strict": [],
        "reportDeprecated": "warning",
        "enableTypeIgnoreComments": False,
        # Our stubs come before the project's own modules only if the root is none of its folders.
        "executionEnvironments": [
            {
                "root": inside(Path(job.root.anchor)),
                "extraPaths": [inside(folder) for folder in (job.stubs, *kept, *job.sources)],
            }
        ],
    }
    config = job.scratch / "pyrightconfig.json"
    config.write_text(json.dumps(ours), "utf-8")
    return ["--project", str(config), "--outputjson"]


def _from_pyright(output: Any, root: Path) -> Iterator[CheckerError]:
    for found in output["generalDiagnostics"]:
        if "range" in found:
            sides = (found["range"][side] for side in ("start", "end"))
            begin, end = ((int(side["line"]) + 1, int(side["character"]) + 1) for side in sides)
            yield CheckerError(root / found["file"], begin, end, str(found["message"]))


def _pyrefly(job: Job) -> list[str]:
    settings = _settings(job.root, "pyrefly.toml", "pyrefly")[1]
    kept = [job.root / extra for extra in settings.get("search-path", settings.get("search_path", ()))]
    folders = [job.stubs, *kept, *job.sources]
    command = ["check", "--output-format", "json", "--error", "deprecated,reveal-type"]
    command += ["--use-ignore-files=false", "--enabled-ignores=zuban"]  # It cannot be none; zuban's are the rarest.
    command += [part for folder in folders for part in ("--search-path", str(folder))]
    return [*command, *map(str, job.files)]


def _from_pyrefly(output: Any, root: Path) -> Iterator[CheckerError]:
    for found in output["errors"]:
        begin, end = (int(found["line"]), int(found["column"])), (int(found["stop_line"]), int(found["stop_column"]))
        yield CheckerError(root / found["path"], begin, end, str(found["description"]))


DEFAULT = "ty"
_REVEALED = re.compile(r"(?:Revealed type: `|^Type of \".*?\" is \"|revealed type: )(.*?)[`\"]?$", re.DOTALL)
CHECKERS = {
    DEFAULT: Checker(DEFAULT, _ty, _from_ty),
    "pyright": Checker("pyright", _pyright, _from_pyright),
    "pyrefly": Checker("pyrefly", _pyrefly, _from_pyrefly),
}
"""The type checkers by name."""

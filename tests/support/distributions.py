"""The distributions as users get them: installed in an environment without access to this tree."""

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.documents import ROOT

UV = Path(sys.executable).with_name("uv")
"""Installs in a fraction of pip's time, but does not exist for every platform."""
LOCK = ROOT / "tools" / "requirements" / "dev.txt"


def run(*command: str | Path, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command and check its exit status."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == expect, f"exit {done.returncode}, not {expect}: {command}\n{done.stdout}\n{done.stderr}"
    return done


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """The two files of a distribution; the wheel is built from the sdist, not from the working tree."""

    name: str
    sdist: Path
    wheel: Path

    @classmethod
    def built(cls, name: str, project: Path, out: Path) -> "Distribution":
        """Build a project below `out`."""
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out / name, project, cwd=out)
        (sdist,), (wheel,) = (out / name).glob("*.tar.gz"), (out / name).glob("*.whl")
        return cls(name=name, sdist=sdist, wheel=wheel)

    def requirement(self, extra: str = "") -> str:
        """Return the requirement of the wheel with an extra."""
        digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
        return f"{self.name}{f'[{extra}]' if extra else ''} @ {self.wheel.as_uri()} --hash=sha256:{digest}"


@dataclass(frozen=True, kw_only=True)
class Release:
    """Both distributions: the bindings with their runtime, and the compiler."""

    bindings: Distribution
    bindgen: Distribution


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A virtual environment in a folder that is the working directory of its programs."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def run(self, script: str, *arguments: str | Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment."""
        return run(self.python.parent / script, *arguments, cwd=self.folder, expect=expect)

    def install(self, *packages: str) -> None:
        """Install packages with their dependencies, at the locked versions and hashes."""
        requirements = self.folder / "requirements.txt"
        requirements.write_text("\n".join(packages) + "\n", "utf-8")
        constraints = ("-r", requirements, "-c", LOCK)
        if UV.is_file():  # It verifies the hashes, but would require them for packages without a version here, too.
            run(UV, "pip", "install", "--quiet", "--python", self.python, *constraints, cwd=self.folder)
            run(UV, "pip", "check", "--python", self.python, cwd=self.folder)
        else:
            pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python)
            run(*pip, "install", "-qq", "--require-hashes", *constraints, cwd=self.folder)
            run(*pip, "check", cwd=self.folder)


def empty_environment(folder: Path) -> Environment:
    """Make an environment without any package."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    return Environment(folder=folder)

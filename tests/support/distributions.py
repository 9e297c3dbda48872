"""The distributions as users get them: installed in an environment without access to this tree."""

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.documents import ROOT

UV = Path(sys.executable).with_name("uv")
"""Installs in a fraction of pip's time, but does not exist for every platform."""
LOCK = ROOT / "requirements" / "dev.txt"


def run(*command: str | Path, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command and check its exit status."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == expect, f"exit {done.returncode}, not {expect}: {command}\n{done.stdout}\n{done.stderr}"
    return done


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """The two files of a release; the wheel is built from the sdist, not from the working tree."""

    sdist: Path
    wheel: Path


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

    def install(self, wheel: Path, extra: str = "", *more: str) -> None:
        """Install the wheel, its dependencies and further packages, at the locked versions and hashes."""
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        requirements = self.folder / "requirements.txt"
        lines = [f"mcp-bindgen{extra} @ {wheel.as_uri()} --hash=sha256:{digest}", *more]
        requirements.write_text("\n".join(lines) + "\n", "utf-8")
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

"""Runs the official conformance suite against servers and a client on the public API.

    python -m conformance.run PACKAGES [--side server] [--revision 2025-11-25] [--scenario NAME]        # in tests/

PACKAGES is the folder of Node packages that `make conformance` installs. A scenario passes if the suite exits with 0,
at least one check succeeded, and none failed or warned: there is no list of tolerated warnings, since none is needed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from support import forks

TESTS: Final = Path(__file__).parents[1]
EXTENSION: Final = "extension"
"""In place of a revision: the scenarios of extensions."""
LEGS: Final[Mapping[str, tuple[str, ...]]] = {
    "2025-03-26": ("server", "app", "client"),
    "2025-06-18": ("server", "app", "client"),
    "2025-11-25": ("server", "app", "client"),
    "2026-07-28": ("server", "app", "client"),
    EXTENSION: ("app", "client"),
}
"""The revisions, and which sides of each are run: a server per revision, one App for all of them, a client."""
NEWEST: Final = "2026-07-28"
SIDES: Final = ("server", "app", "client")
_ROLES: Final = {"app": "server"}
SECONDS: Final = 120
NOT_OURS: Final = ("authorization-", "tasks-status-notifications", "auth/dpop")
"""Beginnings of the names of scenarios of authorization servers, of one that checks nothing, and of extensions that are
not run here."""

_LINE: Final = re.compile(r"^\s+- (\S+) \[([^\]]*)\]$")
_RESULT: Final = re.compile(r"(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
"""The folder in which the suite writes the checks of a scenario."""


class Suite:
    """The installed suite.

    Args:
        packages: the folder of Node packages.
    """

    def __init__(self, packages: Path) -> None:
        tools = packages.resolve() / "node_modules" / ".bin"
        self._command = str(tools / "conformance")
        self._env = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
        self._listed: dict[str, str] = {}

    def scenarios(self, side: str, revision: str) -> list[str]:
        """Return the scenarios of one side that must pass in a revision."""
        side = _ROLES.get(side, side)
        if revision not in self._listed:
            self._listed[revision] = self._run("list", *_within(revision)).stdout
        part = self._listed[revision].partition(f"{side.capitalize()} scenarios")[2].partition("\n\n")[0]
        found = [match[1] for line in part.splitlines() if (match := _LINE.match(line)) and revision in match[2]]
        return [name for name in found if not name.startswith(NOT_OURS)]

    def required(self, packages: Path, side: str, revision: str) -> set[str]:
        """Return the scenarios of the frozen set of a revision, empty if there is no such set."""
        file = packages / "node_modules/@modelcontextprotocol/conformance/requirements" / f"{revision}.yaml"
        if not file.is_file():
            return set()
        section = re.search(rf"^{_ROLES.get(side, side)}:\n((?:  .*\n|\n)*)", file.read_text("utf-8"), re.MULTILINE)
        found = re.findall(r"^  - (\S+)$", section[1], re.MULTILINE) if section else []
        return {name for name in found if not name.startswith(NOT_OURS)}

    def problems(self, side: str, revision: str, scenarios: Sequence[str], url: str) -> dict[str, str]:
        """Run scenarios; returns why each failed, empty for one that passed."""
        if revision == EXTENSION or len(scenarios) == 1:
            return {name: self._problem(side, revision, name, url) for name in scenarios}
        # One process for all scenarios: most of the time of one for each would be its start.
        with tempfile.TemporaryDirectory() as folder:
            done = self._run(*_target(side, url), "--suite", "all", *_within(revision), "-o", folder)
            found = {
                match[1]: problem_of(json.loads(path.read_text()))
                for path in Path(folder).rglob("checks.json")
                if (match := _RESULT.fullmatch(path.parent.relative_to(folder).as_posix()))
            }
        problems = {name: found.get(name, "no result") for name in scenarios}
        if done.returncode and not any(problems.values()):
            problems["the suite"] = _ended(done)
        return problems

    def _problem(self, side: str, revision: str, scenario: str, url: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            scenario_of = ("--scenario", scenario, *_within(revision))
            if revision == EXTENSION and side != "client":  # by default the suite asks in an older revision
                scenario_of = (*scenario_of, "--spec-version", NEWEST, "--force")
            done = self._run(*_target(side, url), *scenario_of, "-o", folder)
            checks = [check for path in Path(folder).rglob("checks.json") for check in json.loads(path.read_text())]
        return _ended(done) if done.returncode else problem_of(checks)

    def _run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = (self._command, *arguments)
        return subprocess.run(
            command, cwd=TESTS, env=self._env, capture_output=True, text=True, timeout=SECONDS, check=False
        )


def _target(side: str, url: str) -> tuple[str, ...]:
    """Return the arguments that choose what the suite talks to."""
    if side != "client":
        return "server", "--url", url
    python = forks.command(sys.executable, "conformance.client", path=(TESTS,))
    return "client", "--command", f"{python} -m conformance.client"


def _ended(done: "subprocess.CompletedProcess[str]") -> str:
    return f"exit status {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def _within(revision: str) -> tuple[str, ...]:
    """Return the arguments that choose a revision."""
    return () if revision == EXTENSION else ("--spec-version", revision)


def problem_of(checks: list[dict[str, str]]) -> str:
    """Return why the checks of a scenario failed, empty if they passed."""
    counts = Counter(check["status"] for check in checks)
    for check in checks:
        if check["status"] in ("FAILURE", "WARNING"):
            return f"{check['status']} {check['id']}: {check.get('errorMessage') or check.get('description', '')}"
    return "" if counts["SUCCESS"] else "nothing succeeded"


@contextmanager
def serving(*arguments: str) -> Generator[str]:
    """Start a server; yields its URL."""
    command = (sys.executable, "-m", "conformance.server", *arguments)
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> int:
    """Run the scenarios; returns the exit status."""
    parser = argparse.ArgumentParser(description="Run the official conformance suite.")
    parser.add_argument("packages", type=Path)
    parser.add_argument("--side", choices=SIDES, action="append")
    parser.add_argument("--revision", choices=LEGS, action="append")
    parser.add_argument("--scenario", action="append")
    given = parser.parse_args()
    suite, failed = Suite(given.packages), 0
    with serving() as own, serving("app") as decorated:
        for revision in given.revision or LEGS:
            for side in given.side or LEGS[revision]:
                wanted = [name for name in suite.scenarios(side, revision) if name in (given.scenario or (name,))]
                url = decorated if side == "app" else own
                problems = suite.problems(side, revision, wanted, url)
                for name, problem in problems.items():
                    if problem:
                        failed += 1
                        print(f"  {name}: {problem}")
                passed = {name for name, problem in problems.items() if not problem}
                frozen = suite.required(given.packages, side, revision)
                if not given.scenario and (missing := frozen - set(wanted)):
                    failed += 1
                    print(f"  not listed: {', '.join(sorted(missing))}")
                more = f", of the frozen set {len(frozen & passed)} of {len(frozen)}" if frozen else ""
                print(f"{revision} {side}: passed {len(passed)} of {len(wanted)}{more}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

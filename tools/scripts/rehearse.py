"""Rehearse the next revision: add one that is made of open proposals to a copy of the repository, and test it there.

Run as ``make rehearse PROPOSALS=FOLDER``. Each folder in it has a proposal: its schema.ts before and after it, as
base.ts and head.ts. What each changes is applied to the newest revision; those that conflict are left out. Prints, for
each layer, how many lines are generated, how many are hand-written, and how many a person has to add.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_bindgen.evolution.merge import Proposed, merge
from mcp_bindgen.evolution.read import facts_of, proposed
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.diagnostics import InputError

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (
    ".*_cache",
    ".git",
    ".venv*",
    ".peers",
    ".conformance",
    ".hypothesis",
    ".bench-node",
    "build",
    "dist",
)
"""Files made by tools, which a copy of the repository does not need. Byte code stays valid where nothing changes."""
_BASE = list(released())[-1]
NEXT = f"{int(_BASE[:4]) + 1}{_BASE[4:]}"
"""The date of the made-up revision: a year after the newest one."""
DERIVED = (
    "tests/cli/test_commands.py",
    "tests/diff/test_gates.py",
    "tests/emit/python/test_modules.py",
    "tests/functional/test_packages.py",
    "tests/ingest/test_docs.py",
    "tests/ir/test_methods.py",
    "tests/merge/test_reconcile.py",
    "tests/repo/test_documents.py",
    "tests/repo/test_first_page.py",
    "tests/repo/test_laws.py",
    "tests/repo/test_public_api.py",
    "tests/repo/test_revisions.py",
    "tests/repo/test_templates.py",
)
"""Tests of what is derived from the list of revisions, in addition to those of each revision."""
_QUICK = "not slow and not packaging and not interop and not soak"
_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", _QUICK)
"""In one process, since each has to collect the tests first, which takes longer than to run them."""
_GIT = ("git", "-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost")
_MISSING = re.compile(r"schema/docs\.toml: nothing describes (.+)")
LAYERS: Sequence[tuple[str, str, str]] = (
    ("conversions between revisions", r"generated/.*/bridges/.*", r"runtime/mcp_runtime/bridge/.*"),
    (
        "methods, clients and servers",
        r"generated/.*/(methods|client|server|app|binding|errors|constants)\.py",
        r"runtime/mcp_runtime/((app|client_features|core/changes|core/asking)/.*"
        r"|core/(client|features|server|handlers|options|peer|stub)\.py)",
    ),
    ("types and messages", r"generated/.*\.py", r"runtime/mcp_runtime/(core/)?[^/]*\.py"),
    (
        "connections and transports",
        "-",
        r"runtime/mcp_runtime/(core|sealed|middleware)/.*",
    ),
    ("authorization, extensions, hosts, tools", "-", r"runtime/.*"),
    ("structure of the schema", rf"schema/({NEXT}/.*|revisions\.json)", "-"),
    ("descriptions and capabilities", "-", r"schema/[^/]*\.toml"),
    ("documentation", r"docs/.*", "-"),
    ("generator, templates and tests", "-", r".*"),
)
"""The layers: a name, and the paths of what is generated and of what is written by hand; the first that fits counts."""


class Failed(Exception):
    """A program failed in the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A made-up revision: its schema.ts, the proposals in it, and why others are left out."""

    text: str
    applied: tuple[str, ...]
    left_out: Mapping[str, str]


def compose(places: Sequence[Path]) -> Composed:
    """Apply what proposals change, each a folder or a page in Markdown, to the newest revision."""
    onto = facts_of(_BASE)
    applied: list[Proposed] = []
    left_out: dict[str, str] = {}
    text = merge(_BASE, onto, [])
    for place in places:
        head, base = (place / "head.ts", place / "base.ts") if place.is_dir() else (place, _BASE)
        change = replace(proposed(str(head), str(base)), name=place.name)
        try:
            text = merge(_BASE, onto, [*applied, change])
        except InputError as error:
            left_out[place.name] = str(error).removeprefix("error: ")
        else:
            applied.append(change)
    return Composed(text=text.replace(_BASE, NEXT), applied=tuple(p.name for p in applied), left_out=left_out)


def measured(lines: Iterable[tuple[str, int]]) -> Mapping[str, tuple[int, int]]:
    """Return how many lines of each layer are generated and written by hand, from paths with their numbers of lines."""
    found = {name: (0, 0) for name, _, _ in LAYERS}
    for path, count in lines:
        name, generated, _ = next(each for each in LAYERS if any(re.fullmatch(p, path) for p in each[1:]))
        made = count if re.fullmatch(generated, path) else 0
        found[name] = (found[name][0] + made, found[name][1] + count - made)
    return found


def lines_of(root: Path, *folders: str) -> Iterator[tuple[str, int]]:
    """Iterate over the Python files in folders below a root, with their numbers of lines."""
    for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
        yield path.relative_to(root).as_posix(), path.read_text("utf-8").count("\n")


class Rehearsal:
    """A copy of the repository to which a revision is added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        roots = (folder / name for name in ("codegen", "runtime", "generated"))
        # A made-up revision has no official files, so tests of those are skipped.
        official = {"MCP_UPSTREAM": str(folder / "nowhere")}
        self._environment = {**os.environ, **official, "PYTHONPATH": os.pathsep.join(map(str, roots))}

    def copy(self) -> None:
        """Copy the repository, and commit the copy, so that what is added can be counted."""
        if self._folder.exists():
            shutil.rmtree(self._folder)
        shutil.copytree(ROOT, self._folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("commit", "-qm", "before")

    def add(self, text: str) -> Sequence[str]:
        """Add a revision with a schema.ts alone, and describe what is new; return what else may be left to a person."""
        schema = self._folder / "schema.ts"
        schema.write_text(text, "utf-8")
        left = self.run("tools/scripts/add_revision.py", NEXT, "", schema).splitlines()
        schema.unlink()
        missing = [found[1] for line in left if (found := _MISSING.fullmatch(line))]
        docs = self._folder / "schema" / "docs.toml"
        docs.write_text(_described(docs.read_text("utf-8"), missing), "utf-8")
        return [line for line in left if not _MISSING.fullmatch(line)]

    def generate(self) -> None:
        """Write what is generated from the schemas."""
        self.run("-m", "mcp_bindgen", "generate")
        self.run("tools/scripts/picture.py")

    def added(self) -> Mapping[str, tuple[int, int]]:
        """Return how many lines of each layer are added, generated and by a person."""
        self._git("add", "-A")
        rows = (row.split("\t") for row in self._git("diff", "--cached", "--numstat", "HEAD").splitlines())
        return measured((path, int(added)) for added, _, path in rows if added != "-")

    def run(self, *arguments: object, folder: str = ".") -> str:
        """Run a Python program in the copy; return what it prints.

        Raises:
            Failed: its exit status is not 0; its last lines are in the message.
        """
        command = [sys.executable, *map(str, arguments)]
        place = self._folder / folder
        done = subprocess.run(command, cwd=place, env=self._environment, check=False, capture_output=True, text=True)
        if done.returncode:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
            raise Failed(f"{' '.join(map(str, arguments[:4]))}: exit status {done.returncode}\n{tail}")
        return done.stdout

    def _git(self, *arguments: str) -> str:
        return subprocess.run([*_GIT, *arguments], cwd=self._folder, check=True, capture_output=True, text=True).stdout


def _described(text: str, missing: Sequence[str]) -> str:
    """Return the text of docs.toml with rows that stand for what a person writes about each new name."""
    rows: dict[str, list[str]] = {}
    for name in missing:
        owner, _, member = name.partition(".")
        table = f"properties.{owner}" if member else "constants" if name.isupper() else "definitions"
        rows.setdefault(table, []).append(f'{json.dumps(member or name)} = "What proposals say about {name}."')
    constants = "".join(f"{row}\n" for row in rows.pop("constants", []))
    added = "".join(f'\n[revisions."{NEXT}".{table}]\n' + "\n".join(lines) + "\n" for table, lines in rows.items())
    return text.replace("\n[constants]\n", f"\n[constants]\n{constants}") + added


def checks() -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Iterate over what must hold in the copy: a title, the folder, and a Python program with its arguments."""
    tool = ("-m", "mcp_bindgen")
    yield f"diff {_BASE} {NEXT}", ".", (*tool, "diff", _BASE, NEXT, "--fail-on", "never")
    yield f"migrate {_BASE} {NEXT}", ".", (*tool, "migrate", _BASE, NEXT)
    yield "export reference", ".", (*tool, "export", "reference", "--out", "build/reference")


def tests() -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Iterate over the tests that a revision without mistakes passes: its own, and those of all revisions together."""
    yield f"tests of {NEXT}", ".", (*_PYTEST, "-k", NEXT, "tests")
    yield "tests of all revisions together", ".", (*_PYTEST, "-k", f"not {NEXT}", *DERIVED)


def conversations(suite: str) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Iterate over what peers of all revisions must keep, whatever is wrong with the new one; `suite` is a folder."""
    pairs = len(released()) * (len(released()) + 1)
    yield f"bridging laws, {pairs} pairs", ".", (*_PYTEST, "tests/bridge/test_laws.py")
    if suite:
        yield "conformance, all revisions", "tests", ("-m", "conformance.run", suite)


def table(added: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Iterate over the lines of the table per layer."""
    there = measured(lines_of(ROOT, "runtime"))
    yield f"{'lines':40}{'generated':>10}{'hand-written':>14}{'added by a person':>19}"
    for layer, (generated, by_hand) in added.items():
        yield f"{layer:40}{generated:10}{there[layer][1]:14}{by_hand:19}"


def main(arguments: Sequence[str]) -> int:
    """Run the script; return its exit status."""
    if not 2 <= len(arguments) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder, proposals = Path(arguments[0]).resolve(), Path(arguments[1])
    found = [*sorted(path.parent for path in proposals.glob("*/head.ts")), *sorted(proposals.glob("*.md"))]
    if not found:
        print(f"error: {proposals}: no proposals in it; give PROPOSALS=FOLDER", file=sys.stderr)
        return 2
    try:
        composed = compose(found)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{NEXT} is {_BASE} with {', '.join(composed.applied)}")
    for reason in composed.left_out.values():
        print(f"  left out: {reason}")
    rehearsal = Rehearsal(folder)
    failed = 0
    try:
        rehearsal.copy()
        rehearsal.add(composed.text)
        rehearsal.generate()
        print(*table(rehearsal.added()), sep="\n", flush=True)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    for title, place, program in (*checks(), *conversations(arguments[2] if len(arguments) == 3 else "")):
        try:
            rehearsal.run(*program, folder=place)
            print(f"     ok  {title}", flush=True)
        except Failed as error:
            failed += 1
            print(f" FAILED  {title}\n{error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

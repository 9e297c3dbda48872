"""Rehearse the next revision: add one that is made of open proposals to a copy of the repository, and test it there.

Run as ``make rehearse PROPOSALS=FOLDER``. Each folder in it has a proposal: its schema.ts before and after it, as
base.ts and head.ts. What each changes is applied to the newest revision; those that conflict are left out. Prints, for
each layer, how many lines are generated, and how many a person has to write.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_bindgen.diagnostics import InputError
from mcp_bindgen.evolution.merge import Proposed, merge
from mcp_bindgen.evolution.read import facts_of
from mcp_bindgen.ingest.revisions import released, revision_folder

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (
    "__pycache__",
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
"""Files made by tools, which a copy of the repository does not need."""
_BASE = list(released())[-1]
NEXT = f"{int(_BASE[:4]) + 1}{_BASE[4:]}"
"""The date of the made-up revision: a year after the newest one."""
_GIT = ("git", "-c", "user.name=rehearsal", "-c", "user.email=rehearsal@localhost")
_MISSING = re.compile(r"schema/docs\.toml: nothing describes (.+)")
_LAYERS: Sequence[tuple[str, str]] = (
    (r"generated/.*/bridges/.*", "conversions to other revisions"),
    (r"generated/.*/(methods|client|server|app|binding|errors|constants)\.py", "methods, clients and servers"),
    (r"generated/.*", "types and messages"),
    (rf"schema/({NEXT}/.*|revisions\.json)", "structure, taken from the proposals"),
    (r"schema/.*", "descriptions and rows, by a person"),
    (r".*", "code, templates and tests, by a person"),
)
"""The layers of a change, by patterns of paths; the first that fits counts."""


class Failed(Exception):
    """A program failed in the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A made-up revision: its schema.ts, the proposals in it, and why others are left out."""

    text: str
    applied: tuple[str, ...]
    left_out: Mapping[str, str]


def compose(folders: Sequence[Path]) -> Composed:
    """Apply what proposals change to the newest revision."""
    onto = facts_of(_BASE)
    applied: list[Proposed] = []
    left_out: dict[str, str] = {}
    text = merge(_BASE, onto, [])
    for folder in folders:
        base, head = (facts_of(str(folder / name)) for name in ("base.ts", "head.ts"))
        proposed = Proposed(name=folder.name, base=base, head=head)
        try:
            text = merge(_BASE, onto, [*applied, proposed])
        except InputError as error:
            left_out[folder.name] = str(error).removeprefix("error: ")
        else:
            applied.append(proposed)
    return Composed(text=text.replace(_BASE, NEXT), applied=tuple(p.name for p in applied), left_out=left_out)


class Rehearsal:
    """A copy of the repository to which a revision is added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        roots = (folder / name for name in ("codegen", "runtime", "generated"))
        self._upstream = folder / "build" / "upstream"
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, roots)),
            "MCP_UPSTREAM": str(self._upstream),
        }

    def copy(self) -> None:
        """Copy the repository, and commit the copy, so that what is added can be counted."""
        if self._folder.exists():
            shutil.rmtree(self._folder)
        shutil.copytree(ROOT, self._folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("commit", "-qm", "before")
        official = (ROOT / (os.environ.get("MCP_UPSTREAM") or "../shared/upstream")).resolve()
        if official.is_dir():
            self._upstream.mkdir(parents=True)
            (self._upstream.parent / "seeds").symlink_to(official.parent / "seeds")
            for path in official.iterdir():
                (self._upstream / path.name).symlink_to(path)

    def add(self, text: str) -> None:
        """Add a revision with a schema.ts alone, describe what is new, and generate."""
        home = self._upstream / NEXT
        home.mkdir(parents=True)
        schema = home / "schema.ts"
        schema.write_text(text, "utf-8")
        left = self.run("scripts/add_revision.py", NEXT, "", schema)
        shutil.copy(self._folder / "schema" / NEXT / "schema.json", home)
        missing = [found[1] for line in left.splitlines() if (found := _MISSING.fullmatch(line))]
        docs = self._folder / "schema" / "docs.toml"
        docs.write_text(_described(docs.read_text("utf-8"), missing), "utf-8")
        self.run("-m", "mcp_bindgen", "generate")
        self.run("scripts/picture.py")

    def layers(self) -> Mapping[str, int]:
        """Return how many lines were added to each layer."""
        self._git("add", "-A")
        lines = dict.fromkeys((layer for _, layer in _LAYERS), 0)
        for row in self._git("diff", "--cached", "--numstat", "HEAD").splitlines():
            added, _, path = row.split("\t")
            layer = next(layer for pattern, layer in _LAYERS if re.fullmatch(pattern, path))
            if added != "-" and not path.startswith("docs/"):
                lines[layer] += int(added)
        return lines

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


def checks(suite: str) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Iterate over what must hold in the copy: a title, the folder, and a Python program with its arguments."""
    pytest = ("-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider")
    tool = ("-m", "mcp_bindgen")
    yield "generated code is up to date", ".", (*tool, "generate", "--check")
    yield f"diff {_BASE} {NEXT}", ".", (*tool, "diff", _BASE, NEXT, "--fail-on", "never")
    yield f"migrate {_BASE} {NEXT}", ".", (*tool, "migrate", _BASE, NEXT, "--output", "build/guide.md")
    yield "export reference", ".", (*tool, "export", "reference", "--out", "build/reference")
    yield f"bridging laws, {_pairs()} pairs", ".", (*pytest, "-m", "not slow", "tests/bridge/test_laws.py")
    package = revision_folder(NEXT)
    new = f"from mcp_bindings.{package} import App, Client, Server; import mcp_bindings; print(mcp_bindings.App is App)"
    yield "the new bindings are imported", ".", ("-c", new)
    if suite:
        yield "conformance, all revisions", "tests", ("-m", "conformance.run", suite)


def _pairs() -> int:
    count = len(released()) + 1
    return count * (count - 1)


def main(arguments: Sequence[str]) -> int:
    """Run the script; return its exit status."""
    if not 2 <= len(arguments) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder, proposals = Path(arguments[0]).resolve(), Path(arguments[1])
    found = sorted(path.parent for path in proposals.glob("*/head.ts"))
    if not found:
        print(f"error: {proposals}: no folders of proposals in it; give PROPOSALS=FOLDER", file=sys.stderr)
        return 2
    composed = compose(found)
    print(f"{NEXT} is {_BASE} with {', '.join(composed.applied)}")
    for reason in composed.left_out.values():
        print(f"  left out: {reason}")
    rehearsal = Rehearsal(folder)
    failed = 0
    try:
        rehearsal.copy()
        rehearsal.add(composed.text)
        for layer, lines in rehearsal.layers().items():
            print(f"{lines:7} lines  {layer}")
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    for title, place, program in checks(arguments[2] if len(arguments) == 3 else ""):
        try:
            rehearsal.run(*program, folder=place)
            print(f"     ok  {title}", flush=True)
        except Failed as error:
            failed += 1
            print(f" FAILED  {title}\n{error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""From the differences between two revisions and a user's code to the lines that they affect."""

import ast
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.emit.python.package import emit_root
from mcp_bindgen.emit.python.render import Templates
from mcp_bindgen.impact.bindings import PythonName, RevisionBindings
from mcp_bindgen.impact.checkers import DEFAULT, Checker, CheckerError, Job, project_root
from mcp_bindgen.impact.marks import Marks, UseKind
from mcp_bindgen.impact.modules import Module, Modules
from mcp_bindgen.impact.names import Question, Scan
from mcp_bindgen.impact.report import Impact, Spot, Touched, Unresolved
from mcp_bindgen.impact.stubs import Note, Stubs
from mcp_bindgen.ingest.revisions import released, revision_folder
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, refuse_os_errors
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import door
from mcp_bindgen.project.request import DEFAULT_PACKAGE
from mcp_bindgen.project.settings import Settings, is_package_name

_MARK = re.compile(r"\[mcp-bindgen (\d+)\]")
_PROBE = "reveal_type("
_UNKNOWN = re.compile(r"(^|\| )(Unknown|Any|unknown|Todo|@Todo|Divergent)\b")


def marks_of(findings: Sequence[Finding], old: Protocol, new: Protocol) -> Marks:
    """Return what the findings between two revisions affect in code that uses the old bindings."""
    return Marks(findings, RevisionBindings(old), RevisionBindings(new))


def write_stubs(stubs: Stubs, folder: Path, packages: Iterable[str], *, has_root: bool = False) -> None:
    """Write the stubs below a folder, once for each name of the package.

    Args:
        stubs: the stubs.
        folder: where to write them.
        packages: the names of the package.
        has_root: whether the package of all revisions is a stub too; ty would find no other revision in it then.

    Raises:
        InputError: the folder cannot be written.
    """
    command = f"mcp-bindgen impact --stubs {folder.name}"
    files = stubs.files(command)
    for package in packages:
        inner = files
        if package == DEFAULT_PACKAGE:  # Its names are those of the newest revision in it.
            root = emit_root([revision_folder(stubs.marks.old.title)], command, Templates(), door().names)
            inner = {"__init__.pyi": root["__init__.py"]} if has_root else {}
        for name, text in inner.items():
            path = folder.joinpath(*package.split("."), name)
            with refuse_os_errors(path, "written"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")


def impact(
    stubs: Stubs,
    paths: Sequence[Path],
    packages: Sequence[str],
    checker: Checker,
    diagnostics: Diagnostics,
    *,
    module: Path | None = None,
) -> Impact:
    """Return how the differences between two revisions affect Python code.

    Args:
        stubs: the old bindings, with marks on what the differences affect.
        paths: files and folders of the code.
        packages: the dotted names under which the code imports the bindings of the old revision.
        checker: the type checker that infers the types of the code.
        diagnostics: receives the files that cannot be read.
        module: the file that the only stub is for; None for a package, which is found by its name.

    Raises:
        InputError: a path does not exist or contains no Python file, or the checker fails.
    """
    modules = Modules(paths, frozenset(packages), diagnostics)
    scan = Scan(stubs.marks, modules)
    for each in modules.related:
        scan.read(each)
    if modules.related:
        with tempfile.TemporaryDirectory(prefix="mcp-bindgen-") as folder:
            job = Job(
                root=project_root([*paths, *([module] if module else [])]),
                files=[each.home for each in modules.related],
                stubs=Path(folder).resolve() / "stubs",
                scratch=Path(folder).resolve(),
            )
            if module is None:
                write_stubs(stubs, job.stubs, packages, has_root=checker.name != DEFAULT)
            else:
                (text,) = stubs.files("mcp-bindgen tools check --impact").values()
                job.stubs.mkdir()
                job = replace(job, texts={module.resolve().with_suffix(".pyi"): text})
            _check(stubs, modules, checker, job, scan)
    seen = {(t.spot.path, t.spot.line, id(t.finding)): t for t in reversed(scan.touched)}
    order = {id(t.finding): t.finding.fingerprint for t in {id(t.finding): t for t in scan.touched}.values()}
    touched = sorted(seen.values(), key=lambda t: (str(t.spot.path), t.spot.line, t.spot.column, order[id(t.finding)]))
    return Impact(
        old=stubs.marks.old.title,
        new=stubs.marks.new.title,
        packages=tuple(packages),
        files=len(modules.listed),
        touched=tuple(touched),
        unresolved=tuple(sorted(set(scan.unresolved))),
        lines_of={each.path: each.lines for each in modules.listed},
        imports=len(scan.used),
        unread=tuple(sorted(modules.unread)),
    )


def _check(stubs: Stubs, modules: Modules, checker: Checker, job: Job, scan: Scan) -> None:
    """Add to what a scan found: what a checker reports with the stubs, and what it answers to our questions."""
    homes = {module.home: module for module in modules.related}
    for report in _run(checker, job):
        number, module = _MARK.search(report.message), homes.get(report.path)
        if number and module:
            scan.touched += _resolved(stubs.marks, module, report, stubs.notes[int(number[1]) % len(stubs.notes)])
    # A checker that finds another error in a call does not get to its mark.
    marked = {(t.spot.path, t.name.owner, t.spot.line) for t in scan.touched if t.kind is UseKind.BUILD}
    for name, spot, last in scan.built:
        if not any((spot.path, name.owner, line) in marked for line in range(spot.line, last + 1)):
            scan.unresolved.append(Unresolved(spot, name.owner, "the call may have a type error of its own"))
    known = {(t.spot.path, t.spot.line, t.name.member) for t in scan.touched}
    unanswered = [
        question
        for question in scan.questions
        if all((question.spot.path, question.spot.line, name.member) not in known for name in question.names)
    ]
    types = _types(checker, job, unanswered)
    for question in unanswered:
        _answer(stubs.marks, question, types.get(question.asked, ""), scan)


def _resolved(marks: Marks, module: Module, report: CheckerError, note: Note) -> Iterator[Touched]:
    """Iterate over the uses that a report on one mark is about: the arguments of a call each have their line."""
    is_method = note.name.owner in marks.old.callers and note.kind is not UseKind.CALL
    if (note.name.member and not is_method) or note.kind in (UseKind.NAME, UseKind.CALL):
        spot = Spot(module.path, report.end[0], report.end[1] - len(note.name.member or note.name.owner))
        for finding in note.findings:
            yield Touched(spot=spot, kind=note.kind, name=note.name, finding=finding)
        return
    calls = _calls(module)
    call = calls.get(report.end) or calls.get(report.begin)  # It covers the function, or the arguments.
    arguments = marks.arguments(note.name)
    given = {keyword.arg or "**": keyword for keyword in call.keywords} if call else {}
    uses: list[tuple[ast.AST | None, UseKind, str, Sequence[Finding]]] = []
    for name, keyword in given.items():
        narrowed = [f for f in arguments.narrowed.get(name, ()) if note.kind is UseKind.VALUE and f in note.findings]
        uses.append((keyword, UseKind.PASS, name, [*arguments.passed.get(name, ()), *narrowed]))
    for name in arguments.omitted.keys() - given.keys() if "**" not in given else ():
        uses.append((call, UseKind.BUILD, "", arguments.omitted[name]))
    for node, kind, name, findings in uses:
        line, column = getattr(node, "lineno", report.begin[0]), getattr(node, "col_offset", report.begin[1] - 1) + 1
        for finding in findings:
            subject = PythonName(note.name.owner, name or note.name.member)
            yield Touched(spot=Spot(module.path, line, column), kind=kind, name=subject, finding=finding)


@lru_cache(maxsize=1)
def _calls(module: Module) -> Mapping[tuple[int, int], ast.Call]:
    """Return the calls of a module by where their functions end."""
    found: dict[tuple[int, int], ast.Call] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            line = node.func.end_lineno or 1
            before = module.lines[line - 1].encode()[: node.func.end_col_offset].decode("utf-8", "replace")
            found[line, len(before) + 1] = node
    return found


def _answer(marks: Marks, question: Question, type_: str, scan: Scan) -> None:
    """Decide on a question by the type of the object."""
    words = set(re.findall(r"\w+", type_))
    owners = [name for name in question.names if words & marks.old.heirs.get(name.owner, {name.owner})]
    label = question.names[0].member or ", ".join(name.owner for name in owners) or "getattr"
    while (plain := re.sub(r"\[[^\[\]]*\]", "", type_)) != type_:
        type_ = plain  # Without the arguments of generic types.
    if not type_ or _UNKNOWN.search(type_):
        scan.unresolved.append(Unresolved(question.spot, label, "the type of the object is not known"))
    for name in owners if question.hidden else ():
        findings = marks.of(name, question.kind) if name.member else ()
        scan.touched += (Touched(spot=question.spot, kind=question.kind, name=name, finding=f) for f in findings)
        if not findings:
            scan.unresolved.append(Unresolved(question.spot, label, "the names that it uses are computed"))


def _types(checker: Checker, job: Job, questions: Sequence[Question]) -> Mapping[ast.expr, str]:
    """Return the types of expressions: check a copy of the project in which `reveal_type` surrounds them."""
    asked: dict[Module, dict[ast.expr, None]] = {}
    for question in questions:
        asked.setdefault(question.module, {})[question.asked] = None
    places: dict[tuple[Path, int, int], ast.expr] = {}
    texts: dict[Path, str] = {}
    for module, nodes in asked.items():
        lines = list(module.lines)
        for line, column, expression in _probed(lines, nodes):
            places[module.home, line, column] = expression
        texts[module.home] = "\n".join(lines)
    types: dict[ast.expr, str] = {}
    probes = replace(job, files=list(texts), texts={**job.texts, **texts})
    for report in _run(checker, probes) if texts else ():
        line, column = report.begin
        node = places.get((report.path, line, column)) or places.get((report.path, line, column + 1))
        if node is not None and report.revealed:  # Some begin at the parenthesis.
            types[node] = report.revealed
    return types


def _probed(lines: list[str], nodes: Iterable[ast.expr]) -> Iterator[tuple[int, int, ast.expr]]:
    """Put `reveal_type` around expressions, and iterate over where each then begins."""
    ends: dict[tuple[int, int], int] = {}
    starts: dict[tuple[int, int], list[ast.expr]] = {}
    for node in nodes:
        starts.setdefault((node.lineno, node.col_offset), []).append(node)
        end = node.end_lineno or node.lineno, node.end_col_offset or 0
        ends[end] = ends.get(end, 0) + 1
    texts: dict[int, tuple[str, int]] = {}
    for line, column in sorted({*starts, *ends}):
        text, at = texts.get(line, ("", 0))
        text += lines[line - 1].encode()[at:column].decode("utf-8", "replace") + ")" * ends.get((line, column), 0)
        # The outer one comes first.
        found = starts.get((line, column), [])
        for node in sorted(found, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0), reverse=True):
            text += _PROBE
            yield line, len(text) + 1, node
        texts[line] = text, column
    for line, (text, at) in texts.items():
        lines[line - 1] = text + lines[line - 1].encode()[at:].decode("utf-8", "replace")


def _run(checker: Checker, job: Job) -> Iterator[CheckerError]:
    """Check the files of a job: a copy of the project if some of its files have another text."""
    if not job.texts:
        yield from checker.run(job)
        return
    mirror = Path(tempfile.mkdtemp(dir=job.scratch))
    _mirror(job.root, mirror, job.texts)
    copies = replace(job, root=mirror, files=[mirror / file.relative_to(job.root) for file in job.files])
    for report in checker.run(copies):
        yield replace(report, path=job.root / os.path.relpath(report.path, mirror))


def _mirror(root: Path, mirror: Path, texts: Mapping[Path, str]) -> None:
    """Make a copy of a project in which some files have another text; everything else is linked."""
    folders = {folder for path in texts for folder in path.parents}
    pending = [root]
    for folder in pending:  # It grows.
        (mirror / folder.relative_to(root)).mkdir(exist_ok=True)
        entries = set(folder.iterdir()) - texts.keys()
        pending += entries & folders
        for entry in entries - folders:
            (mirror / entry.relative_to(root)).symlink_to(entry)
    for path, text in texts.items():
        (mirror / path.relative_to(root)).write_text(text, "utf-8")


def packages_of(asked: str | None, settings: Settings, revision: str) -> Iterator[str]:
    """Iterate over the names under which code may import the bindings of a revision.

    A user's package contains one revision, or several in a folder each.

    Raises:
        InputError: the name is not that of a package.
    """
    name = asked or settings.package or DEFAULT_PACKAGE
    if not is_package_name(name):
        raise InputError.at("--package", f"{name!r} is not a package name: write identifiers joined by dots")
    folder = f"{name}.{revision_folder(revision)}"
    holds_one = len(settings.revisions) == 1 or bool(settings.schema)
    if asked or (settings.package and holds_one):
        yield name
    yield folder
    if name != DEFAULT_PACKAGE and not asked:
        yield f"{DEFAULT_PACKAGE}.{revision_folder(revision)}"
    if revision == max(released()):
        yield DEFAULT_PACKAGE  # It has the names of the newest revision.

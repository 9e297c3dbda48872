"""From the differences between two revisions and a user's code to the lines that they affect."""

import ast
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from mcp_bindgen.diagnostics import Diagnostics, InputError
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.impact.bindings import CALLERS, Bindings, PythonName
from mcp_bindgen.impact.checkers import Checker, Job, Report, project_root
from mcp_bindgen.impact.marks import Marks, UseKind
from mcp_bindgen.impact.modules import Module, Modules
from mcp_bindgen.impact.names import scan
from mcp_bindgen.impact.report import Impact, Spot, Touched, Unresolved
from mcp_bindgen.impact.stubs import Note, Stubs
from mcp_bindgen.impact.watched import Found, Question, Watched
from mcp_bindgen.ir.nodes import Protocol

_MARK = re.compile(r"\[mcp-bindgen (\d+)\]")
_PROBE = "reveal_type("
_UNKNOWN = re.compile(r"(^|\| )(Unknown|Any|unknown|Todo|@Todo|Divergent)\b")


def marks_of(findings: Sequence[Finding], old: Protocol, new: Protocol) -> Marks:
    """Return what the findings between two revisions affect in code that uses the old bindings."""
    return Marks(findings, Bindings(old), Bindings(new))


def write_stubs(stubs: Stubs, folder: Path, packages: Iterable[str]) -> None:
    """Write the stubs below a folder, once for each name of the package.

    Raises:
        InputError: the folder cannot be written.
    """
    files = stubs.files(f"mcp-bindgen impact --marks {folder.name}")
    for package in packages:
        for name, text in files.items():
            path = folder.joinpath(*package.split("."), name)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            except OSError as error:
                raise InputError.at(path, f"cannot be written: {error.strerror}") from None


def impact(
    marks: Marks, paths: Sequence[Path], packages: Sequence[str], checker: Checker, diagnostics: Diagnostics
) -> Impact:
    """Return how the differences between two revisions affect Python code.

    Args:
        marks: what the differences affect.
        paths: files and folders of the code.
        packages: the dotted names under which the code imports the bindings of the old revision.
        checker: the type checker that infers the types of the code.
        diagnostics: receives the files that cannot be read.

    Raises:
        InputError: a path does not exist or contains no Python file, or the checker fails.
    """
    modules = Modules(paths, diagnostics)
    related = modules.related(frozenset(packages))
    watched = Watched(marks, modules, frozenset(packages))
    found = scan(watched, related, diagnostics)
    if related:
        with tempfile.TemporaryDirectory(prefix="mcp-bindgen-") as folder:
            job = Job(
                root=project_root(paths),
                files=[module.home for module in related],
                stubs=Path(folder).resolve() / "stubs",
                scratch=Path(folder).resolve(),
            )
            _check(watched, related, checker, job, found)
    seen = {(t.spot.path, t.spot.line, id(t.finding)): t for t in reversed(found.touched)}
    order = {id(t.finding): t.finding.fingerprint for t in {id(t.finding): t for t in found.touched}.values()}
    touched = sorted(seen.values(), key=lambda t: (str(t.spot.path), t.spot.line, t.spot.column, order[id(t.finding)]))
    return Impact(
        old=marks.old.protocol.revision,
        new=marks.new.protocol.revision,
        packages=tuple(packages),
        files=len(modules.listed),
        touched=tuple(touched),
        unresolved=tuple(sorted(set(found.unresolved))),
        lines_of={module.path: module.lines for module in modules.listed},
        imports=len(found.used),
        unread=tuple(sorted(modules.unread)),
    )


def _check(watched: Watched, modules: Sequence[Module], checker: Checker, job: Job, found: Found) -> None:
    """Add to what a scan found: what a checker reports with the stubs, and what it answers to our questions."""
    stubs = Stubs(watched.marks)
    write_stubs(stubs, job.stubs, watched.packages)
    by_home = {module.home: module for module in modules}
    homes: dict[Path, Module | None] = {}
    for report in checker.run(job):
        if report.path not in homes:
            homes[report.path] = by_home.get(report.path.resolve())
        number, module = _MARK.search(report.message), homes[report.path]
        if number and module:
            found.touched += _resolved(watched, module, report, stubs.notes[int(number[1]) % len(stubs.notes)])
    known = {(t.spot.path, t.spot.line, t.name.member) for t in found.touched}
    unanswered = [
        question
        for question in found.questions
        if all((question.spot.path, question.spot.line, name.member) not in known for name in question.names)
    ]
    if unanswered:
        answers = _reveal(checker, job, unanswered)
        for question in unanswered:
            _answer(watched, question, answers.get(question, ""), found)


def _resolved(watched: Watched, module: Module, report: Report, note: Note) -> Iterator[Touched]:
    """Iterate over the uses that a report on one mark is about: the arguments of a call each have their line."""
    is_method = note.name.owner in CALLERS and note.kind is not UseKind.CALL
    if (note.name.member and not is_method) or note.kind in (UseKind.NAME, UseKind.CALL):
        spot = Spot(module.path, report.end_line, report.end_column - len(note.name.member or note.name.owner))
        for finding in note.findings:
            yield Touched(spot=spot, kind=note.kind, name=note.name, finding=finding)
        return
    call = _call_at(module, report)
    arguments = watched.arguments(note.name)
    given = {keyword.arg or "**": keyword for keyword in call.keywords} if call else {}
    uses: list[tuple[ast.AST | None, UseKind, str, Sequence[Finding]]] = []
    for name, keyword in given.items():
        uses.append((keyword, UseKind.PASS, name, arguments.passed.get(name, ())))
        if note.kind is UseKind.VALUE and name in arguments.narrowed:
            of_argument = arguments.narrowed[name]
            uses.append((keyword, UseKind.PASS, name, [f for f in note.findings if f in of_argument]))
    for name, omitted in arguments.omitted.items() if "**" not in given else ():
        if name not in given:
            uses.append((call, UseKind.BUILD, "", omitted))
    for node, kind, name, findings in uses:
        line, column = getattr(node, "lineno", report.line), getattr(node, "col_offset", report.column - 1) + 1
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


def _call_at(module: Module, report: Report) -> ast.Call | None:
    """Return the call that a report is about: it covers the function, or the arguments."""
    calls = _calls(module)
    return calls.get((report.end_line, report.end_column)) or calls.get((report.line, report.column))


def _answer(watched: Watched, question: Question, type_: str, found: Found) -> None:
    """Decide on a question by the type of the object."""
    words = set(re.findall(r"\w+", type_))
    owners = {name for name in question.names if words & {name.owner, *watched.heirs(name.owner)}}
    label = question.names[0].member or ", ".join(sorted(name.owner for name in owners))
    if not type_ or _UNKNOWN.search(_without_arguments(type_)):
        reason = "the type of the object is not known"
        found.unresolved.append(Unresolved(question.spot, label or "getattr", reason))
    elif question.hidden:
        for name in owners:
            findings = watched.marks.of(name, question.kind) if name.member else ()
            found.touched += (Touched(spot=question.spot, kind=question.kind, name=name, finding=f) for f in findings)
            if not findings:
                found.unresolved.append(Unresolved(question.spot, label, "the names that it uses are computed"))


def _without_arguments(type_: str) -> str:
    """Return a type without the arguments of generic types."""
    while (shorter := re.sub(r"\[[^\[\]]*\]", "", type_)) != type_:
        type_ = shorter
    return type_


def _reveal(checker: Checker, job: Job, questions: Sequence[Question]) -> Mapping[Question, str]:
    """Return the types of expressions: check a copy of the project in which `reveal_type` surrounds them."""
    mirror = job.scratch / "probes"
    places: dict[tuple[Path, int, int], list[Question]] = {}
    texts: dict[Path, str] = {}
    for module in dict.fromkeys(question.module for question in questions):
        own = [question for question in questions if question.module is module]
        texts[module.home], positions = _probed(module, own)
        for question, (line, column) in positions.items():
            places.setdefault((mirror / module.home.relative_to(job.root), line, column), []).append(question)
    _mirror(job.root, mirror, texts)
    files = [mirror / home.relative_to(job.root) for home in texts]
    answers: dict[Question, str] = {}
    for report in checker.run(Job(root=mirror, files=files, stubs=job.stubs, scratch=job.scratch)):
        answer = checker.revealed.search(report.message)
        for column in (report.column, report.column + 1) if answer else ():  # Some begin at the parenthesis.
            for question in places.get((report.path, report.line, column), ()):
                answers[question] = answer[1] if answer else ""
    return answers


def _probed(module: Module, questions: Sequence[Question]) -> tuple[str, dict[Question, tuple[int, int]]]:
    """Return the text of a module with `reveal_type` around the expressions, and where each then begins."""
    inserted: dict[int, list[tuple[int, str]]] = {}
    for node in dict.fromkeys(question.asked for question in questions):
        inserted.setdefault(node.lineno, []).append((node.col_offset, _PROBE))
        inserted.setdefault(node.end_lineno or node.lineno, []).append((node.end_col_offset or 0, ")"))
    lines = list(module.lines)
    for number, added in inserted.items():
        data = lines[number - 1].encode()
        for column, text in sorted(added, reverse=True):
            data = data[:column] + text.encode() + data[column:]
        lines[number - 1] = data.decode("utf-8", "replace")
    positions: dict[Question, tuple[int, int]] = {}
    for question in questions:
        line, column = question.asked.lineno, question.asked.col_offset
        before = module.lines[line - 1].encode()[:column].decode("utf-8", "replace")
        outer = [text for at, text in inserted[line] if at < column]
        depth = sum(len(text) for text in outer)
        same = [n for n in dict.fromkeys(q.asked for q in questions) if (n.lineno, n.col_offset) == (line, column)]
        inner = sorted(same, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0), reverse=True)
        depth += len(_PROBE) * (inner.index(question.asked) + 1)
        positions[question] = (line, len(before) + depth + 1)
    return "\n".join(lines), positions


def _mirror(root: Path, mirror: Path, texts: Mapping[Path, str]) -> None:
    """Make a copy of a project in which some files have another text; everything else is linked."""
    mirror.mkdir(parents=True)
    for entry in root.iterdir():
        if entry in texts:
            (mirror / entry.name).write_text(texts[entry], "utf-8")
        elif entry.is_dir() and any(path.is_relative_to(entry) for path in texts):
            _mirror(entry, mirror / entry.name, texts)
        else:
            (mirror / entry.name).symlink_to(entry)

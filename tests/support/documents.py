"""The code of Markdown pages: Python programs, shell sessions, and the output shown for them."""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PORT = "8000"
"""The port on the pages."""

_FENCE = re.compile(r"```(?P<language>[\w-]*)$")
_HEADING = re.compile(r"## +(?P<title>.+)$")
_MARK = re.compile(r"<!-- not run: (?P<reason>.+) -->$")
_NAME = re.compile(r"# (?P<name>[\w./-]+\.\w+)\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of code on a page.

    Attributes:
        language: the word after the backticks; empty for an indented block.
        text: the code, without the fence or the indentation.
        line: the number of its first line on the page.
        title: the section that it is in; empty before the first.
        reason: why it is not run, from the comment ``<!-- not run: REASON -->`` on the line before it.
        follows: whether only blank lines separate it from the previous block.
    """

    language: str
    text: str
    line: int
    title: str
    reason: str
    follows: bool

    @property
    def name(self) -> str:
        """The file name in its first line: ``# name.py``."""
        named = _NAME.match(self.text) if self.language else None
        return named["name"] if named else ""

    @property
    def is_session(self) -> bool:
        """Whether it shows commands and their output."""
        return self.language == "console" or (not self.language and self.text.startswith("$ "))


@dataclass(slots=True, kw_only=True)
class Program:
    """The Python code of one section of a page.

    Attributes:
        title: the section's.
        entry: the file to run: ``main.py``, or else the last one; empty if a session of the section runs them.
        files: file name -> text; a block whose first line is ``# name.py`` is one, for the sections that follow too;
            the others of a section together are ``main.py``, with what was imported further up the page.
        output: what the page says that it prints.
    """

    title: str
    entry: str = ""
    files: dict[str, str] = field(default_factory=dict[str, str])
    output: str = ""

    def write(self, folder: Path) -> None:
        """Write the files, with a free port in place of that of the pages, so that programs can run in parallel."""
        folder.mkdir(parents=True, exist_ok=True)
        port = str(free_port())
        for name, text in self.files.items():
            write_file(folder / name, runnable(text).replace(PORT, port))


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of a session, and the output on the page; ``...`` matches any number of lines."""

    line: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that the reader of a page writes."""

    name: str
    text: str


def pages() -> list[str]:
    """Return the Markdown pages for users and contributors, without the decision records: they quote what was tried."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return [name for name in names if not name.startswith("docs/decisions/")]


def blocks(page: str) -> Iterator[Block]:
    """Iterate over the blocks of code of a page."""
    lines = (ROOT / page).read_text("utf-8").splitlines()
    title = reason = ""
    follows, in_list, number = False, False, 0
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.match(line)
        is_indented = line.startswith("    ") and not in_list
        if not fence and not is_indented:
            heading, mark = _HEADING.match(line), _MARK.match(line)
            title = heading["title"] if heading else title
            reason = mark["reason"] if mark else reason if not line.strip() else ""
            follows = follows and not line.strip()
            in_list = line.startswith(("- ", "* ", "1. ")) or (in_list and (not line.strip() or line.startswith(" ")))
            number += 1
            continue
        in_list = False
        start = number + bool(fence)
        end = lines.index("```", start) if fence else _end_of_indented(lines, start)
        text = textwrap.dedent("\n".join(lines[start:end]))
        language = fence["language"] or "text" if fence else ""
        yield Block(language=language, text=text + "\n", line=start + 1, title=title, reason=reason, follows=follows)
        number = end + bool(fence)
        reason, follows = "", True


def programs(page: str) -> Iterator[Program]:
    """Iterate over the sections of a page that have Python code to run."""
    shared: dict[str, str] = {}
    imports = ""
    for title, section in groupby(blocks(page), key=lambda block: block.title):
        program = Program(title=title or page, files=dict(shared))
        found = list(section)
        for before, block in zip([None, *found], found, strict=False):
            if is_output(before, block):
                program.output += block.text
            if block.language != "python" or block.reason:
                continue
            if block.name:
                program.entry = block.name
                program.files[block.name] = shared[block.name] = block.text
            else:
                program.files["main.py"] = program.files.get("main.py", imports) + block.text
                imports += _imports(block.text)
        if "main.py" in program.files:
            program.entry = "main.py"
        elif any(block.is_session for block in found):
            program.entry = ""
        if program.entry:
            yield program


def session(page: str) -> list[File | Command]:
    """Return the files that the reader writes and the commands to type, in order; empty if there are no commands.

    A file that a command names and the page does not show is the example of this name; ``cat`` shows one to write.
    """
    steps: list[File | Command] = []
    for block in blocks(page):
        if block.name and not block.reason:
            steps.append(File(name=block.name, text=runnable(block.text) if block.language == "python" else block.text))
        elif block.is_session and not block.reason:
            steps += _commands(block.text)
    commands = [step for step in steps if isinstance(step, Command)]
    shown = {step.name for step in steps if isinstance(step, File)}
    named = {name for command in commands for name in re.findall(r"\b\w+\.py\b", command.line)} - shown
    examples = [path for path in sorted((ROOT / "examples").glob("*.py")) if path.name in named]
    return [*(File(name=path.name, text=path.read_text("utf-8")) for path in examples), *steps] if commands else []


def is_output(before: Block | None, block: Block) -> bool:
    """Whether a block is the output of the program before it."""
    is_text = block.language in ("", "text") and not block.is_session
    return before is not None and before.language == "python" and is_text and block.follows


def write_file(path: Path, text: str) -> None:
    """Write a file, and the folders that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def runnable(text: str) -> str:
    """Return a program, wrapped in a function if it awaits at the top level, as ``python -m asyncio`` allows."""
    if not _awaits(ast.parse(text)):
        return text
    body = textwrap.indent(text, "    ", lambda line: bool(line.strip()))
    return f"import asyncio\n\n\nasync def main() -> None:\n{body}\n\nasyncio.run(main())\n"


def _end_of_indented(lines: list[str], start: int) -> int:
    """Return the number of the line after an indented block."""
    end = start
    for number in range(start, len(lines)):
        if lines[number].startswith("    "):
            end = number + 1
        elif lines[number].strip():
            break
    return end


def _commands(text: str) -> Iterator[File | Command]:
    """Iterate over the commands of a session; a line that ends in a backslash continues on the next one."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line = re.match(r"(?:[^\n]*\\\n)*[^\n]*\n", part)
        assert line is not None
        command = Command(line=line[0].strip(), output=part[line.end() :])
        if command.line.startswith("cat "):
            yield File(name=command.line.removeprefix("cat "), text=command.output)
        yield command


def _imports(code: str) -> str:
    """Return the import statements of a block."""
    found = (node for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom))
    return "".join(f"{ast.unparse(node)}\n" for node in found)


def _awaits(node: ast.AST) -> bool:
    """Whether code awaits outside of its functions."""
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
        return True
    inner = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.FunctionDef | ast.Lambda))
    return any(_awaits(child) for child in inner if not isinstance(child, ast.AsyncFunctionDef))

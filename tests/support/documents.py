"""The code of Markdown pages: programs, and what they are said to print."""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```python\n(?P<code>.*?)^```$\n*(?P<output>(?:^(?:    [^\n]*)?\n)*)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"# (?P<name>\w+\.py)\n")
_SECTION = re.compile(r"^## +(?P<title>.+)$", re.MULTILINE)


@dataclass(slots=True, kw_only=True)
class Program:
    """The code of one section of a page.

    Attributes:
        title: the section's.
        entry: the file to run: ``main.py``, or else the last one.
        files: file name -> text; a block whose first line is ``# name.py`` is one, for the sections that follow too;
            the others of a section together are ``main.py``, with what was imported further up the page.
        output: what the page says that it prints.
    """

    title: str
    entry: str = ""
    files: dict[str, str] = field(default_factory=dict[str, str])
    output: str = ""

    def write(self, folder: Path) -> None:
        """Write the files."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(runnable(text), "utf-8")


def programs(page: str) -> Iterator[Program]:
    """Iterate over the sections of a page that have code."""
    text = (ROOT / page).read_text("utf-8")
    shared: dict[str, str] = {}
    imports = ""
    starts = [0, *(match.start() for match in _SECTION.finditer(text)), len(text)]
    for start, end in pairwise(starts):
        section = text[start:end]
        heading = _SECTION.match(section)
        program = Program(title=heading["title"] if heading else page, files=dict(shared))
        for block in _FENCE.finditer(section):
            named = _NAME.match(block["code"])
            if named:
                program.entry = named["name"]
                program.files[program.entry] = shared[program.entry] = block["code"]
            else:
                program.files["main.py"] = program.files.get("main.py", imports) + block["code"]
                imports += _imports(block["code"])
            program.output += textwrap.dedent(block["output"]).strip("\n") + "\n" if block["output"].strip() else ""
        if "main.py" in program.files:
            program.entry = "main.py"
        if program.entry:
            yield program


def runnable(text: str) -> str:
    """Return a program, in a function if it awaits outside of one, as ``python -m asyncio`` lets one do."""
    if not _awaits(ast.parse(text)):
        return text
    body = textwrap.indent(text, "    ", lambda line: bool(line.strip()))
    return f"import asyncio\n\n\nasync def main() -> None:\n{body}\n\nasyncio.run(main())\n"


def _imports(code: str) -> str:
    """Return the import statements of a block."""
    found = (node for node in ast.parse(code).body if isinstance(node, ast.Import | ast.ImportFrom))
    return "".join(f"{ast.unparse(node)}\n" for node in found)


def _awaits(node: ast.AST) -> bool:
    """Whether code awaits, that of its functions left out."""
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
        return True
    inner = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.FunctionDef | ast.Lambda))
    return any(_awaits(child) for child in inner if not isinstance(child, ast.AsyncFunctionDef))

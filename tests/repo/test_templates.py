"""docs/templates.md: its tables are those of the views and templates, and its recipes work.

UPDATE_GOLDEN=1 writes the tables.
"""

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcp_bindgen.emit.python import views
from mcp_bindgen.ir.nodes import TypeRef
from support.command import Cli
from support.documents import ROOT

PAGE = ROOT / "docs" / "templates.md"
TEMPLATES = sorted((ROOT / "templates" / "python").glob("*.j2"))
COMMENT = re.compile(r"\{# (.*?) #\}")
REVISION, PACKAGE = "2025-11-25", "v2025_11_25"


def templates_table() -> Iterator[str]:
    """Iterate over the lines of the table of templates: each says what it renders in its first line."""
    yield from ("| template | renders |", "|---|---|")
    for path in TEMPLATES:
        found = COMMENT.match(path.read_text("utf-8"))
        assert found, f"{path.name}: the first line says what it renders"
        yield f"| `{path.name}` | {found[1]} |"


def view_tables() -> Iterator[str]:
    """Iterate over the lines that document the views, from their docstrings."""
    for name in views.__all__:
        view = getattr(views, name)
        first, _, rest = (inspect.getdoc(view) or "").partition("\n")
        described = dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", rest, re.MULTILINE))
        fields = dataclasses.fields(view)
        assert described.keys() == {field.name for field in fields}, name
        yield from (f"### {name}", "", first, "", "| attribute | type | holds |", "|---|---|---|")
        for field in fields:
            words = " ".join(described[field.name].split())
            yield f"| `{field.name}` | `{_type(field.type)}` | {words} |".replace(" | None`", " \\| None`")
        yield ""


def _type(annotation: object) -> str:
    for alias, name in ((TypeRef, "TypeRef"), (TypeRef | None, "TypeRef | None")):
        if annotation == alias:
            return name
    shown = annotation.__name__ if isinstance(annotation, type) and not _arguments(annotation) else str(annotation)
    return re.sub(r"[\w.]+\.(?=[A-Z])", "", shown).replace("|", "\\|").replace(" \\| None", " | None")


def _arguments(annotation: object) -> object:
    return getattr(annotation, "__args__", ())


@pytest.mark.parametrize(("block", "table"), [("templates", templates_table), ("views", view_tables)])
def test_the_tables_are_up_to_date(block: str, table: Callable[[], Iterator[str]]) -> None:
    text = PAGE.read_text("utf-8")
    pattern = re.compile(rf"(<!-- {block}: [^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)
    assert len(pattern.findall(text)) == 1
    body = "\n".join(table()).strip()
    expected = pattern.sub(lambda found: f"{found[1]}\n{body}\n\n{found[3]}", text)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(expected, "utf-8")
    assert PAGE.read_text("utf-8") == expected, "UPDATE_GOLDEN=1 pytest tests/repo/test_templates.py"


def blocks(recipe: str, language: str) -> list[str]:
    """Return the code of one recipe in a language."""
    section = PAGE.read_text("utf-8").partition(f"### {recipe}\n")[2]
    section = re.split(r"^### [A-Za-z]|^## When", section, maxsplit=1, flags=re.MULTILINE)[0]
    found = re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert found, recipe
    return found


def run(code: str, *path: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
class TestRecipes:
    def replaced(self, cli: Cli, tmp_path: Path, **templates: str) -> Path:
        (tmp_path / "mine").mkdir()
        for name, text in templates.items():
            (tmp_path / "mine" / f"{name}.py.j2").write_text(text, "utf-8")
        cli("generate", REVISION, "--templates", tmp_path / "mine")
        return Path("generated").resolve()

    def test_a_decorator_on_each_class(self, cli: Cli, tmp_path: Path) -> None:
        recipe = "A decorator on each class"
        home = self.replaced(cli, tmp_path, **{"class": blocks(recipe, "jinja")[0]})
        (tmp_path / "acme").mkdir()
        (tmp_path / "acme" / "registry.py").write_text(
            "SEEN = []\ndef registered(cls):\n    SEEN.append(cls.__name__)\n    return cls\n", "utf-8"
        )
        code = f"from mcp_bindings.{PACKAGE} import Tool; from acme.registry import SEEN; print(SEEN)"
        assert "'Tool'" in run(code, home, tmp_path)
        shown = blocks(recipe, "python")[0]
        assert any(shown in path.read_text("utf-8") for path in home.rglob("*.py"))

    def test_google_style_docstrings(self, cli: Cli, tmp_path: Path) -> None:
        class_doc, field_doc = blocks("Google-style docstrings", "jinja")
        home = self.replaced(cli, tmp_path, class_doc=class_doc, field_doc=field_doc)
        code = f"from mcp_bindings.{PACKAGE} import CallToolRequestParams as P; print(P.__doc__)"
        assert "\n\nAttributes:\n" in run(code, home).replace("    ", "")
        text = (home / "mcp_bindings" / PACKAGE / "tools.py").read_text("utf-8")
        assert "Attributes:\n        name: " in text

    def extra(self, cli: Cli, name: str, output: str, template: str) -> None:
        Path(".git").mkdir()
        Path("pyproject.toml").write_text(f'[tool.mcp-bindgen.extra]\n"{output}" = "{name}"\n', "utf-8")
        Path(name).write_text(template, "utf-8")
        cli("generate", REVISION)
        assert cli("generate", REVISION, "--check").err == "up to date\n"

    def test_msgspec_structs(self, cli: Cli) -> None:
        recipe = "msgspec structs"
        self.extra(cli, "structs.py.j2", "structs.py", blocks(recipe, "jinja")[0])
        assert run(blocks(recipe, "python")[0], Path.cwd()) == "object\n"

    def test_a_markdown_reference(self, cli: Cli) -> None:
        recipe = "A reference of a revision in Markdown"
        self.extra(cli, "protocol.md.j2", "docs/{revision}.md", blocks(recipe, "jinja")[0])
        text = Path(f"docs/{REVISION}.md").read_text("utf-8")
        assert "\n## `tools/call`\n" in text
        assert "\nParams: `CallToolRequestParams`.\n" in text
        assert re.search(r"\n\| `inputSchema` \| `ToolInputSchema` \| yes \| \w", text)

"""The reference: pages of the runtime's modules, of the bindings of each revision, of the commands and the examples."""

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from support.public_api import binding_packages, doors

MAX_VALUE = 300
"""How many characters of a constant's value, or of a type alias, are shown."""


def runtime_pages() -> dict[str, str]:
    """Return the pages of the public modules of the runtime, as reStructuredText."""
    homes = _homes(doors())
    return {f"api/{module}.rst": _module_page(module, names, homes) for module, names in doors().items()}


def binding_pages() -> dict[str, str]:
    """Return the pages of the bindings: per revision one with its methods, and one per group of types."""
    pages: dict[str, str] = {}
    for package, names in binding_packages().items():
        folder = f"bindings/{package.rpartition('.')[2]}"
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(_group(package, name), []).append(name)
        for group, members in sorted(groups.items()):
            title = f"{group.rstrip('_')} ({import_module(package).REVISION})"
            pages[f"{folder}/{group}.rst"] = _heading(title) + "".join(
                _documented(f"{package}.{name}", getattr(import_module(package), name)) for name in members
            )
        pages[f"{folder}/index.rst"] = _revision_page(package, sorted(groups))
    return pages


def contents_of(pages: Iterable[str]) -> str:
    """Return a table of contents in Markdown."""
    entries = "\n".join(page.rpartition(".")[0] for page in pages)
    return f"\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"


def example_pages(folder: Path) -> dict[str, str]:
    """Return a page per example: what it shows, and its code."""
    pages: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        code = path.read_text("utf-8")
        about = ast.get_docstring(ast.parse(code)) or ""
        body = code.partition('"""\n')[2].lstrip("\n") if about else code
        pages[f"examples/{path.stem}.md"] = f"# {path.name}\n\n{about}\n\n```python\n{body}```\n"
    return pages


def example_index(pages: Mapping[str, str]) -> str:
    """Return the list of examples, each with the first sentence of its docstring."""
    rows: list[str] = []
    for page, text in pages.items():
        name, about = text.removeprefix("# ").split("\n\n")[:2]
        rows.append(f"| [{name}]({page}) | {' '.join(about.split())} |\n")
    return "\n| example | what it shows |\n|---|---|\n" + "".join(rows) + _hidden(pages)


def decision_index(pages: Mapping[str, str]) -> str:
    """Return the list of decision records by their titles."""
    records = {page: text for page, text in pages.items() if page.startswith("decisions/")}
    lines = (f"- [{text.partition(chr(10))[0].removeprefix('# ')}]({page})\n" for page, text in records.items())
    return "\n" + "".join(lines) + _hidden(records)


def _hidden(pages: Iterable[str]) -> str:
    entries = "\n".join(page.removesuffix(".md") for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def _homes(modules: Mapping[str, tuple[str, ...]]) -> dict[int, str]:
    """Return where each class and function is documented, by its identity: where it is defined, if that is public."""
    homes: dict[int, str] = {}
    for module, names in modules.items():
        for name in names:
            value = getattr(import_module(module), name)
            if getattr(value, "__module__", None) == module:
                homes[id(value)] = module
            else:
                homes.setdefault(id(value), module)
    return homes


def _module_page(module: str, names: Iterable[str], homes: Mapping[int, str]) -> str:
    exported = {name: getattr(import_module(module), name) for name in names}
    found = {name: value for name, value in exported.items() if not inspect.ismodule(value)}
    elsewhere = {name: homes[id(value)] for name, value in found.items() if homes[id(value)] != module}
    page = f"{_heading(module)}.. automodule:: {module}\n\n"
    page += "".join(_documented(f"{module}.{name}", found[name]) for name in found if name not in elsewhere)
    if elsewhere:
        links = ", ".join(f":py:obj:`{name} <{home}.{name}>`" for name, home in elsewhere.items())
        page += f"Also exported here: {links}.\n"
    if inner := [f"``{name}``" for name in exported if name not in found]:
        page += f"Modules: {', '.join(inner)}.\n"
    return page


def _revision_page(package: str, groups: Iterable[str]) -> str:
    bindings = import_module(package)
    rows = [
        f"   * - ``{name}``\n     - {method.direction.value.replace('_', ' ')}\n"
        f"     - {_type_link(package, method.params)}\n     - {_type_link(package, getattr(method, 'result', None))}\n"
        for name, method in bindings.METHODS.items()
    ]
    table = (
        ".. list-table:: Methods\n   :header-rows: 1\n\n   * - method\n     - direction\n     - params\n     - result\n"
    )
    contents = "".join(f"   {group}\n" for group in groups)
    return (
        f"{_heading(bindings.REVISION)}.. automodule:: {package}\n\n{table}{''.join(rows)}\n"
        f".. toctree::\n   :maxdepth: 1\n\n{contents}"
    )


def _type_link(package: str, wire_type: Any) -> str:
    name = str(wire_type).removeprefix("WireType(").removesuffix(")").rpartition(".")[2] if wire_type else ""
    return f":py:obj:`~{package}.{name}`" if name in binding_packages()[package] else ""


def _group(package: str, name: str) -> str:
    homes: Mapping[str, str] = vars(import_module(package))["_HOMES"]
    return homes.get(name, "constants")


def _heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n\n"


def _documented(name: str, value: object) -> str:
    """Return the directive that documents a public name."""
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        bases = "" if value.__bases__ == (object,) else "   :show-inheritance:\n"
        return f".. auto{kind}:: {name}\n   :members:\n   :exclude-members: model_config\n{bases}\n"
    if inspect.isfunction(value):
        return f".. autofunction:: {name}\n\n"
    return _documented_data(name)


def _documented_data(name: str) -> str:
    """Return the directive of a constant or a type alias, with the docstring below its definition."""
    module, _, attribute = name.rpartition(".")
    statement, text = _definition(module, attribute)
    spelled = statement.annotation if isinstance(statement, ast.AnnAssign) else None
    lines = [f".. py:data:: {name}"]
    if spelled is not None and "TypeAlias" not in ast.unparse(spelled):
        lines.append(f"   :type: {ast.unparse(spelled)}")
    value = ast.unparse(statement.value) if statement.value else ""
    if 0 < len(value) <= MAX_VALUE:
        lines.append(f"   :value: {value}")
    return "\n".join([*lines, "", *(f"   {line}" for line in text.splitlines()), "", ""])


def _definition(module: str, name: str) -> tuple[ast.Assign | ast.AnnAssign, str]:
    """Return the statement that defines a name, wherever it is imported from, and the docstring below it."""
    loaded = import_module(module)
    homes: Mapping[str, str] = vars(loaded).get("_HOMES", {})
    if name in homes:
        return _definition(f"{module}.{homes[name]}", name)
    tree = ast.parse(inspect.getsource(loaded))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            return _definition(f"{loaded.__package__}.{node.module}" if node.level else str(node.module), name)
    body = tree.body
    for node, following in zip_longest(body, body[1:]):
        # A recursive alias has one definition for type checkers, and one for pydantic.
        match node.body[-1] if isinstance(node, ast.If) else node:
            case (ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found))) as statement if (
                found == name
            ):
                match following:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        return statement, inspect.cleandoc(text)
                    case _:
                        return statement, ""
            case _:
                pass
    raise LookupError(f"{module} does not define {name}")


def command_page() -> str:
    """Return the help of every command, as it prints it."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from mcp_bindgen.cli.app import app

    def helps(path: tuple[str, ...], command: Any) -> Iterator[str]:
        text = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, [*path, "--help"]).output
        yield f"\n## mcp-bindgen {' '.join(path)}".rstrip() + f"\n\n```text\n{text.strip()}\n```\n"
        for name, inner in getattr(command, "commands", {}).items():
            yield from helps((*path, name), inner)

    return "".join(helps((), get_command(app)))

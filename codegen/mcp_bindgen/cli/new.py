"""`mcp-bindgen new` and `dev`: a new project, and its server in the inspector."""

import keyword
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from mcp_bindgen.cli.options import port_option
from mcp_bindgen.ingest.paths import shown, write_file
from mcp_bindgen.ir.diagnostics import InputError, refuse_os_errors
from mcp_bindgen.live.reloading.serving import serve_file, split_target, why_foreign

_TAKEN: Final = {*sys.stdlib_module_names, "mcp", "mcp_bindgen", "mcp_bindings", "mcp_runtime", "pydantic", "pytest"}
"""Names of modules that a server in the same folder would hide."""
_INSPECTOR: Final = "@modelcontextprotocol/inspector"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What the templates of a new project show.

    Attributes:
        name: its name.
        module: the module of its server.
        title: its name for people.
        bindings: the version of the bindings that it needs.
    """

    name: str
    module: str
    title: str
    bindings: str


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the project, and of its folder.")],
) -> None:
    """Write a project: a server, its test, pyproject.toml, a Dockerfile and a README.

    The server keeps notes: one tool and one resource, to change into what you need.
    """
    from mcp_bindgen.emit.header import tool_version
    from mcp_bindgen.emit.python.render import Page, Templates

    folder = Path(name)
    name = folder.name
    module = name.lower().replace("-", "_")
    if not module.isidentifier() or not module.isascii() or keyword.iskeyword(module):
        raise InputError.at(name, "must be letters, digits, - and _, beginning with a letter")
    if module in _TAKEN:
        raise InputError.at(name, f"is the name of another module; choose one such as {name}-server")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError.at(folder, "exists already")
    title = name.replace("-", " ").replace("_", " ").capitalize()
    project = Project(name=name, module=module, title=title, bindings=tool_version())
    files = {
        f"{module}.py": "server.py.j2",
        f"test_{module}.py": "test_server.py.j2",
        "pyproject.toml": "pyproject.toml.j2",
        "Dockerfile": "Dockerfile.j2",
        "README.md": "README.md.j2",
    }
    templates = Templates(shelf="project")
    # Without a path a page has no header: these files are the user's own.
    pages = {path: Page(path="", template=template, context={"project": project}) for path, template in files.items()}
    rendered = {path: templates.render([page], ())[""] for path, page in pages.items()}
    with refuse_os_errors(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    for path, text in rendered.items():
        write_file(folder / path, text)
    print(f"wrote {shown(folder)} ({', '.join(rendered)})", file=sys.stderr)
    print(f"next: cd {shown(folder)}, then mcp-bindgen dev {module}.py; README.md has more", file=sys.stderr)


def dev(
    server: Annotated[str, typer.Argument(metavar="FILE[:NAME]", help="The server, as `run` takes it.")],
    *,
    port: Annotated[int | None, port_option()] = None,
) -> None:
    """Serve a file with reload, in the official inspector; with --port, or without npx, over HTTP.

    The inspector starts the server; npx downloads it the first time. A change of a Python file in the folder restarts
    the server.
    """
    path, _ = split_target(server)
    if not path.is_file():
        raise InputError.at(path, "no such file")
    if why := why_foreign(path):
        raise InputError.at(path, why)
    npx = shutil.which("npx")
    if npx is None or port is not None:
        if port is None:
            print("npx is not installed, so there is no inspector; serving over HTTP with reload", file=sys.stderr)
        raise typer.Exit(serve_file([server, "--reload", "--http", "--port", str(8000 if port is None else port)]))
    command = [npx, "--yes", _INSPECTOR, sys.executable, "-m", "mcp_bindgen", "run", server, "--reload"]
    raise typer.Exit(subprocess.run(command, check=False).returncode)

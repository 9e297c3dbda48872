"""Serve the App or Server that a Python file defines: ``python -m mcp_runtime FILE``, ``mcp-bindgen run FILE``."""

import argparse
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from mcp_runtime.core.errors import AuthorError, LifespanError, McpError, printable
from mcp_runtime.core.handlers import ServerHandlers

BAD_INPUT: Final = 2
"""The exit status if a file cannot be served."""

_FOREIGN: Final = re.compile(r"^[ \t]*(?:from|import)[ \t]+(fastmcp|mcp)\b", re.MULTILINE)
_OWN: Final = re.compile(r"^[ \t]*(?:from|import)[ \t]+mcp_(?:bindings|runtime)\b", re.MULTILINE)
"""Imports of other frameworks and of this one, read without `ast`, which takes time to import."""


class Unusable(Exception):
    """A file cannot be served; the message says why."""


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Lays out help as that of the other commands."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: ")


class _Parser(argparse.ArgumentParser):
    """Words errors as those of the other commands."""

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (-\S+)", message)
        if unknown:
            from difflib import get_close_matches

            known = re.findall(r"--[a-z-]+", self.format_help())
            near = get_close_matches(unknown[1].partition("=")[0], known, 1)
            message = f"No such option: {unknown[1]}{f'. Did you mean {near[0]}?' if near else ''}"
        self.exit(BAD_INPUT, f"{self.format_usage()}Try '{self.prog} -h' for help.\n\nError: {message}\n")


def serve_file(
    arguments: Sequence[str],
    *,
    program: str = "python -m mcp_runtime",
    see_also: str = "",
    reload: Callable[[Path, Sequence[str], bool], None] | None = None,
) -> int:
    """Serve what a file defines until the client leaves; return the exit status.

    Args:
        arguments: those of the command.
        program: the command, for its help and errors.
        see_also: the last line of the help.
        reload: serves the file in a child process and restarts it when a Python file changes; gets the path, the
            arguments for the child, and whether it serves over HTTP. Without it there is no ``--reload``.
    """
    parser = _Parser(
        prog=program,
        usage=f"{program} [OPTIONS] FILE[:NAME]",
        description="  Serve the App or Server of a Python file, over stdio or HTTP.",
        epilog=f"  Example:  {program} server.py --http --port 8000{see_also}",
        formatter_class=_Layout,
        add_help=False,
        allow_abbrev=False,
    )
    target = parser.add_argument_group("Arguments")
    target.add_argument("target", metavar="FILE[:NAME]", help="A Python file, and the variable if it defines several.")
    add = parser.add_argument_group("Options").add_argument
    http_help = "Serve over HTTP (needs mcp-bindings[http]); --host, --port and --allowed-host are for it."
    add("--http", action="store_true", help=http_help)
    add("--host", metavar="HOST", help="Address to listen on (default 127.0.0.1).")
    add("--port", metavar="PORT", type=int, help="Port to listen on (default 8000; 0 picks a free one).")
    allowed_help = "Host name that clients may use; repeat for more (default: those of this machine)."
    add("--allowed-host", action="append", metavar="NAME", help=allowed_help)
    if reload is not None:
        add(
            "--reload", action="store_true", help="Restart when a Python file changes; clients on stdio stay connected."
        )
    add("-h", "--help", action="help", help="Show this message and exit.")
    given = parser.parse_args(arguments)
    if not given.http and any(option is not None for option in (given.host, given.port, given.allowed_host)):
        parser.error("--host, --port and --allowed-host are for --http; without it the server uses stdin and stdout")
    try:
        if reload is not None and given.reload:
            # An error in the file is printed by the child, and the next change may correct it.
            reload(_existing(given.target), [word for word in arguments if word != "--reload"], given.http)
            return 0
        # The file's output must not mix with the messages.
        with redirect_stdout(sys.stderr):
            server = load_server(given.target)
        _serve(server, given)
    except (Unusable, LifespanError, ValueError, OSError, ModuleNotFoundError) as error:
        print(f"{program.removesuffix(' run')}: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    return 0


def load_server(target: str) -> ServerHandlers:
    """Return the server that a file defines.

    Args:
        target: the path of the file, and the name of the variable after a colon if the file defines several servers.

    Raises:
        Unusable: the file cannot be read or fails, no server or several servers are found in it, or the server cannot
            be bridged to the revisions that it names.
    """
    path, name = split_target(target)
    server = _find(path, name)
    try:
        server.__binding__.bridges(server.effective_options().revisions)
    except (ValueError, McpError) as error:
        raise Unusable(str(error)) from None
    return server


def foreign_import(path: Path) -> str:
    """Return why a file cannot be served if it is written for another framework; empty if it is not."""
    text = path.read_text("utf-8", errors="replace")
    found = _FOREIGN.search(text)
    if found is None or _OWN.search(text) or found[1] in (beside.stem for beside in path.resolve().parent.iterdir()):
        return ""
    line = text.count("\n", 0, found.start(1)) + 1
    return f"line {line} imports {found[1]}, not mcp_bindings; docs/porting.md shows what to change"


def split_target(target: str) -> tuple[Path, str]:
    """Split a path from the name after it; a Windows drive letter is not a path."""
    file, colon, name = target.rpartition(":")
    return (Path(file), name) if colon and name.isidentifier() and len(file) > 1 else (Path(target), "")


def _find(path: Path, name: str) -> ServerHandlers:
    """Return the server that a file defines.

    Raises:
        Unusable: there is none, or it is not clear which.
    """
    found: dict[str, Any] = vars(_load(path))
    if name:
        if name not in found:
            served = [key for key, value in found.items() if isinstance(value, ServerHandlers)]
            hint = f"; use {path}:{served[0]}" if served else ""
            raise Unusable(f"{path}: {name} is not defined in it{hint}")
        given: Any = found[name]
        server: Any = given() if _is_class_of_servers(given) else given
        if not isinstance(server, ServerHandlers):
            raise Unusable(f"{path}: {name} is not an App or a Server, but of the type {type(given).__name__}")
        return server
    servers = {key: value for key, value in found.items() if isinstance(value, ServerHandlers)}
    if not servers:
        raise Unusable(f"{path}: no App or Server instance found; define one, for example app = App('name')")
    if len({id(server) for server in servers.values()}) > 1:
        raise Unusable(f"{path}: it defines {', '.join(servers)}; choose one: {path}:{next(iter(servers))}")
    return next(iter(servers.values()))


def _is_class_of_servers(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, ServerHandlers)


def _existing(target: str) -> Path:
    path, _ = split_target(target)
    if not path.is_file():
        raise Unusable(f"{path}: no such file")
    return path


def _serve(server: ServerHandlers, given: argparse.Namespace) -> None:
    if not given.http:
        from mcp_runtime.core.transports.stdio import serve_stdio

        serve_stdio(server)
        return
    from mcp_runtime.web_server import serve_http

    def started(url: str) -> None:
        print(f"serving at {url}/mcp", file=sys.stderr)

    host, port = given.host or "127.0.0.1", 8000 if given.port is None else given.port
    serve_http(server, host=host, port=port, hosts=given.allowed_host, started=started)


def _load(path: Path) -> ModuleType:
    """Import a file as a module of its name.

    Raises:
        Unusable: it cannot be read, or fails; says where.
    """
    spec = importlib.util.spec_from_file_location(path.stem, _existing(str(path)))
    if spec is None or spec.loader is None:
        raise Unusable(f"{path} is not a .py file")
    if reason := foreign_import(path):
        raise Unusable(f"{path}: {reason}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, AuthorError):
            raise Unusable(str(error)) from None
        from mcp_runtime.app.advice import described

        raise Unusable(f"{_place(path, error)}: {described(error)}") from None
    return module


def _place(path: Path, error: BaseException) -> str:
    """Return the last line of the file that led to an error, or the line of an error of syntax."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path or frame.filename == str(path.resolve())]
    return f"{path}:{lines[-1]}" if lines else str(path)

"""`mcp-bindgen run`: serve what a file defines. It does not need the codegen extra."""

import argparse
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from mcp_bindgen.diagnostics import printable

BAD_INPUT: Final = 2


class _Unusable(Exception):
    """A file cannot be served; the message says why."""


def serve_file(arguments: Sequence[str]) -> int:
    """Serve what a file defines until the client leaves; return the exit status.

    Args:
        arguments: those of the command.
    """
    parser = argparse.ArgumentParser(
        prog="mcp-bindgen run",
        description="Serve the App or Server of a Python file, over stdio or HTTP, in every revision.",
        epilog="Example:  mcp-bindgen run server.py --http --port 8000\nSee also: mcp-bindgen docs app",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("target", metavar="FILE[:NAME]", help="a Python file, and the variable if it defines several")
    parser.add_argument("--http", action="store_true", help="serve over HTTP (extra: mcp-bindgen[http])")
    parser.add_argument("--host", help="address to listen on with --http (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on with --http (default: 8000)")
    allowed_help = "host name that clients may use with --http; repeatable (default: those of this machine)"
    parser.add_argument("--allowed-host", action="append", metavar="NAME", help=allowed_help)
    reload_help = "restart when a Python file changes; clients on stdio stay connected (extra: mcp-bindgen[cli])"
    parser.add_argument("--reload", action="store_true", help=reload_help)
    given = parser.parse_args(arguments)
    if not given.http and any(option is not None for option in (given.host, given.port, given.allowed_host)):
        parser.error("--host, --port and --allowed-host are for --http; without it the server uses stdin and stdout")
    if given.reload:
        return _serve_reloading(given, arguments)
    try:
        # The file's output must not mix with the messages.
        with redirect_stdout(sys.stderr):
            server = _find(*split_target(given.target))
            _check_bridges(server)
    except _Unusable as error:
        return _refused(error)
    from mcp_runtime.core.errors import LifespanError

    try:
        if given.http:
            _serve_http(
                server, given.host or "127.0.0.1", 8000 if given.port is None else given.port, given.allowed_host
            )
        else:
            from mcp_runtime.core.transports.stdio import serve_stdio

            serve_stdio(server)
    except (LifespanError, ValueError, OSError, ModuleNotFoundError) as error:
        return _refused(error)
    return 0


def _refused(reason: object) -> int:
    """Print why a file is not served, and return the exit status."""
    print(f"mcp-bindgen: {printable(str(reason))}", file=sys.stderr)
    return BAD_INPUT


def _serve_reloading(given: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Serve a file in a child process; an error in the file is printed there, and the next change may correct it."""
    path, _ = split_target(given.target)
    try:
        from mcp_bindgen.live.reloading import serve_reloading

        if not path.is_file():
            raise _Unusable(f"{path}: no such Python file")
        serve_reloading(path, [word for word in arguments if word != "--reload"], http=given.http)
    except ModuleNotFoundError:
        return _refused("--reload needs watchfiles: pip install 'mcp-bindgen[cli]'")
    except _Unusable as error:
        return _refused(error)
    return 0


def _serve_http(server: Any, host: str, port: int, hosts: list[str] | None) -> None:
    from mcp_runtime.core.transports.http import serve_http

    def started(url: str) -> None:
        print(f"serving at {url}/mcp", file=sys.stderr)

    serve_http(server, host=host, port=port, hosts=hosts, started=started)


def split_target(target: str) -> tuple[Path, str]:
    """Split a path from the name after it; a Windows drive letter is not a path."""
    file, colon, name = target.rpartition(":")
    return (Path(file), name) if colon and name.isidentifier() and len(file) > 1 else (Path(target), "")


def _find(path: Path, name: str) -> Any:
    """Return the server that a file defines.

    Raises:
        _Unusable: there is none, or it is not clear which.
    """
    found: dict[str, Any] = vars(_load(path))
    if name:
        if name not in found:
            raise _Unusable(f"{path}: {name} is not defined in it")
        given = found[name]
        server: Any = given() if _is_class_of_servers(given) else given
        if not _is_server(server):
            raise _Unusable(f"{path}: {name} is not an App or a Server, but of the type {type(given).__name__}")
        return server
    servers = {key: value for key, value in found.items() if _is_server(value)}
    if not servers:
        raise _Unusable(f"{path}: no App or Server instance found")
    if len({id(server) for server in servers.values()}) > 1:
        raise _Unusable(f"{path}: it defines {', '.join(servers)}; say which: {path}:{next(iter(servers))}")
    return next(iter(servers.values()))


def _check_bridges(server: Any) -> None:
    """Check that the server can be bridged to the revisions that it is to speak.

    Raises:
        _Unusable: it cannot; says why.
    """
    from mcp_runtime.core.errors import McpError

    try:
        server.__binding__.bridges(server.effective_options().revisions)
    except (ValueError, McpError) as error:
        raise _Unusable(str(error)) from None


def _is_server(value: Any) -> bool:
    from mcp_runtime.core.handlers import ServerHandlers

    return isinstance(value, ServerHandlers)


def _is_class_of_servers(value: Any) -> bool:
    from mcp_runtime.core.handlers import ServerHandlers

    return isinstance(value, type) and issubclass(value, ServerHandlers)


def _load(path: Path) -> ModuleType:
    """Import a file as a module of its name.

    Raises:
        _Unusable: it cannot be read, or fails; says where.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise _Unusable(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise _Unusable(f"{error.filename}:{error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        from mcp_runtime.app import DefinitionError

        if isinstance(error, DefinitionError):
            raise _Unusable(str(error)) from None
        raise _Unusable(f"{_place(path, error)}: {type(error).__name__}: {error}") from None
    return module


def _place(path: Path, error: BaseException) -> str:
    """Return the last line of the file that led to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path or frame.filename == str(path.resolve())]
    return f"{path}:{lines[-1]}" if lines else str(path)

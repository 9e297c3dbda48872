"""A peer's text becomes part of a path only in the functions listed here, each of which takes it safely."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PACKAGE = Path(__file__).resolve().parents[2] / "runtime" / "mcp_runtime"
JOINING: Final = {
    "auth/client/store.py: FileStore.locked": "a fixed suffix of the user's own path",
    "client_features/roots.py: inside": "checks the resolved path against the folders that it may be in",
    "extensions/skills/client.py: _keep": "a random name beside the file",
    "extensions/skills/client.py: _place": "takes digests of names only",
    "extensions/skills/folders.py: Folder.look": "a constant, below the server's own folder",
    "host/config.py: _Reader.server": "the lock file, which the configuration names",
}
"""The functions that join paths from parts that are not literals, and why each is safe."""
_CALLS: Final = frozenset(("joinpath", "with_name", "with_segments"))


def _joins(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(
            op=ast.Div(), right=ast.Name() | ast.Subscript() | ast.Call() | ast.Attribute() | ast.JoinedStr()
        ):
            return True
        case ast.Call(func=ast.Attribute(attr=name)) if name in _CALLS:
            return True
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="path"), attr="join")):
            return True
        case _:
            return False


def _holders(node: ast.AST, outer: tuple[str, ...] = ()) -> Iterator[str]:
    """Iterate over the functions that join paths."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _holders(child, (*outer, child.name))
            continue
        if _joins(child):
            yield ".".join(outer)
        yield from _holders(child, outer)


def test_paths_are_joined_in_known_functions_only() -> None:
    found: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        if "pathlib" in text or "os.path" in text:
            found |= {f"{path.relative_to(PACKAGE).as_posix()}: {name}" for name in _holders(ast.parse(text))}
    assert found == JOINING.keys(), "join a peer's text with inside() or safe_join(), or a digest of it"

"""Tests use what users can: they neither read nor patch private names, except those in a list with reasons."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FOREIGN = ("interop/", "conformance/")
"""Folders whose programs run other people's libraries."""
PUBLIC = ("_exit", "_replace", "_asdict", "_fields", "_make")
"""Documented names of the standard library that begin with an underscore."""

SUSPECT = re.compile(r"""(?<!self)(?<!cls)\._[A-Za-z]|[\s"']_[A-Za-z]""")
"""Text without it has no private name, and need not be parsed."""

EXCEPTIONS = {
    ("functional/test_packages.py", "_HOMES"): "the only thing that tells when a module of bindings is loaded",
    ("observe/test_observer.py", "_legacy"): "what an observer keeps of calls that have ended is seen nowhere else",
    ("runtime/test_floods.py", "_items"): "what a stream holds is seen nowhere else",
    ("runtime/test_tasks_flow.py", "_owners"): "what a store keeps of a client that left is seen nowhere else",
    ("runtime/transports/test_stdio_descriptors.py", "_reopened"): "a system without /proc cannot be had here",
    ("runtime/transports/test_stdio_end.py", "_LAST_RESORT"): "the wait for a process that ignores signals is long",
    (
        "soak/test_faults.py",
        "mcp_runtime.core.transports.stdio_client._LINGER",
    ): "a longer wait, for a machine under load",
}
"""Test file and private name, and why the test needs it."""


def test_tests_use_no_private_names() -> None:
    assert {key for path in sorted(TESTS.rglob("*.py")) for key in uses(path)} == EXCEPTIONS.keys()


def uses(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the private names of the product that a file of the tests reads, imports or patches."""
    name = path.relative_to(TESTS).as_posix()
    text = path.read_text("utf-8")
    if name.startswith(FOREIGN) or not SUSPECT.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=used) if is_private(used):
                yield name, used
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("mcp_"):
                yield from ((name, alias.name) for alias in names if is_private(alias.name))
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[*targets]):
                texts = [t.value for t in targets[:2] if isinstance(t, ast.Constant) and isinstance(t.value, str)]
                yield from ((name, text) for text in texts if any(map(is_private, text.split("."))))
            case _:
                continue


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC

"""Advice for the author of a module that fails: the name that was meant, or what is missing."""

import builtins
import os
import re
import sys
from collections.abc import Iterable, Iterator
from inspect import signature
from traceback import walk_tb
from types import FrameType, FunctionType
from typing import Any, Final

_KEYWORD: Final = re.compile(r"([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'")
"""How Python reports an unknown keyword argument, with the qualified name of the function."""
_BINDINGS: Final = "mcp_bindings"
_OURS: Final = re.compile(r"mcp_(?:runtime|bindings)\b")
_BETWEEN: Final = re.compile(r"(?:mcp_runtime|mcp_bindings|contextlib|asyncio)\b")
"""Modules that authors call, and modules through which they call."""
_MAX_NAMES: Final = 12
"""The number of names that are listed."""


def described(error: BaseException) -> str:
    """Describe an exception of an author's module in one line, with advice if there is some."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        line = (error.text or "").strip()
        return f"{error.msg}: {line}" if line else error.msg
    if isinstance(error, KeyError) and frames and isinstance(frames[-1].f_locals.get("self"), type(os.environ)):
        name = error.args[0]
        return f"the environment variable {name} is not set; set it, or pass --env {name}=VALUE to inspect or check"
    advice = "" if "Did you mean" in str(error) else _advice(error, frames)  # Python 3.13 has its own for some
    return f"{type(error).__name__}: {error}{advice and f'; {advice}'}"


def misspelt(error: BaseException) -> str:
    """Return the author's line and the advice on a name or an option of this package; empty for any other error."""
    steps = [(frame, line, str(frame.f_globals.get("__name__"))) for frame, line in walk_tb(error.__traceback__)]
    owner = ""
    if isinstance(error, ImportError):
        owner = error.name or ""
    elif isinstance(error, NameError):
        owner = _BINDINGS if error.name in _names_in(_BINDINGS) else ""
    elif isinstance(error, AttributeError):
        owner = (error.obj if isinstance(error.obj, type) else type(error.obj)).__module__
    elif isinstance(error, TypeError) and (found := _KEYWORD.search(str(error))):
        owner = next((each.__module__ for each in _functions(found[1], [steps[-1][0]])), "")
    elif isinstance(error, TypeError) and str(error).startswith("unexpected keyword argument"):
        owner = steps[-1][2]
    authors = [f"{frame.f_code.co_filename}:{line}" for frame, line, module in steps if not _BETWEEN.match(module)]
    return f"{authors[-1]}: {described(error)}" if authors and _OURS.match(owner) else ""


def _advice(error: BaseException, frames: list[FrameType]) -> str:
    if isinstance(error, ModuleNotFoundError):
        return "" if _OURS.match(error.name or "") else "install it where this command runs"
    if isinstance(error, ImportError):
        found = re.search(r"cannot import name '(\w+)'", str(error))
        return _meant(found[1], _names_in(error.name or "")) if found else ""
    if isinstance(error, NameError) and error.name:
        ours = _names_in(_BINDINGS)
        if error.name in ours:
            return f"write: from {_BINDINGS} import {error.name}"
        scope = [*frames[-1].f_locals, *frames[-1].f_globals] if frames else []
        return _meant(error.name, scope) or _meant(error.name, ours) or _meant(error.name, dir(builtins))
    if isinstance(error, AttributeError) and error.name:
        return _meant(error.name, dir(error.obj))
    if isinstance(error, TypeError) and (found := _KEYWORD.search(str(error))):
        taken = next((list(signature(each).parameters) for each in _functions(found[1], frames)), list[str]())
        known = [name for name in taken if name not in ("self", "cls")]
        listed = ", ".join(known[:_MAX_NAMES]) + (", ..." if len(known) > _MAX_NAMES else "")
        return _meant(found[2], known) or (listed and f"it takes {listed}")
    return ""


def _names_in(module: str) -> list[str]:
    """Return the public names of a module that is loaded, those that are imported when they are used included."""
    loaded = sys.modules.get(module)
    listed: list[str] = getattr(loaded, "__all__", [])
    return [*dir(loaded), *listed]


def _meant(name: str, known: Iterable[str]) -> str:
    """Return a hint at the name that was meant; empty if none resembles it."""
    from difflib import get_close_matches

    public = [each for each in known if not each.startswith("_")]
    longer = [each for each in public if name.startswith(f"{each}_")]  # resource_template: resource
    near = get_close_matches(name, public, 1, 0.9) or sorted(longer, key=len)[-1:] or get_close_matches(name, public, 1)
    return f"did you mean {near[0]}?" if near else ""


def _functions(name: str, frames: list[FrameType]) -> Iterator[FunctionType]:
    """Iterate over the functions of a qualified name that the last line knows, by itself or as a method."""
    values = [value for frame in frames[-1:] for value in (*frame.f_locals.values(), *frame.f_globals.values())]
    for value in values:
        kind: Any = value if isinstance(value, type) else type(value)
        bases: tuple[type, ...] = kind.__mro__
        methods = [vars(base).get(name.rpartition(".")[2]) for base in bases]
        for each in [value, *methods]:
            if isinstance(each, FunctionType) and each.__qualname__ == name:
                yield each

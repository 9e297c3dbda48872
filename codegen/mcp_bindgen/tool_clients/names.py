"""Python names for tools, their arguments and their classes: deterministic, and never those of something else."""

import keyword
import re
from collections.abc import Collection, Iterable
from functools import partial

from mcp_bindgen.emit.python.names import Convention, identifier, model_attributes, numbered, snake

RESERVED_METHODS = frozenset(("call", "check_drift"))
"""Names that the base of generated clients has for itself."""
RESERVED_PARAMETERS = frozenset(("self", "options"))
MAX_WORD = 80
"""How much of a name becomes part of a Python name, in characters."""

_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_]+")
_NOISE = {"mcp", "server"}
"""Words in the name of a server that say nothing of it."""


def unique(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, with a number if need be, and take it."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}{'_' if name[-1:].isdigit() else ''}{number}", number + 1
    taken.add(found)
    return found


def class_word(text: str) -> str:
    """Return words as part of a class name: ``get_current-time`` gives ``GetCurrentTime``."""
    found = "".join(word[:1].upper() + word[1:] for word in _NOT_WORD.split(text[:MAX_WORD]))
    return f"T{found}" if not found or found[0].isdigit() else found


def client_name(server: str) -> str:
    """Return the name of the client class: ``mcp-time`` gives ``TimeTools``."""
    words = [word for word in _NOT_WORD.split(server[:MAX_WORD]) if word and word.lower() not in _NOISE]
    found = "".join(word[:1].upper() + word[1:] for word in words)
    found = found if found and not found[0].isdigit() else f"Server{found}"
    return found if found.endswith("Tools") else f"{found}Tools"


def method_names(tools: Iterable[str]) -> dict[str, str]:
    """Name the Python method of each tool; of two that would be the same, the one that needs no change keeps it."""
    return numbered({tool: _method(tool) for tool in sorted(tools)})


def convention(classes: Collection[str]) -> Convention:
    """Return how fields are named: as their properties, as far as Python has such names; `classes` are taken."""
    return Convention(attributes=partial(_attributes, classes), wire_name=str)


def is_class_name(text: str) -> bool:
    """Whether a text can name the client class."""
    return text.isidentifier() and text.isascii() and not keyword.iskeyword(text) and not text.startswith("_")


def _method(tool: str) -> str:
    name = identifier(snake(tool[:MAX_WORD]) or "tool")
    return f"{name}_" if name in RESERVED_METHODS else name


def _attributes(classes: Collection[str], wire_names: Iterable[str]) -> dict[str, str]:
    """Name the fields of a model: constructors take the wire name too, so no field may have that of another."""
    wanted = {wire_name: _attribute(wire_name, classes) for wire_name in wire_names}
    return numbered(wanted, avoided=wanted)


def _attribute(wire_name: str, classes: Collection[str]) -> str:
    name = identifier(_NOT_NAME.sub("_", wire_name[:MAX_WORD]).strip("_") or "field")
    return f"{name}_" if name in model_attributes() | RESERVED_PARAMETERS or name in classes else name

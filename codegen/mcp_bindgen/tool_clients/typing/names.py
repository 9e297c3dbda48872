"""Python names for tools, their arguments and their classes: deterministic and unique."""

import keyword
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from mcp_bindgen.emit.python.names import Convention, identifier, model_attributes, numbered, snake
from mcp_bindgen.ir.json_values import is_list, is_object
from mcp_bindgen.tool_clients.typing.keywords import texts

RESERVED_METHODS = frozenset(("call", "check_drift"))
"""Names that the base of generated clients has for itself."""
RESERVED_PARAMETERS = frozenset(("self", "options"))
MAX_NAME = 120
"""How much of the name of a place becomes part of the names of objects in it, in characters."""
MAX_WORD = 80
"""How much of a name becomes part of a Python name, in characters."""

_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_]+")
_NOISE = {"mcp", "server"}
"""Words in the name of a server that carry no information."""


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


def alternative_words(members: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return words that distinguish alternatives, for their class names.

    These are their titles, the constants of a property that all of them have, or a property that no other one has,
    preferably a required one; otherwise alternatives are numbered.
    """
    properties = [member["properties"] for member in members]
    words = [[class_word(str(member["title"])) if member.get("title") else "" for member in members]]
    for name in properties[0]:
        words.append([_constant(of.get(name)) for of in properties])
    for each in words:
        if all(each) and len(set(each)) == len(each):
            return each
    found: list[str] = []
    for number, (member, own) in enumerate(zip(members, properties, strict=True), 1):
        others = {name for other in properties if other is not own for name in other}
        names = [name for name in (*texts(member.get("required")), *own) if name not in others]
        found.append(f"With{class_word(names[0])}" if names else f"Option{number}")
    return found


def _constant(schema: object) -> str:
    """Return the one value that a property may have as part of a class name, empty if it is none of text."""
    values = schema.get("enum", [schema.get("const")]) if is_object(schema) else None
    return class_word(values[0]) if is_list(values) and len(values) == 1 and isinstance(values[0], str) else ""


def client_name(server: str) -> str:
    """Return the name of the client class: ``mcp-time`` gives ``TimeTools``."""
    words = [word for word in _NOT_WORD.split(server[:MAX_WORD]) if word and word.lower() not in _NOISE]
    found = "".join(word[:1].upper() + word[1:] for word in words)
    found = found if found and not found[0].isdigit() else f"Server{found}"
    return found if found.endswith("Tools") else f"{found}Tools"


def method_names(tools: Iterable[str]) -> dict[str, str]:
    """Name the Python method of each tool; if two collide, the one that needs no change keeps its name."""
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
    """Name the fields of a model: constructors accept wire names too, so no field may have another's wire name."""
    wanted = {wire_name: _attribute(wire_name, classes) for wire_name in wire_names}
    return numbered(wanted, avoided=wanted)


def _attribute(wire_name: str, classes: Collection[str]) -> str:
    name = identifier(_NOT_NAME.sub("_", wire_name[:MAX_WORD]).strip("_") or "field")
    return f"{name}_" if name in model_attributes() | RESERVED_PARAMETERS or name in classes else name

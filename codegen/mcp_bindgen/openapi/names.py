"""Names and short texts of an API, as Python and models can use them: deterministic, whatever the document says."""

import builtins
import hashlib
import html
import re
from collections.abc import Collection

from mcp_bindgen.emit.python.names import identifier, snake

MAX_NAME = 64
"""The maximum length of a tool's name, which some clients do not exceed."""
MAX_WORD = 60
"""How much of the name of a schema becomes part of the name of a class."""
MODULE = frozenset(("api", "app", "http", "mcp"))
"""What the generated module itself calls so."""
IMPORTED = frozenset(("Annotated", "Any", "BaseModel", "ConfigDict", "Field", "Literal", "MISSING", "RootModel"))
"""What the generated module imports for its models; no class may have such a name."""
ANNOTATIONS = frozenset(("bool", "dict", "float", "int", "list", "str"))
"""Builtins of annotations, which no function or parameter may hide."""

_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,2000}\)")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_MAX_READ = 20_000


def class_name(text: str) -> str:
    """Return words as the name of a class: ``issue-comment`` gives ``IssueComment``."""
    found = "".join(word[:1].upper() + word[1:] for word in _NOT_WORD.split(text) if word)[-MAX_WORD:]
    found = found[:1].upper() + found[1:]
    found = f"N{found}" if not found or found[0].isdigit() else found
    return f"{found}Model" if found in IMPORTED or hasattr(builtins, found) else found


def tool_name(text: str) -> str:
    """Return an operation's id as the name of a tool; a long one is cut, and keeps a digest of the whole."""
    name = identifier(snake(text[: 4 * MAX_NAME]) or "operation").rstrip("_")
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 7].rstrip('_')}_{mark(text)}"


def function_name(tool: str) -> str:
    """Return the name of a tool's function, which hides nothing that the module uses."""
    return f"{tool}_" if tool in MODULE | ANNOTATIONS else identifier(tool)


def argument_name(text: str, place: str, taken: Collection[str]) -> str:
    """Return a name for a parameter: that of its place is added if another one has the name."""
    name = identifier(snake(text[:MAX_NAME]) or "value")
    name = f"{name}_" if name in MODULE | ANNOTATIONS or name in ("ctx", "self") else name
    name = f"{name}_{place}" if name in taken else name
    while name in taken:
        name = f"{name}_"
    return name


def mark(text: str) -> str:
    """Return a short digest of a text, which tells names apart whatever else is in the document."""
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:6]


def short(text: object, limit: int) -> str:
    """Return the first paragraph of a description as plain text of a limited length, on one line."""
    if not isinstance(text, str) or limit <= 0:
        return ""
    text = html.unescape(_TAG.sub("", _LINK.sub(r"\1", text[:_MAX_READ])))
    text = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    paragraph = " ".join(next((each for each in re.split(r"\n\s*\n", text.strip()) if each.strip()), "").split())
    if len(paragraph) <= limit:
        return paragraph
    cut = paragraph[:limit]
    end = cut.rfind(". ")
    return cut[: end + 1] if end > limit // 3 else f"{cut.rpartition(' ')[0] or cut}...".replace(",...", "...")


def one_line(text: object, limit: int = 200) -> str:
    """Return a value of the document as text on one line, without control characters."""
    shown = "".join(letter if letter.isprintable() else " " for letter in str(text)[: 4 * limit])
    return " ".join(shown.split())[:limit]

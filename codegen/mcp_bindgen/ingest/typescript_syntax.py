"""Small pieces of TypeScript syntax: literals, names, and what to call a construct that is not supported."""

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

from mcp_bindgen.ingest.typescript_source import SourceFile
from mcp_bindgen.ingest.typescript_types import Constant

_MAX_EXACT = 2**53 - 1
_PUNCTUATION = frozenset({"comment", "{", "}", "(", ")", "[", "]", "<", ">", ";", ",", ":", "=", "|", "&"})


def significant(node: Node, tokens: Iterable[str] = ()) -> Iterator[Node]:
    """Return the children that mean something: no comments, no punctuation, none of the given tokens."""
    return (child for child in node.children if child.type not in _PUNCTUATION and child.type not in tokens)


def read_identifier(file: SourceFile, node: Node) -> str:
    """Read a name, and note one that is not plain."""
    name = file.text(node)
    if "\\" in name or not node.type.endswith("identifier"):
        file.error(node, f"'{name[:40]}' is not supported as a name")
    return name


def read_literal(file: SourceFile, node: Node) -> Constant | None:
    """Read a literal value; None if JSON has none such (``10n``, ``1e400``), or after an error."""
    match node.type:
        case "string":
            return read_string(file, node)
        case "true" | "false":
            return node.type == "true"
        case "number":
            return _read_number(file.text(node))
        case "unary_expression" if [child.type for child in node.children] in (["-", "number"], ["+", "number"]):
            value = _read_number(file.text(node.children[1]))
            return -value if value is not None and node.children[0].type == "-" else value
        case _:
            return None


def _read_number(text: str) -> int | float | None:
    """Read a number that JSON has exactly, else None."""
    if re.match(r"0[0-9_]", text):  # an octal number of old
        return None
    try:
        value = int(text, 0) if re.fullmatch(r"[0-9_]{1,30}|0[xXoObB]\w{1,30}", text) else float(text)
    except ValueError:
        return None
    return value if abs(value) <= _MAX_EXACT else None


def read_string(file: SourceFile, node: Node) -> str | None:
    """Read a string in quotes; None after an error."""
    try:
        value = _ESCAPE.sub(_unescape, file.text(node)[1:-1])
        return value.encode("utf-16", "surrogatepass").decode("utf-16")  # joins the halves of a surrogate pair
    except ValueError:
        file.error(node, "the string has an escape sequence that is not supported or not valid Unicode")
        return None


_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r\n|.))", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_LINE_BREAKS = frozenset({"\r\n", "\n", "\r", "\u2028", "\u2029"})


def _unescape(escape: re.Match[str]) -> str:
    """Return the character of an escape sequence; a ValueError when there is none."""
    digits, character = escape[1] or escape[2] or escape[3], escape[4]
    if digits:
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise ValueError(digits)
        return chr(code)
    if character in "ux123456789":
        raise ValueError(character)
    return "" if character in _LINE_BREAKS else _SIMPLE_ESCAPES.get(character, character)


_LAYOUT = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?:\s|//[^\n]*|/\*.*?\*/)+""", re.DOTALL)


def one_line(text: str) -> str:
    """Return TypeScript in one line, without comments."""
    return _LAYOUT.sub(lambda match: match[1] or " ", text).strip()


MAX_SPELLED = 4000
"""How many bytes of a type are kept as its text."""


def spelled(file: SourceFile, node: Node) -> str:
    """Return a node in one line, without comments; of a very long one, the beginning."""
    end = min(node.end_byte, node.start_byte + MAX_SPELLED)
    return one_line(file.data[node.start_byte : end].decode(errors="ignore"))


_CONSTRUCTS = {
    "import_statement": "an import",
    "export_statement": "an export",
    "import_alias": "an import",
    "internal_module": "a namespace",
    "module": "a module",
    "ambient_declaration": "a declaration",
    "function_signature": "a function",
    "generator_function_declaration": "a function",
    "undefined": "'undefined'",
    "html_comment": "an HTML comment",
}


def not_read(file: SourceFile, node: Node, suffix: str = "") -> None:
    """Note something that says nothing about messages or cannot be understood, in words that its author would use."""
    if node.type == "expression_statement" and node.named_child_count == 1:
        node = node.named_children[0]
    name = node.type.removesuffix("_declaration").replace("_", " ")
    if node.type == "predefined_type" or not node.is_named:
        name = f"'{file.text(node)[:40]}'"
    else:
        name = _CONSTRUCTS.get(node.type) or f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    file.warning(node, f"{name}{suffix} is not read")

"""The text of a schema.ts: its syntax tree, its literals and names, its errors, and its comments."""

import re
import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser, Point

from mcp_bindgen.ingest.typescript_tags import Doc, parse_doc, tag_problem
from mcp_bindgen.ingest.typescript_types import Constant
from mcp_bindgen.ir.diagnostics import Diagnostics, Location

MAX_BYTES = 5_000_000
MAX_SECONDS = 10
"""Of CPU time; the parser reads 5 MB of sound TypeScript in 2."""
MAX_PARENTHESES = 5_000
"""The parser recurses over ambiguous parentheses that are never closed: 5,000 take half a megabyte of its stack."""
MAX_SYNTAX_ERRORS = 20
MAX_ERRORS = 200

Place: TypeAlias = Callable[[int, int | None], Location]
"""Makes a location of a line and a column, from 1; line 0 is the file as a whole."""


@dataclass(slots=True, kw_only=True)
class SourceFile:
    """One parsed text, and the place where its errors go."""

    data: bytes
    root: Node
    place: Place
    diagnostics: Diagnostics
    comments: dict[int, int]
    """Start of each comment by its end."""
    errors_left: int = MAX_ERRORS
    tag_problems: set[str] = field(default_factory=set[str])
    """Warnings about tags, each given once."""

    def text(self, node: Node) -> str:
        """Return a node as written."""
        return self.data[node.start_byte : node.end_byte].decode()

    def where(self, node: Node) -> Location:
        """Return the line of a node: cheap, so without the column."""
        return self.place(node.start_point.row + 1, None)

    def error(self, node: Node, message: str) -> None:
        """Note an error at a node; beyond a limit, only that there are more."""
        if self.errors_left > 0:
            line_start = node.start_byte - node.start_point.column
            column = len(self.data[line_start : node.start_byte].decode(errors="replace")) + 1
            self.diagnostics.error(self.place(node.start_point.row + 1, column), message)
        elif self.errors_left == 0:
            self.diagnostics.error(self.place(0, None), f"more than {MAX_ERRORS} errors; the others are not listed")
        self.errors_left -= 1

    def warning(self, node: Node, message: str) -> None:
        """Note something that the reader of the output should know."""
        if self.errors_left > 0:
            self.diagnostics.warning(self.place(node.start_point.row + 1, None), message)
            self.errors_left -= 1

    def doc(self, node: Node, *, plain_comments: bool = False) -> Doc:
        """Read the comment right before a node: the nearest `/** */`, or a plain `/* */` that touches a member."""
        chain, origin = self._comments_before(node.start_byte)
        begins_file = origin == 0 or (origin == len(BOM_UTF8) and self.data.startswith(BOM_UTF8))
        first_newline = -1 if begins_file else self.data.find(b"\n", origin, node.start_byte)
        following, newline_after = node.start_byte, False
        for start, end in chain:
            gap = self.data[end:following]
            newline_after = newline_after or b"\n" in gap
            if start < first_newline and newline_after:
                return Doc()  # it trails what stands before it on the same line
            if self.data.startswith(b"/**", start) and end - start > len("/**/"):
                return self._checked(parse_doc(self.data[start:end].decode()), node)
            touches = following == node.start_byte and gap.count(b"\n") <= 1
            if plain_comments and touches and self.data.startswith(b"/*", start):
                return Doc(text=parse_doc(self.data[start:end].decode()).text)  # tags exist only in /** */
            newline_after = newline_after or b"\n" in self.data[start:end]
            following = start
        return Doc()

    def _checked(self, doc: Doc, node: Node) -> Doc:
        """Return a documentation comment without the tags that cannot be read; each problem is reported once."""
        bad = {name: problem for name, text in doc.tags.items() if (problem := tag_problem(name, text))}
        for problem in bad.values():
            if problem not in self.tag_problems:
                self.tag_problems.add(problem)
                self.warning(node, problem)
        return replace(doc, tags={k: v for k, v in doc.tags.items() if k not in bad}) if bad else doc

    def _comments_before(self, position: int) -> tuple[list[tuple[int, int]], int]:
        """Return the comments that end right before a position, nearest first, and where other text ends."""
        chain: list[tuple[int, int]] = []
        while True:
            while position and self.data[position - 1] in b" \t\r\n":
                position -= 1
            start = self.comments.get(position)
            if start is None:
                return chain, position
            chain.append((start, position))
            position = start


def parse_source(text: str, place: Place, diagnostics: Diagnostics) -> SourceFile | None:
    """Parse a text and note its syntax errors; None when it cannot even be parsed."""
    try:
        data = text.encode() if len(text) <= MAX_BYTES else b""
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        diagnostics.error(place(line, column), "a lone surrogate: the text is not valid Unicode")
        return None
    if max(len(text), len(data)) > MAX_BYTES:
        diagnostics.error(place(0, None), f"longer than {MAX_BYTES // 1_000_000} MB: not read")
        return None
    if data.count(b"(") > MAX_PARENTHESES:
        diagnostics.error(place(0, None), f"more than {MAX_PARENTHESES} opening parentheses: not read")
        return None
    root = _parse(data)
    if root is None:
        diagnostics.error(place(0, None), f"not parsed within {MAX_SECONDS} seconds: is this TypeScript?")
        return None
    comments = {node.end_byte: node.start_byte for node in _nodes(root) if node.type == "comment"}
    file = SourceFile(data=data, root=root, place=place, diagnostics=diagnostics, comments=comments)
    _report_syntax_errors(file)
    return file


@cache
def _language() -> Language:
    return Language(tree_sitter_typescript.language_typescript())


def _parse(data: bytes) -> Node | None:
    """Return the syntax tree; None when it takes too long, as the search for the least syntax error may.

    Needs tree-sitter 0.26.1: the ones before crash when they are given a callback.
    """
    view, end = memoryview(data), time.thread_time() + MAX_SECONDS

    def read(offset: int, _: Point) -> memoryview:
        return view[offset:]

    def cancel(_: int, __: bool) -> bool:
        return time.thread_time() > end

    try:
        return Parser(_language()).parse(read, progress_callback=cancel).root_node
    except ValueError:
        return None


def _nodes(root: Node) -> Iterator[Node]:
    """Walk over a tree of any depth, in source order."""
    cursor = root.walk()
    while True:
        if cursor.node is not None:
            yield cursor.node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _report_syntax_errors(file: SourceFile) -> None:
    for count, node in enumerate(_syntax_errors(file.root)):
        if count == MAX_SYNTAX_ERRORS:
            file.diagnostics.error(file.place(0, None), f"more than {count} syntax errors; the others are not listed")
            return
        if node.is_missing:
            file.error(node, f"syntax error: {node.type.replace('_', ' ')} is missing")
        else:
            file.error(node, f"syntax error at {_excerpt(file.text(node))}")


def _syntax_errors(root: Node) -> Iterator[Node]:
    """Walk to the innermost ERROR and MISSING nodes in source order, without recursion."""
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        broken = [child for child in node.children if child.has_error or child.is_missing]
        if node.is_missing or not broken:
            yield node
        pending.extend(reversed(broken))


def _excerpt(text: str) -> str:
    words = " ".join(text[:200].split())
    return f"'{words[:40]}'" + (" ..." if len(words) > 40 or len(text) > 200 else "")


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


_LAYOUT = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(/\*.*?\*/)|(?:\s|//[^\n]*)+""", re.DOTALL)
_BLANKS = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/\*.*?\*/)|\s+""", re.DOTALL)


def one_line(text: str, comment: Callable[[re.Match[str]], str] = lambda _: " ") -> str:
    """Return TypeScript in one line, with another text in place of each block comment."""
    found = _LAYOUT.sub(lambda match: match[1] or (comment(match) if match[2] else " "), text)
    return _BLANKS.sub(lambda match: match[1] or " ", found).strip()


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

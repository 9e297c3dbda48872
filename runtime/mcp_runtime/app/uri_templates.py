"""Matches URIs against URI templates (RFC 6570): which values of the variables produce a URI.

A URI that several sets of values produce does not match, and neither does one whose values could be used to reach other
files: absolute paths, paths with ``..``, encoded separators and control characters.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mcp_runtime.core.protocol.uris import canonical

MAX_URI: Final = 8192
"""The maximum length of a URI in characters."""
MAX_VARIABLES: Final = 20

_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_HIDDEN: Final = re.compile(r"%(?:2f|5c|0[0-9a-f]|1[0-9a-f]|7f)", re.IGNORECASE)
"""Separators and control characters, encoded."""
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:")
"""How absolute paths begin, with a drive on Windows."""
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ENDS_SEGMENT: Final = "/?#"
_ENDS_PATH: Final = "?#"
_QUERY: Final = "?"
_PREFIXES: Final[Mapping[str, str]] = {"": "", "+": "", "/": "/", ".": "."}
"""The prefix that each operator writes before its variable."""


class _Variable(NamedTuple):
    """A variable within a path.

    Attributes:
        name: its name.
        ends: the characters that its values cannot contain.
    """

    name: str
    ends: str


class Raw:
    """Marks a parameter that takes any text, also a path to other files: ``path: Annotated[str, Raw]``."""


class UriTemplate:
    """A template whose variables can be read from a URI.

    Args:
        text: the template, such as ``tracker://issues/{number}{?details}``.
        raw: the variables whose values may be any text.

    Attributes:
        text: the template.
        names: its variables.

    Raises:
        ValueError: it is not a valid template, or its variables could not be read from a URI; the message says why.
    """

    def __init__(self, text: str, raw: Collection[str] = ()) -> None:
        from uritemplate import URITemplate

        self.text = text
        self._raw = raw
        if "{" in _EXPRESSION.sub("", text) or "}" in _EXPRESSION.sub("", text):
            raise ValueError("its braces are not balanced")
        self._parts: list[str | _Variable] = []
        self._query: tuple[str, ...] = ()
        expressions = iter(URITemplate(text).variables)
        for place, piece in enumerate(_EXPRESSION.split(text)):
            if place % 2:
                found = next(expressions)
                self._add(str(found.operator.value), found.variables, piece)
            elif piece and self._query:
                raise ValueError("nothing may follow its query")
            elif piece:
                self._parts.append(canonical(piece))
        variables = [part.name for part in self._parts if isinstance(part, _Variable)]
        self.names = (*variables, *self._query)
        if len(set(self.names)) < len(self.names) or len(self.names) > MAX_VARIABLES:
            raise ValueError(f"each variable may occur once, and there may be {MAX_VARIABLES}")

    def _add(self, operator: str, variables: Sequence[tuple[str, Mapping[str, object]]], piece: str) -> None:
        if any(value for _, modifiers in variables for value in modifiers.values()):
            raise ValueError(f"{{{piece}}}: explode (*) and prefix (:n) cannot be read from a URI")
        if operator == _QUERY and not self._query:
            self._query = tuple(name for name, _ in variables)
            return
        if operator not in _PREFIXES or len(variables) > 1 or self._query:
            raise ValueError(f"{{{piece}}} cannot be read from a URI; {{x}}, {{+x}}, {{/x}}, {{.x}} and {{?x,y}} can")
        if _PREFIXES[operator]:
            self._parts.append(_PREFIXES[operator])
        elif self._parts and isinstance(self._parts[-1], _Variable):
            raise ValueError(f"nothing separates {{{piece}}} from the variable before it")
        self._parts.append(_Variable(variables[0][0], _ENDS_PATH if operator == "+" else _ENDS_SEGMENT))

    def match(self, uri: str) -> Mapping[str, str] | None:
        """Return the values of the variables that produce a URI; None if there are none, several, or unsafe ones.

        Variables of a query may be absent, and a fragment behind it is not part of it. Escapes of characters that
        need none make no difference.
        """
        if len(uri) > MAX_URI or not uri.isprintable() or "\\" in uri or _BAD_ESCAPE.search(uri):
            return None
        uri = canonical(uri)
        path, mark, query = uri.partition("#")[0].partition(_QUERY) if self._query else (uri, "", "")
        read = self._read_path(path)
        if read is None:
            return None
        pairs = list(self._read_query(query)) if mark else []
        given = dict(pairs)
        if len(given) < len(pairs) or not given.keys() <= set(self._query):
            return None
        raw = {**read, **given}
        values = {name: _decoded(value, name in self._raw) for name, value in raw.items()}
        safe = {name: value for name, value in values.items() if value is not None}
        return safe if len(safe) == len(values) else None

    def _read_path(self, path: str) -> dict[str, str] | None:
        """Read the path, if there is exactly one way to do so."""
        # For each part: in how many ways (two stands for many) the preceding ones can end at each position.
        ways = [1] + [0] * len(path)
        steps: list[list[int]] = [ways]
        for part in self._parts:
            ways = _after_text(ways, path, part) if isinstance(part, str) else _after_value(ways, path, part.ends)
            steps.append(ways)
        if ways[-1] != 1:
            return None
        values: dict[str, str] = {}
        end = len(path)
        for part, before in zip(reversed(self._parts), reversed(steps[:-1]), strict=True):
            if isinstance(part, str):
                end -= len(part)
                continue
            begin = next(place for place in range(end - 1, -1, -1) if before[place])
            values[part.name] = path[begin:end]
            end = begin
        return values

    def _read_query(self, query: str) -> Iterator[tuple[str, str]]:
        for pair in query.split("&"):
            name, _, value = pair.partition("=")
            yield name, value


def _after_text(ways: list[int], path: str, text: str) -> list[int]:
    found = [0] * len(ways)
    place = path.find(text)
    while place >= 0:
        found[place + len(text)] = ways[place]
        place = path.find(text, place + 1)
    return found


def _after_value(ways: list[int], path: str, ends: str) -> list[int]:
    found = [0] * len(ways)
    many = 0
    for place, character in enumerate(path):
        many = 0 if character in ends else min(2, many + ways[place])
        found[place + 1] = many
    return found


def _decoded(value: str, raw: bool) -> str | None:
    """Return a value without its escapes; None if it is not UTF-8, or is unsafe and not raw."""
    from urllib.parse import unquote  # Importing a server must not take long.

    try:
        text = unquote(value, errors="strict")
    except UnicodeDecodeError:
        return None
    unsafe = (
        _HIDDEN.search(value)
        or not text.isprintable()
        or "\\" in text
        or _ABSOLUTE.match(text)
        or not {".", ".."}.isdisjoint(text.split("/"))
    )
    return None if unsafe and not raw else text

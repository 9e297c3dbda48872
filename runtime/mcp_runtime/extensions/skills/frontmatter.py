"""The YAML frontmatter of a SKILL.md as JSON: the core schema of YAML 1.2, within bounds."""

import math
import re
from importlib import import_module
from typing import Any, Final, cast

MAX_SIZE: Final = 65_536
"""The maximum length of a frontmatter in characters."""
MAX_NODES: Final = 10_000
"""How many values a frontmatter may have, with aliases written out."""
_BLOCK: Final = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_NAMED: Final[dict[str, Any]] = {
    **dict.fromkeys(("", *"~ null Null NULL".split())),
    **dict.fromkeys("true True TRUE".split(), True),
    **dict.fromkeys("false False FALSE".split(), False),
    **dict.fromkeys(".inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF .nan .NaN .NAN".split(), math.nan),
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
"""The plain scalars of the core schema (YAML 1.2.2, 10.3.2); any other one is a string."""


def read_frontmatter(data: bytes) -> dict[str, Any]:
    """Return the frontmatter of a SKILL.md.

    Raises:
        ValueError: it has none, or JSON cannot express it; the message names the field.
        ModuleNotFoundError: the extra ``skills`` is not installed.
    """
    try:
        yaml: Any = import_module("yaml")
    except ModuleNotFoundError:
        raise ModuleNotFoundError("skills need PyYAML: pip install 'mcp-bindings[skills]'") from None
    # Not the parser in C, whose stack overflows. A scalar without a tag of its own gets "?".
    loader = type("Loader", (yaml.BaseLoader,), {"DEFAULT_SCALAR_TAG": "?"})
    try:
        found = _BLOCK.match(data.decode())
        if found is None or len(found[1]) > MAX_SIZE:
            raise ValueError(f"needs YAML frontmatter between lines of ---, of at most {MAX_SIZE:,} characters")
        value = _Reader().read(yaml.compose(found[1], Loader=loader), "")
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"the frontmatter is not YAML in UTF-8: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(value, dict):
        raise ValueError("the frontmatter is not a mapping")
    return cast("dict[str, Any]", value)


class _Reader:
    def __init__(self) -> None:
        self._nodes = 0

    def read(self, node: Any, where: str) -> Any:
        """Return a node of the composed document as a JSON value."""
        self._nodes += 1
        if self._nodes > MAX_NODES or where.count("/") > 64:
            raise ValueError(f"the frontmatter has more than {MAX_NODES:,} values, or more than 64 levels")
        if node is None or node.id == "scalar":
            return None if node is None else self._scalar(node, where)
        if node.id == "sequence":
            return [self.read(item, f"{where}/{place}") for place, item in enumerate(node.value)]
        found: dict[str, Any] = {}
        for key, item in node.value:
            if key.id != "scalar" or key.value in found:
                raise ValueError(f"{where}/: {str(key.value)[:80]!r} is there twice, or is not a string")
            found[key.value] = self.read(item, f"{where}/{key.value}")
        return found

    @staticmethod
    def _scalar(node: Any, where: str) -> Any:
        text, value = str(node.value), cast(Any, str(node.value))
        if node.style is None and not node.tag.endswith(":str"):
            if text in _NAMED:
                value = _NAMED[text]
            elif _INTEGER.fullmatch(text):
                value = int(text, 10 if text[:2] not in ("0o", "0x") else 0)
            elif _FLOAT.fullmatch(text):
                value = float(text)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{where}: JSON has no number {node.value[:80]}")
        return value

"""Parse JSON text strictly: violations of I-JSON (RFC 7493) are reported, not repaired."""

import json
import math
from typing import Any

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.json_values import as_list, is_object

MAX_DEPTH = 500
"""The maximum nesting depth of arrays and objects; the limit of Python's parser depends on its release."""


def parse_json(text: str | bytes, source: str, diagnostics: Diagnostics) -> object:
    """Parse JSON strictly, as I-JSON (RFC 7493) asks: UTF-8, unique keys, finite numbers, no lone surrogates.

    Nesting deeper than `MAX_DEPTH` is an error too.
    """
    where = Location(source=source)

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(items)
        if len(members) != len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            diagnostics.error(where, f"the key {twice!r} occurs twice in one object; keep one")
        return members

    def constant(name: str) -> float:
        diagnostics.error(where, f"{name} is not JSON")
        return 0.0

    def number(digits: str) -> float:
        if math.isinf(float(digits)):
            shown = digits if len(digits) <= 20 else f"{digits[:20]}..."
            diagnostics.error(where, f"{shown} is too large for a number")
            return 0.0
        return float(digits) if set(digits) & set(".eE") else int(digits)

    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        value: object = json.loads(
            decoded, object_pairs_hook=pairs, parse_constant=constant, parse_int=number, parse_float=number
        )
        if is_nested_deeper(value, MAX_DEPTH):
            raise RecursionError
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        at = Location(source=source, line=error.lineno, column=error.colno)
        diagnostics.error(at, f"not valid JSON: {error.msg}")
    except UnicodeEncodeError:
        diagnostics.error(where, "a lone surrogate is not valid Unicode")
    except UnicodeDecodeError as error:
        diagnostics.error(where, f"not UTF-8: {error.reason} at byte {error.start}")
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        diagnostics.error(where, f"cannot be read as JSON: {reason}")
    return None


def is_nested_deeper(value: object, limit: int) -> bool:
    """Whether arrays and objects are nested deeper than a limit."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        level = [child for parent in level for child in (parent.values() if is_object(parent) else as_list(parent))]
        if not level:
            return False
    return True

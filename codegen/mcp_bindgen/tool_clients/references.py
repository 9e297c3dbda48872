"""References within one JSON Schema: what they lead to, and which lead back to themselves."""

from collections.abc import Iterator
from typing import Any

from mcp_bindgen.tool_clients.keywords import MAX_TEXT
from mcp_bindgen.tool_clients.kinds import is_list, is_object

MAX_LOOKS = 50_000
"""How many values are looked at to find references; what is left is not followed."""
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


class References:
    """The references of one schema; none that leads out of it is followed."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._looks = 0
        self._all: dict[str, tuple[str, ...]] = {}
        self._direct: dict[str, tuple[str, ...]] = {}

    def resolve(self, reference: object) -> Any:
        """Return the schema that a reference leads to, None if it leads nowhere or out of the schema."""
        if not isinstance(reference, str) or reference[:2] not in ("#", "#/") or len(reference) > MAX_TEXT:
            return None
        found: Any = self._root
        for token in reference.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if is_object(found) and key in found:
                found = found[key]
            elif is_list(found) and key.isdecimal() and len(key) < 6 and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return found if is_object(found) or isinstance(found, bool) else None

    def is_recursive(self, reference: str) -> bool:
        """Whether what a reference leads to refers back to it, anywhere inside."""
        return self._leads_back(reference, self._all, self._within)

    def is_endless(self, reference: str) -> bool:
        """Whether it does so with no list or object in between, so that no value could ever be decided."""
        return self._leads_back(reference, self._direct, self._beside)

    def _leads_back(self, reference: str, known: dict[str, tuple[str, ...]], find: Any) -> bool:
        waiting, seen = [reference], set[str]()
        while waiting:
            current = waiting.pop()
            if current not in known:
                known[current] = tuple(dict.fromkeys(find(self.resolve(current))))
            for other in known[current]:
                if other == reference:
                    return True
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return False

    def _within(self, node: Any) -> Iterator[str]:
        waiting = [node]
        while waiting and self._looks < MAX_LOOKS:
            self._looks += 1
            current = waiting.pop()
            if is_object(current):
                if isinstance(current.get("$ref"), str):
                    yield current["$ref"]
                waiting += current.values()
            elif is_list(current):
                waiting += current

    def _beside(self, node: Any) -> Iterator[str]:
        waiting = [node]
        while waiting and self._looks < MAX_LOOKS:
            self._looks += 1
            current = waiting.pop()
            if is_object(current):
                if isinstance(current.get("$ref"), str):
                    yield current["$ref"]
                for keyword in _ALTERNATIVES:
                    members = current.get(keyword)
                    waiting += members if is_list(members) else []

"""Look for a value that proves a gap between two schemas."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from mcp_bindgen.tool_clients.kinds import is_object
from mcp_bindgen.tool_clients.probes import ANY, FREE_NAME, Step, along
from mcp_bindgen.tool_clients.validity import Undecidable, Validity

MAX_TRIES = 150
"""How many values are tried for each gap."""


def prove(
    sender: Any, receiver: Any, path: tuple[Step, ...], tries: Iterable[Any], *, without: str = ""
) -> tuple[bool, Any]:
    """Return whether a value was found that one schema allows and the other refuses, and the value.

    Args:
        sender: the schema that allows it.
        receiver: the schema that refuses it.
        path: where the two differ.
        tries: values to try at that place.
        without: the member of these values that is to be left out, if the gap is about its absence.
    """
    try:
        allows, refuses = Validity(sender), Validity(receiver)
    except Undecidable:
        return False, None
    place = tuple(FREE_NAME if step == ANY else step for step in path)
    for value in islice(tries, MAX_TRIES):
        if without and not is_object(value):
            continue
        shown = {name: member for name, member in value.items() if name != without} if without else value
        whole = along(sender, sender, path, shown)
        try:
            if allows.accepts(whole) and any(_is_about(place, *found, without) for found in refuses.refusals(whole)):
                return True, whole
        except Undecidable:
            continue
    return False, None


def _is_about(place: tuple[Step, ...], keyword: str, found: tuple[Any, ...], without: str) -> bool:
    """Whether a refusal is about what is at a place; what is missing elsewhere is the matter of another gap."""
    if (keyword == "required") != bool(without) and found != place:
        return False
    common = min(len(place), len(found))
    return place[:common] == found[:common]

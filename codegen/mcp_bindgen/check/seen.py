"""Which requirement a message breaks that the observer finds wrong, by words of its reason."""

import re
from collections.abc import Sequence
from typing import Final

from mcp_bindgen.check.requirements import LEGACY, rows

_SEEN: Final[Sequence[tuple[str, str, str]]] = (
    ("not JSON|not UTF-8", "stdio.stdout-clean", "stdio.stdout-clean"),
    ("ends in the middle of a message", "stdio.one-line", "stdio.one-line"),
    ("not an open", "messages.answer-id", "messages.answer-id"),
    ("names no request", "messages.notification-no-answer", "messages.answer-id"),
    ("one of .*result", "messages.result-or-error", "messages.result-or-error"),
    ('"message"', "messages.error-members", "messages.error-members"),
    ('"code"', "messages.error-code-integer", "messages.error-code-integer"),
    ("unknown error code", "", "modern.error-codes"),
    ("inside results", "", "modern.no-server-requests"),
    ("resultType", "", "modern.result-type"),
    ("output schema", "tools.output-conforms", "tools.output-conforms"),
    (r"server\.tools", "tools.declared", "tools.declared"),
    (r"server\.resources", "resources.declared", "resources.declared"),
    (r"server\.prompts", "prompts.declared", "prompts.declared"),
    (r"client\.\w+", "lifecycle.respect-capabilities", "input.declared"),
)
"""Words of a reason, and the requirement in either era; empty if the reason belongs to the other era."""
OTHERWISE: Final = "messages.base-protocol"
"""The requirement that any other message breaks: it is not one of the revision, in its place."""


def requirement_of(reason: str, revision: str) -> str:
    """Return the id of the requirement that a message with this fault breaks in a revision."""
    for words, legacy, modern in _SEEN:
        found = legacy if revision in LEGACY else modern
        if found and re.search(words, reason) and revision in rows()[found].revisions:
            return found
    return OTHERWISE


def seen() -> frozenset[str]:
    """Return the requirements that need no probe: every message is looked at for them."""
    return frozenset({OTHERWISE, *(each for _, *found in _SEEN for each in found if each)})

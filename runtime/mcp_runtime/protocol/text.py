"""Makes untrusted text safe to show."""

from typing import Final

from mcp_runtime.printable import printable

MAX_TEXT: Final = 600
"""How many characters of a peer's own words are quoted."""


def clipped(text: str, limit: int = MAX_TEXT) -> str:
    """Return a peer's text as it may be shown: without control characters, and not longer than `limit`."""
    shown = printable(text[:limit])
    return shown if len(text) <= limit else f"{shown}..."

"""The detected eras of servers, so that none is asked twice in one process.

A program connects to the same few servers again and again. A server may be replaced by a newer one in the meantime, so
its era is forgotten after an hour, and at once if it turns out to be wrong.
"""

import time
from collections import OrderedDict
from typing import Final

LEGACY: Final = "legacy"
MAX_SERVERS: Final = 256
"""How many servers are remembered."""
SECONDS: Final = 3600.0
"""Seconds for which a server is remembered."""


class Servers:
    """Servers by URL, without user, query and fragment; several on one origin may belong to different eras."""

    def __init__(self) -> None:
        self._eras: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def era(self, url: str) -> str:
        """Return the era of a server; empty if unknown."""
        era, until = self._eras.get(url, ("", 0.0))
        return era if time.monotonic() < until else ""

    def learn(self, url: str, era: str) -> None:
        """Remember the era of a server; an empty one forgets it."""
        self._eras.pop(url, None)
        if era:
            self._eras[url] = era, time.monotonic() + SECONDS
            if len(self._eras) > MAX_SERVERS:
                self._eras.popitem(last=False)

    def clear(self) -> None:
        """Forget all servers."""
        self._eras.clear()


servers: Final = Servers()
"""The servers known in this process."""

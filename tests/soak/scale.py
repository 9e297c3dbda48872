"""How long the soak tests run: a short version by default, the long one with MCP_SOAK_LONG=1."""

import os
import random

LONG = os.environ.get("MCP_SOAK_LONG", "") not in ("", "0")
SEED = int(os.environ.get("MCP_SOAK_SEED", "") or random.SystemRandom().randrange(1 << 32))
"""Where the random numbers begin; printed by every failure."""


def scaled(short: int, long: int) -> int:
    """Return a number for the version that runs."""
    return long if LONG else short

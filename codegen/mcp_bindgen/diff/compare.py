"""Compare two revisions: all changes visible in messages, definitions and Python source."""

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.source.compare import compare_definitions
from mcp_bindgen.diff.types.methods import settle
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.ir.nodes import Protocol


def compare(old: Protocol, new: Protocol, *, proven: bool = True) -> tuple[Finding, ...]:
    """Return all changes between two revisions, each once, in a stable order.

    Args:
        old: the old revision.
        new: the new one.
        proven: whether to look for a message that proves each break. If false, every break counts as proven.
    """
    settled = settle(old, new)
    old, new = settled.old, settled.new
    found = compare_messages(old, new)
    if proven:
        from mcp_bindgen.diff.wire.witness import Witnesses  # and with it jsonschema

        witnesses = Witnesses(old, new)
        found = tuple(witnesses.testify(finding) for finding in found)
    return (*found, *compare_definitions(old, new))

"""Messages that show a change: the smallest one of the old revision and the smallest of the new."""

from itertools import islice
from typing import Any

from mcp_bindgen.diff.finding import Finding, Pair, Travel
from mcp_bindgen.diff.wire.compare import renamed_methods
from mcp_bindgen.diff.wire.exchange import Exchange
from mcp_bindgen.diff.wire.proof import MAX_CANDIDATES, turned
from mcp_bindgen.ir.nodes import Protocol


class Examples:
    """Finds the counterpart in the other revision of a message that proves a break."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = Exchange(old, {})
        self._new = Exchange(new, renamed_methods(old, new))

    def pair(self, finding: Finding, pair: Pair) -> tuple[Any, Any]:
        """Return the messages of the old and the new revision, None for one that does not exist.

        One of them is the witness. The other is valid for its own revision and has the same method.
        """
        witness = finding.witnesses.get(pair)
        if witness is None or finding.is_about_method:
            return None, None
        for carrier, way in sorted(finding.carriers.items()):
            if pair not in finding.breaks_in(carrier):
                continue
            from_old = (pair is Pair.OLD_CLIENT) == (carrier.travel is Travel.TO_SERVER)
            other, steps = (self._new, way) if from_old else (self._old, tuple(map(turned, way)))
            tried = islice(other.messages(carrier, steps, ()), MAX_CANDIDATES)
            found = next((m.frame for m in tried if other.sends(carrier, m) and carrier.part in witness), None)
            return (witness, found) if from_old else (found, witness)
        return None, None

"""What keeps two peers from meeting a break: a capability that one of them could not declare."""

from mcp_bindgen.diff.finding import Carrier, Pair, Travel
from mcp_bindgen.ir.capabilities import is_declarable
from mcp_bindgen.ir.nodes import Protocol

_PEER = {Travel.TO_SERVER: "server", Travel.TO_CLIENT: "client"}
_BACK = {"server": "client", "client": "server"}
_OLDER = {Pair.OLD_CLIENT: "client", Pair.NEW_CLIENT: "server"}


class Gates:
    """Knows the capabilities that messages need, and those that the old revision has a place for."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = old
        self._needs: dict[str, str] = {}
        before, after = ({m.name: m.capability for m in side.methods} for side in (old, new))
        for name in before.keys() | after.keys():
            # A method that could once be used without a declaration is not kept from those who make none.
            paths = [side[name] for side in (before, after) if name in side]
            self._needs[name] = paths[-1] if all(paths) else ""

    def gate(self, carrier: Carrier, pair: Pair, needs: frozenset[str]) -> str:
        """Return the capability that the older peer of a pair would have had to declare and cannot, empty if none.

        Args:
            carrier: the message.
            pair: the two peers.
            needs: the capabilities that the way within the message needs.
        """
        paths = sorted({*needs, *filter(None, [self._needs.get(carrier.method)])})
        closed = (path for path in (_declared(path, carrier) for path in paths) if self._is_closed(path, pair))
        return next((f"capability:{path}" for path in closed), "")

    def _is_closed(self, path: str, pair: Pair) -> bool:
        return path.startswith(f"{_OLDER[pair]}.") and not is_declarable(path, self._old)


def _declared(path: str, carrier: Carrier) -> str:
    """Say who declares a capability that is the receiver's of the request."""
    peer, _, rest = path.partition(".")
    if peer != "receiver":
        return path
    to = _PEER[carrier.travel]
    return f"{to if carrier.part == 'params' else _BACK[to]}.{rest}"

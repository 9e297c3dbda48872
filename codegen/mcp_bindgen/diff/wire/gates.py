"""Gates that protect two peers from a break: a capability or a parameter that one of them cannot use."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_bindgen.diff.finding import Carrier, Pair, Travel
from mcp_bindgen.ir.capabilities import is_declarable
from mcp_bindgen.ir.leaves import structs
from mcp_bindgen.ir.methods import PAIRINGS
from mcp_bindgen.ir.nodes import Protocol, Ref

_PEER = {Travel.TO_SERVER: "server", Travel.TO_CLIENT: "client"}
_BACK = {"server": "client", "client": "server"}
_OLDER = {Pair.OLD_CLIENT: "client", Pair.NEW_CLIENT: "server"}
PARAM = "params."
"""The prefix of a gate that is a property of the request's params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptedIn:
    """A form of a value that peers send only if a capability was declared; `reason` says where the rule is stated."""

    place: str
    form: str
    capability: str
    reason: str


_TOOLS = "2025-11-25 client/sampling, Tools in Sampling: a server offers tools only to clients that support them"
OPTED_IN = tuple(
    OptedIn(place=place, form=form, capability="client.sampling.tools", reason=_TOOLS)
    for place in ("SamplingMessage.content", "CreateMessageResult.content")
    for form in ("ToolUseContent", "ToolResultContent", "SamplingMessageContentBlock[]")
)
"""Gates that the schema states only in prose. A row that gates nothing between released revisions fails a test."""


def needs_of_form(place: str, form: str) -> frozenset[str]:
    """Return the capabilities that a form at a place needs."""
    return frozenset(row.capability for row in OPTED_IN if (row.place, row.form) == (place, form))


def needs_of_result(result: str) -> frozenset[str]:
    """Return the properties of params that a result of a request needs."""
    return frozenset(f"{PARAM}{row.if_params_have}" for row in PAIRINGS if row.result == result)


class Gates:
    """Decides which capabilities and params messages need, and whether each revision has them."""

    def __init__(self, old: Protocol, new: Protocol) -> None:
        self._old = old
        self._new = new
        self._needs: dict[str, str] = {}
        before, after = ({m.name: m.capability for m in side.methods} for side in (old, new))
        for name in before.keys() | after.keys():
            # A method that an older revision allows without a declaration is not gated.
            paths = [side[name] for side in (before, after) if name in side]
            self._needs[name] = paths[-1] if all(paths) else ""

    def gate(self, carrier: Carrier, pair: Pair, needs: frozenset[str]) -> str:
        """Return what one peer of a pair would have to declare or send but cannot, or "".

        Args:
            carrier: the message.
            pair: the two peers.
            needs: what the path within the message needs: capabilities, and properties of params (``params.task``).
        """
        paths = sorted({*needs, *filter(None, [self._needs.get(carrier.method)])})
        return next(self._closed(paths, carrier, pair), "")

    def _closed(self, paths: list[str], carrier: Carrier, pair: Pair) -> Iterator[str]:
        asker = self._asker(carrier, pair)
        for path in paths:
            if path.startswith(PARAM):
                if not _has_param(carrier.method, path.removeprefix(PARAM), asker):
                    yield path
                continue
            declared = _declared(path, carrier)
            is_older = declared.startswith(f"{_OLDER[pair]}.") and not is_declarable(declared, self._old)
            if is_older or (carrier.part == "result" and not is_declarable(declared, asker)):
                yield f"capability:{declared}"

    def _asker(self, carrier: Carrier, pair: Pair) -> Protocol:
        """Return the revision of the peer that sent the request and gets the result."""
        sends_to_client = (carrier.travel is Travel.TO_CLIENT) == (carrier.part == "params")
        is_old = (pair is Pair.OLD_CLIENT) != sends_to_client
        return self._old if is_old else self._new


def _declared(path: str, carrier: Carrier) -> str:
    """Return the declaring side and name of a capability of the request's receiver."""
    peer, _, rest = path.partition(".")
    if peer != "receiver":
        return path
    to = _PEER[carrier.travel]
    return f"{to if carrier.part == 'params' else _BACK[to]}.{rest}"


def _has_param(method: str, name: str, protocol: Protocol) -> bool:
    """Whether a revision has a property in the params of a method."""
    params = next((m.params for m in protocol.methods if m.name == method), None)
    forms = structs(Ref(name=params), protocol) if params else ()
    return any(struct.field(name) is not None for struct in forms)

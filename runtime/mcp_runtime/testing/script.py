"""The scripted answers of a client to a server's requests."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Handlers
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import request_of
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR
from mcp_runtime.core.protocol.names import ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE
from mcp_runtime.testing.heard import Heard

_MODEL: Final = "scripted"
"""The name of the model that a scripted client claims to have."""


class Script:
    """The answers to each kind of request, in order.

    Args:
        binding: the revision of the client.
        answers: the answers, by method.
        heard: records what the server asks.
    """

    def __init__(self, binding: Binding, answers: Mapping[str, Sequence[Any]], heard: Heard) -> None:
        self._binding = binding
        self._left = {method: list(given) for method, given in answers.items()}
        self._heard = heard
        self._missing: list[str] = []

    def handlers(self) -> Handlers | None:
        """Return handlers that give the answers; None if there are none to give."""
        if not self._left:
            return None
        base: Any = import_module(self._binding.package).ClientHandlers
        unknown = [method for method in self._left if method not in base.__handlers__]
        if unknown:
            raise ValueError(f"clients of {self._binding.revision} cannot be asked {' and '.join(unknown)}")
        scripted = {base.__handlers__[method]: self._handler(method) for method in self._left}
        made: Handlers = type("Scripted", (base,), scripted)()
        return made

    def check(self) -> None:
        """Check that the server asked for every answer, and for no more.

        Raises:
            AssertionError: it did not.
        """
        reasons = [f"the script has no answer left for {method}" for method in self._missing]
        reasons += [
            f"the server did not ask for {len(left)} of the answers to {method}"
            for method, left in self._left.items()
            if left
        ]
        if reasons:
            raise AssertionError("; ".join(reasons))

    def _handler(self, name: str) -> Callable[..., Any]:
        method = request_of(self._binding.methods, name)

        async def handler(handlers: Any, params: Any, ctx: Any) -> Any:
            self._heard.asked.append(params)
            if not self._left[name]:
                self._missing.append(name)
                raise PeerError(INTERNAL_ERROR, f"the script has no answer left for {name}")
            answer = self._left[name].pop(0)
            if callable(answer):
                answer = answer(params)
            if isinstance(answer, Exception):
                raise answer
            result: type[Any] = method.result.load()
            return answer if isinstance(answer, result) else result(**_ANSWERS[name](answer))

        return handler


def _filled_in(answer: Any) -> Mapping[str, Any]:
    """Return a user's answer: a form that was filled in, or ``decline`` or ``cancel``."""
    return {"action": "accept", "content": answer} if is_object(answer) else {"action": answer}


def _written(answer: Any) -> Mapping[str, Any]:
    """Return a model's answer."""
    return {"role": "assistant", "model": _MODEL, "content": {"type": "text", "text": answer}}


_ANSWERS: Final[Mapping[str, Callable[[Any], Mapping[str, Any]]]] = {
    ELICITATION_CREATE: _filled_in,
    SAMPLING_CREATE_MESSAGE: _written,
}

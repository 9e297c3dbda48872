"""Functions that handle messages: plain ones and coroutines, and names that are likely mistakes."""

import warnings
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple

from mcp_runtime.core.protocol.names import INITIALIZE, SERVER_DISCOVER, SUBSCRIPTIONS_LISTEN
from mcp_runtime.core.protocol.uris import listed

_COROUTINE: Final = 0x180
"""The flags of code whose call returns an awaitable (`inspect.CO_COROUTINE`, `CO_ITERABLE_COROUTINE`)."""


def blocks(function: object) -> bool:
    """Whether a function is a plain one, whose call may block; wrappers are unwrapped."""
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function = inner
    if isinstance(function, MethodType):
        function = function.__func__
    return isinstance(function, FunctionType) and not function.__code__.co_flags & _COROUTINE


_OWN: Final = (INITIALIZE, SERVER_DISCOVER, SUBSCRIPTIONS_LISTEN)
"""Methods that the runtime answers itself."""
_HANDLER: Final = 3
"""The number of a handler's parameters: self, the params and the context."""
_LIKENESS: Final = 0.9
"""The similarity of two names that are taken for the same, from 0 to 1."""


def check_names(cls: type[Any], handlers: Mapping[str, str]) -> None:
    """Check a class for misspelt handlers.

    Args:
        cls: the class that defines the methods.
        handlers: maps each protocol method to the name of the Python method that handles it.

    Raises:
        TypeError: a method has the name of a protocol method that is handled under another name, or cannot be handled.
    """
    own = {_bare(spelled): method for method in _OWN for spelled in (method, method.rpartition("/")[2])}
    methods = {_bare(method): method for method in handlers}
    names = {_bare(name): name for name in handlers.values()}
    for name, value in vars(cls).items():
        bare = _bare(name)
        if not isinstance(value, FunctionType) or name.startswith("_") or name in names.values():
            continue
        where = f"{cls.__qualname__}.{name}"
        if bare in own and value.__code__.co_argcount == _HANDLER:
            raise TypeError(f"{where} handles nothing: {own[bare]} is answered by the runtime, from the options")
        if bare in methods:
            method = methods[bare]
            raise TypeError(f"{where} handles nothing: the handler of {method} is called {handlers[method]}")
        meant = names.get(bare) or _like(name, names.values())
        if meant is not None:
            warnings.warn(f"{where} handles nothing: did you mean {meant}?", stacklevel=4)


def refuse_unknown(given: Collection[str], known: Collection[str]) -> None:
    """Refuse keyword arguments that a function passes on as options, and that are none.

    Args:
        given: the names of the arguments.
        known: the names of the options.

    Raises:
        TypeError: an option does not exist.
    """
    for name in given:
        if name not in known:
            meant = _like(name, known, 0.6)
            hint = f"did you mean {meant}?" if meant else f"there are {', '.join(sorted(known))}"
            raise TypeError(f"unexpected keyword argument {name!r}: {hint}")


def _bare(name: str) -> str:
    return name.replace("/", "").replace("_", "").lower()


def _like(name: str, names: Collection[str], likeness: float = _LIKENESS) -> str | None:
    from difflib import get_close_matches  # Few classes have methods with other names.

    found = get_close_matches(name, names, 3, likeness)
    return min(found, key=lambda each: sorted(each) != sorted(name), default=None)  # first, letters in another order


SCOPES: Final = "__mcp_scopes__"
"""The attribute of a function with the scopes that its callers need."""


class ScopeRule(NamedTuple):
    """The scopes that callers of a function need; see `mcp_runtime.requires_scopes`.

    Attributes:
        scopes: the scopes.
        only: the names of the tools or prompts, or the URIs, that need them; empty for all.
    """

    scopes: tuple[str, ...]
    only: frozenset[str]


def scopes_of(function: object, name: str | None = None) -> tuple[str, ...]:
    """Return the scopes that a function needs for what has this name; all of them without a name."""
    rules: tuple[ScopeRule, ...] = getattr(function, SCOPES, ())
    if not rules:
        return ()
    applied = (rule.scopes for rule in rules if not rule.only or name is None or listed(name, rule.only))
    return tuple(dict.fromkeys(scope for scopes in applied for scope in scopes))


def scoped(handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a handler that its sender needs scopes for, where it is marked so; it takes the params and the context."""
    if not scopes_of(handler):
        return handler

    @wraps(handler)
    async def with_scopes(params: Any, ctx: Any) -> Any:
        ctx.exchange.require(scopes_of(handler, str(getattr(params, "name", getattr(params, "uri", "")))))
        return await handler(params, ctx)

    return with_scopes

"""Decorators of handlers: what a client must have declared, and what its access token must allow."""

import re
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, Final, TypeVar, cast

from mcp_runtime.core.functions import SCOPES, ScopeRule
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.protocol.capabilities import declares

_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
"""A scope (RFC 6749, 3.3)."""
HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])


def requires(*capabilities: str, only: Collection[str] = ()) -> Callable[[HandlerT], HandlerT]:
    """Declare which capabilities a client must have for a handler to run; several decorators add up.

    Clients that did not declare them are answered with error -32021 and ``requiredCapabilities`` in the modern era, and
    in the legacy era with -32600 and a message that names what is missing.

    Args:
        capabilities: the paths of the capabilities, such as ``"elicitation.form"`` or ``"sampling.tools"``.
        only: the names of the tools or prompts, or the URIs of the resources, that need it; by default all.

    Raises:
        TypeError: `only` is a string instead of a collection of strings.
        ValueError: no capability is given.
    """
    if isinstance(only, str):
        raise TypeError(f"only: must be a collection of names, such as [{only!r}]")
    if not capabilities or not all(capabilities):
        raise ValueError("requires() needs the path of a capability, such as 'elicitation.form'")
    names = frozenset(only)

    def decorate(handler: HandlerT) -> HandlerT:
        @wraps(handler)
        def checked(*args: Any) -> Any:
            _check(capabilities, names, *args[-2:])
            return handler(*args)

        return cast("HandlerT", checked)

    return decorate


def _check(capabilities: Collection[str], names: Collection[str], params: Any, ctx: Context[Any]) -> None:
    if names and getattr(params, "name", getattr(params, "uri", None)) not in names:
        return
    requester, peer = ctx.requester, ctx.requester.side.other
    missing = [f"{peer.value}.{path}" for path in capabilities if not declares(requester.declared[peer], path)]
    if missing:
        raise requester.lacks(ctx.exchange.method.name, *missing)


def requires_scopes(*scopes: str, only: Collection[str] = ()) -> Callable[[HandlerT], HandlerT]:
    """Declare which scopes an access token must have for a function to run; several decorators add up.

    It decorates handlers of generated servers, and functions that become tools, resources or prompts of an App. Over
    HTTP, where `auth=` is needed, other callers get 403 and a challenge that names all scopes they need. On stdio,
    which has no tokens, it does nothing. Lists are the same for all callers.

    Args:
        scopes: the scopes, such as ``"files:write"``.
        only: of a handler: the names of the tools or prompts, or the URIs of the resources, that need them; by default
            all. Functions of an App need them always.

    Raises:
        TypeError: `only` is a string instead of a collection of strings.
        ValueError: no scope is given, or one is not a scope.
    """
    if isinstance(only, str):
        raise TypeError(f"only: must be a collection of names, such as [{only!r}]")
    check_scope_names(scopes)
    if not scopes:
        raise ValueError("requires_scopes() needs a scope, such as 'files:write'")

    def decorate(handler: HandlerT) -> HandlerT:
        setattr(handler, SCOPES, (*getattr(handler, SCOPES, ()), ScopeRule(scopes, frozenset(only))))
        return handler

    return decorate


def check_scope_names(scopes: Collection[str]) -> None:
    """Check the spelling of scopes.

    Raises:
        ValueError: one is not a scope, or asks for something other than access to this server.
    """
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise ValueError(f"{scope!r} is not a scope: it has no blanks, quotes or backslashes, and is ASCII")
        if scope == "offline_access":
            raise ValueError("offline_access is for clients to request; no resource needs it")

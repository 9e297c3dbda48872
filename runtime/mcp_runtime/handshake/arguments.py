"""Checks a program's arguments before anything is sent: its mistakes do not concern the peer."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, cast, get_args

from pydantic import BaseModel

from mcp_runtime.binding import Binding
from mcp_runtime.connection.link import log
from mcp_runtime.handlers import Handlers, ServerHandlers
from mcp_runtime.protocol.names import INITIALIZE, PROMPTS_GET, SERVER_DISCOVER, TOOLS_CALL, listing
from mcp_runtime.settings import ClientOptions

_IS_CHECKED: Final = "_gaps_are_logged"
"""Marks a server that was checked: over HTTP, each session starts serving it again."""
_LABEL: Final = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_EXTENSION: Final = rf"{_LABEL}(?:\.{_LABEL})*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
"""The form of extension names (2026-07-28, basic/versioning): like properties of `_meta`, with a prefix."""


def check_opening(options: object, handlers: Iterable[object], require: object, bindings: Sequence[Binding]) -> None:
    """Check the arguments with which a client is opened, for any of several revisions.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: `require` names a capability that no server of these revisions can declare.
    """
    if not isinstance(options, ClientOptions):
        raise TypeError(f"options are an object, ClientOptions(timeout=5), not {_shown(options)}")
    for given in handlers:
        check_handlers(given, Handlers)
    if isinstance(require, str) or not isinstance(require, Collection):
        raise TypeError(f"require is a list of capabilities, such as [{require!r}], not {_shown(require)}")
    for path in map(str, cast("Collection[object]", require)):
        if not any(_can_declare(binding, path.split(".")) for binding in bindings):
            known = sorted({name for binding in bindings for name in _capabilities(binding)})
            raise ValueError(f"no server declares {path!r}; there are {', '.join(known)}")


def check_handlers(given: object, kind: type[Handlers]) -> None:
    """Check that a value is an object of a generated class, not the class itself.

    Raises:
        TypeError: it is not.
    """
    if isinstance(given, type):
        raise TypeError(f"{given.__name__} is a class: pass an object of it, {given.__name__}()")
    if not isinstance(given, kind) or isinstance(given, ServerHandlers) != (kind is ServerHandlers):
        base = "Server" if kind is ServerHandlers else "ClientHandlers"
        raise TypeError(f"an object of a generated {base} is needed, not {_shown(given)}")


def check_extensions(capabilities: Mapping[str, Any]) -> None:
    """Check the names of the extensions that this side declares.

    Raises:
        ValueError: a name has no prefix, or is not valid.
    """
    extensions: Any = capabilities.get("extensions") or {}
    for name in extensions:
        if not re.fullmatch(_EXTENSION, name):
            raise ValueError(
                f"an extension is named by a domain, a slash and a name (com.example/search), not {name!r}"
            )


def warn_of_gaps(server: ServerHandlers) -> None:
    """Log once what no client can discover: tools and prompts that the server answers but does not list."""
    if server.__dict__.setdefault(_IS_CHECKED, False):
        return
    server.__dict__[_IS_CHECKED] = True
    implemented = server.answered()
    for method, listed_by in ((TOOLS_CALL, listing("tools")), (PROMPTS_GET, listing("prompts"))):
        if method in implemented and listed_by not in implemented:
            log.warning("%s answers %s, but not %s: no client finds them", type(server).__name__, method, listed_by)


def _can_declare(binding: Binding, path: list[str]) -> bool:
    """Whether a server's capabilities can contain a path; where the schema is open, any path fits."""
    properties = _capabilities(binding)
    for step in path:
        if step not in properties:
            return False
        model = _model(properties[step])
        if model is None:
            return True
        properties = _properties(model)
    return True


def _capabilities(binding: Binding) -> dict[str, Any]:
    method: Any = binding.methods[SERVER_DISCOVER if binding.era == "modern" else INITIALIZE]
    result: Any = method.result.load()
    model = _model(_properties(result)["capabilities"])
    return _properties(model) if model else {}


def _properties(model: type[BaseModel]) -> dict[str, Any]:
    model.model_rebuild()
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _model(annotation: Any) -> type[BaseModel] | None:
    """Return the model among the types of an annotation; None if none has its own properties."""
    for one in (annotation, *get_args(annotation)):
        if isinstance(one, type) and issubclass(one, BaseModel) and one.model_fields:
            return one
    return None


def _shown(value: object) -> str:
    return f"{value!r:.60}"

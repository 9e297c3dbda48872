"""What a side offers when a conversation begins: features, capabilities, name, revisions; and checks of arguments.

A client of both eras asks once which revisions a server supports, before anything else (2026-07-28,
basic/transports/stdio). Legacy servers refuse the question with any error code, stay silent, or crash; all of that only
means that they are legacy servers.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, cast, get_args

from pydantic import BaseModel

from mcp_runtime.core.binding import Binding, Bridges, Wire
from mcp_runtime.core.changes.subscriptions import ListChanges, Subscriptions
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import PeerError, RemoteProtocolError, RequestTimeout, UnsupportedRevision, clipped
from mcp_runtime.core.features import KeepAlive, Logging, RelatedTasks
from mcp_runtime.core.handlers import Handlers, ServerHandlers, Serving
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.method import request_of
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.capabilities import derive, merge, put
from mcp_runtime.core.protocol.jsonrpc import METHOD_NOT_FOUND
from mcp_runtime.core.protocol.names import AREAS, INITIALIZE, PROMPTS_GET, SERVER_DISCOVER, TOOLS_CALL, listing
from mcp_runtime.core.settings import ClientOptions, Feature, ServerOptions, Settings

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
    """Check that a value is an instance of a generated class, not the class itself.

    Raises:
        TypeError: it is not.
    """
    if isinstance(given, type):
        raise TypeError(f"{given.__name__} is a class; pass an instance: {given.__name__}()")
    if not isinstance(given, kind) or isinstance(given, ServerHandlers) != (kind is ServerHandlers):
        base = "Server" if kind is ServerHandlers else "ClientHandlers"
        raise TypeError(f"expected an instance of a generated {base}, not {_shown(given)}")


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
    if (serving := Serving.of(server)).is_checked:
        return
    serving.is_checked = True
    implemented = server.__answered__()
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
    return {field.alias or name: field.annotation for name, field in model.__pydantic_fields__.items()}


def _model(annotation: Any) -> type[BaseModel] | None:
    """Return the model among the types of an annotation; None if none has its own properties."""
    for one in (annotation, *get_args(annotation)):
        if isinstance(one, type) and issubclass(one, BaseModel) and one.__pydantic_fields__:
            return one
    return None


def _shown(value: object) -> str:
    return f"{value!r:.60}"


@dataclass(frozen=True, slots=True)
class Served:
    """The server that answers in a revision, over bridges if that is not its own."""

    server: ServerHandlers
    bridges: Bridges | None = None

    def era(self, revision: str) -> str:
        """Return how conversations in a revision begin: ``legacy`` or ``modern``."""
        return self.server.__binding__.era if self.bridges is None else self.bridges.era(revision)

    def wire(self, revision: str) -> Wire | None:
        """Return the bridge to a revision; None if it is the server's own."""
        return None if self.bridges is None else self.bridges.wire(revision)


class Offer:
    """What one side offers over one connection, in the revision that it is bound to.

    Args:
        connection: the connection, with its revision and handlers.
        answered: the methods that this side's handlers answer.
        features: the runtime's built-in features, in the order of installation.
        settings: further capabilities.
        extensions: the extensions that the transport declares in the modern era.

    Attributes:
        capabilities: what is declared, keyed by wire names.
    """

    def __init__(
        self,
        connection: Connection,
        answered: Iterable[str],
        features: Sequence[Feature],
        settings: Settings,
        extensions: Iterable[str] = (),
    ) -> None:
        self._connection = connection
        self._features = features
        self.capabilities = self._declare(answered, settings)
        if connection.requester.is_modern:
            for name in extensions:
                self.capabilities.setdefault("extensions", {}).setdefault(name, {})

    def _declare(self, answered: Iterable[str], settings: Settings) -> dict[str, Any]:
        connection, wire = self._connection, self._connection.requester.wire
        spoken, own = connection.requester.spoken, connection.binding
        assert spoken is not None and own is not None
        # Where one era has a method, the other one may have a capability.
        known = spoken.methods if own.era == spoken.era else {**own.methods, **spoken.methods}
        declared = derive(connection.side, (known[name] for name in answered if name in known))
        for feature in self._features:
            for found in feature.declares(connection, declared):
                put(declared, found) if isinstance(found, str) else merge(declared, found)
        merge(declared, settings.capabilities)
        if settings.experimental:
            declared["experimental"] = dict(settings.experimental)
        if spoken.era == "modern":
            check_extensions(declared)
        return wire.declarable(connection.side, declared) if wire else declared

    def settle(self, theirs: Mapping[str, Any], **known: Any) -> None:
        """Install the features, now that the peer has declared its capabilities.

        Args:
            theirs: the peer's capabilities, keyed by wire names.
            known: further information from the peer: fields of its `Requester`.
        """
        connection, wire = self._connection, self._connection.requester.wire
        theirs = wire.declared(connection.side.other, theirs) if wire else theirs
        connection.learn(self.capabilities, theirs, **known)
        for feature in self._features:
            feature.install(connection)


def common_features(settings: Settings) -> tuple[Feature, ...]:
    """Return the features that either side has, its extensions first."""
    return (*settings.extensions, RelatedTasks(), KeepAlive())


def server_features(options: ServerOptions) -> tuple[Feature, ...]:
    """Return the runtime's built-in features for a server with these options."""
    changing = frozenset(AREAS) if options.list_changed is True else options.list_changed or frozenset[str]()
    logging = (Logging(),) if options.logging else ()
    return (ListChanges(changing), *logging, Subscriptions(options.resource_updates), *common_features(options))


def named(name: str, own: str, title: str) -> dict[str, str]:
    """Return this side's name and version, keyed by wire names; the default version is that of this distribution."""
    info = {"name": name, "version": own or own_version()}
    return {**info, "title": title} if title else info


def identity_of(server: ServerHandlers, options: ServerOptions) -> dict[str, str]:
    """Return a server's name and version, keyed by wire names."""
    return named(options.name or type(server).__name__, options.version, options.title)


@cache
def own_version() -> str:
    """Return the version of this distribution."""
    try:
        return version("mcp-bindings")
    except PackageNotFoundError:
        return "0"


MODERN_ERRORS: Final = frozenset((names.HEADER_MISMATCH, names.MISSING_CAPABILITY, names.UNSUPPORTED_VERSION))
"""The error codes that only modern-era servers use."""


class NotModern(Exception):
    """The server did not answer like a modern-era server; the text says what it did instead.

    Attributes:
        is_answer: whether it answered at all.
        cause: the text, for errors that follow from this; empty if it only does not know the method, as is usual.
    """

    def __init__(self, text: str, *, is_answer: bool = True, is_usual: bool = False) -> None:
        super().__init__(text)
        self.is_answer = is_answer
        self.cause = "" if is_usual else text


async def discover(connection: Connection, meta: Mapping[str, Any], timeout: float | None) -> Mapping[str, Any]:
    """Ask a server for its revisions and capabilities; return the result, keyed by wire names.

    Args:
        connection: the connection, bound to the revision of the question.
        meta: the `_meta` of the request.
        timeout: seconds to wait; None for the default of the connection.

    Raises:
        NotModern: the server is of the legacy era.
        PeerError: the server is of the modern era, and refuses the request.
        ConnectionClosed: the connection ended.
    """
    assert connection.requester.spoken is not None
    method = request_of(connection.requester.spoken.methods, SERVER_DISCOVER)
    try:
        found = await connection.request(method, method.build({"_meta": dict(meta)}), CallOptions(timeout=timeout))
    except PeerError as error:
        if error.code in MODERN_ERRORS:
            raise
        text = f"the server answered {SERVER_DISCOVER} with an error: {clipped(str(error), 200)}"
        raise NotModern(text, is_usual=error.code == METHOD_NOT_FOUND) from error
    except RequestTimeout as error:
        reason = f"the server did not answer {SERVER_DISCOVER} within {error.seconds:g} s"
        raise NotModern(reason, is_answer=False) from error
    except RemoteProtocolError as error:
        text = f"the server's answer to {SERVER_DISCOVER} is not valid: {error.pointer or '/'}: {error.reason}"
        raise NotModern(text) from error
    result: dict[str, Any] = found.model_dump(mode="json")
    return result


def supported(data: object, name: str = "supported") -> tuple[str, ...]:
    """Return the revisions that a server lists, in a result or in the data of an error."""
    listed: Any = data.get(name) if is_object(data) else None
    if not is_array(listed):
        return ()
    return tuple(clipped(item, 64) for item in listed if isinstance(item, str))


def newest(offered: Collection[str], spoken: Collection[str], wanted: Collection[str]) -> str:
    """Return the newest common revision.

    Args:
        offered: the revisions that the server supports.
        spoken: the revisions that this side may choose from now.
        wanted: all revisions that this side supports.

    Raises:
        UnsupportedRevision: there is none.
    """
    common = set(offered) & set(spoken)
    if not common:
        raise UnsupportedRevision(tuple(sorted(wanted)), tuple(offered))
    return max(common)

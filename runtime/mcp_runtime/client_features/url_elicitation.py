"""Elicitation by URL (2025-11-25, client/elicitation, "URL Mode"): a server asks the user to open a web page."""

import asyncio
import ipaddress
import socket
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final
from unicodedata import normalize

from mcp_runtime.client_features.forms import Action, create
from mcp_runtime.core import sources
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import ConnectionClosed, MissingCapability, PeerError, RemoteProtocolError
from mcp_runtime.core.handlers import Stub
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.method import NotificationMethod
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.names import NOTIFICATIONS_ELICITATION_COMPLETE
from mcp_runtime.core.protocol.rules import URL_REQUIRED, check_url

__all__ = ["UrlElicitation", "UrlElicitations", "UrlView", "Visits", "inspect_url", "required_elicitations"]

URL_MODE: Final = "client.elicitation.url"
MAX_REQUIRED: Final = 20
"""How many elicitations one error may require."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlView:
    """A URL as a user should see it before agreeing to open it.

    Attributes:
        url: the whole URL.
        host: the part to show most prominently.
        warnings: what makes it suspicious; empty if nothing does.
    """

    url: str
    host: str
    warnings: tuple[str, ...]


def inspect_url(url: str) -> UrlView:
    """Return what a user should know of a URL; it is neither opened nor fetched ("Safe URL Handling").

    Args:
        url: the URL.

    Raises:
        ValueError: it is not the URL of a web page, or contains a user name or characters that could disguise the
            target.
    """
    parts = check_url(url)
    host, port = parts.hostname or "", parts.port
    warnings: list[str] = []
    if parts.scheme != "https":
        warnings.append("it is not encrypted (http)")
    if not host.isascii() or any(label.startswith("xn--") for label in host.split(".")):
        warnings.append("its host contains letters that look like others")
    if _is_address(host):
        warnings.append("its host is a number, not a name")
    if port not in (None, 80, 443):
        warnings.append(f"it uses an unusual port ({port})")
    return UrlView(url=url, host=host, warnings=tuple(warnings))


def _is_address(host: str) -> bool:
    """Whether a host is an address, in any form that a browser accepts: ``127.1``, ``0x7f000001``."""
    host = normalize("NFKC", host).replace("\u3002", ".").removesuffix(".")
    try:
        if ":" in host:
            ipaddress.IPv6Address(host)
        else:
            socket.inet_aton(host)
    except (OSError, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlElicitation:
    """A web page for a user to visit.

    Attributes:
        id: the id of the elicitation.
        url: the address of the page.
        message: the purpose of the visit.
    """

    id: str
    url: str
    message: str

    def wire(self) -> dict[str, Any]:
        """Return the elicitation keyed by wire names, as in params and errors."""
        return {"mode": "url", "elicitationId": self.id, "url": self.url, "message": self.message}


class UrlElicitations:
    """The web pages that a server has asked users to visit, and that are not finished yet.

    Each belongs to the client that it was created for, which alone is notified when it is complete, and ends with the
    connection. In the modern era clients have no ids and are not notified: the handler continues once the user has
    agreed, and checks by itself whether the visit is complete.

    The page must verify who opens it: the URL proves nothing.

    Args:
        limit: how many elicitations are remembered; the oldest are dropped first.
    """

    def __init__(self, *, limit: int = 10_000) -> None:
        self._open: OrderedDict[str, tuple[Connection, bool]] = OrderedDict()  # and whether its client is notified
        self._watched: set[Connection] = set()
        self._limit = limit

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, client: Stub, *, message: str, url: str, elicitation_id: str | None = None) -> UrlElicitation:
        """Create an elicitation for a client, to be sent by `ask` or with `required`.

        Args:
            client: the client (``ctx.client``), of 2025-11-25 or later.
            message: tells the user what the visit is for.
            url: the address of the page: https, except in development; without secrets. ``{id}`` in it is replaced by
                the id of the elicitation.
            elicitation_id: a custom id; by default a random one.

        Raises:
            ValueError: the URL is not that of a web page, or the id is already in use.
            MissingCapability: the client does not support URL elicitation.
        """
        connection = client.connection
        if not connection.requester_for().is_open(URL_MODE, connection.side):
            raise MissingCapability(URL_MODE, "a web page")
        id_ = elicitation_id or sources.token_urlsafe(16)
        if id_ in self._open:
            raise ValueError("this id belongs to another elicitation")
        made = UrlElicitation(id=id_, url=url.replace("{id}", id_), message=message)
        inspect_url(made.url)
        if connection not in self._watched:
            self._watched.add(connection)
            connection.on_close(lambda _: self._forget(connection))
        self._open[id_] = connection, not _is_modern(client)
        if len(self._open) > self._limit:
            self._open.popitem(last=False)
        return made

    async def ask(self, client: Stub, elicitation: UrlElicitation, *, options: CallOptions | None = None) -> Action:
        """Ask the user to visit the page, and return the response; accepting does not mean that the visit is complete.

        Args:
            client: the client that the elicitation was created for.
            elicitation: the elicitation, from `begin`.
            options: timeouts; allow for the time that people need.

        Raises:
            ValueError: the elicitation was created for another client, or is complete already.
            PeerError: the client answered with an error. Other errors are those of `Connection.request`.
        """
        if self._open.get(elicitation.id, (None,))[0] is not client.connection:
            raise ValueError("this elicitation was not created for this client, or is complete")
        spelled = elicitation.wire()
        if _is_modern(client):
            del spelled["elicitationId"]
        try:
            result = await create(client, spelled, options)
        except BaseException:
            self._open.pop(elicitation.id, None)
            raise
        action = Action(result.action)
        if action is not Action.ACCEPT:
            self._open.pop(elicitation.id, None)
        return action

    @staticmethod
    def required(client: Stub, *elicitations: UrlElicitation) -> PeerError:
        """Return the error for a request that has to wait for these visits; raise it from the handler.

        Args:
            client: the client (``ctx.client``).
            elicitations: what the user has to visit.

        Raises:
            ValueError: there is none or too many, or the client is of the modern era, which has no such error: use
                `ask` within the request.
        """
        if _is_modern(client):
            raise ValueError(f"{client.__binding__.revision} has no such error: use ask() within the request")
        if not 0 < len(elicitations) <= MAX_REQUIRED:
            raise ValueError(f"the error takes 1 to {MAX_REQUIRED} elicitations")
        data = {"elicitations": [each.wire() for each in elicitations]}
        return client.__binding__.error(URL_REQUIRED, "this request needs a visit to a web page first", data)

    async def complete(self, elicitation_id: str) -> bool:
        """Notify the client that an elicitation is complete; return whether its client is still known.

        Args:
            elicitation_id: the id of the elicitation.
        """
        connection, is_notified = self._open.pop(elicitation_id, (None, False))
        method = connection.requester.method(NOTIFICATIONS_ELICITATION_COMPLETE) if connection is not None else None
        if not is_notified or connection is None or not isinstance(method, NotificationMethod) or method.params is None:
            return False
        try:
            await connection.notify(method, method.params.build({"elicitationId": elicitation_id}))
        except ConnectionClosed:
            return False
        return True

    def _forget(self, connection: Connection) -> None:
        self._watched.discard(connection)
        for id_ in [id_ for id_, (held, _) in self._open.items() if held is connection]:
            del self._open[id_]


def _is_modern(client: Stub) -> bool:
    return client.__binding__.era == "modern"


def required_elicitations(error: PeerError) -> tuple[UrlElicitation, ...]:
    """Return the web pages that must be visited before a request that failed with -32042 can be repeated.

    Args:
        error: the error of the request.

    Raises:
        ValueError: it is a different error.
        RemoteProtocolError: it does not list the pages correctly.
    """
    if error.code != URL_REQUIRED:
        raise ValueError(f"error {error.code} does not require a visit to a web page")
    listed: object = error.data.get("elicitations") if is_object(error.data) else None
    if not is_array(listed) or not 0 < len(listed) <= MAX_REQUIRED:
        raise _wrong("/elicitations", f"a list of 1 to {MAX_REQUIRED} elicitations is missing")
    found: list[UrlElicitation] = []
    for number, each in enumerate(listed):
        given: dict[str, Any] = each if is_object(each) else {}
        id_, url, message = (given.get(name) for name in ("elicitationId", "url", "message"))
        if given.get("mode") != "url" or not (
            isinstance(id_, str) and isinstance(url, str) and isinstance(message, str)
        ):
            raise _wrong(f"/elicitations/{number}", "not an elicitation in URL mode with an id")
        try:
            inspect_url(url)
        except ValueError as reason:
            raise _wrong(f"/elicitations/{number}/url", str(reason)) from reason
        found.append(UrlElicitation(id=id_, url=url, message=message))
    return tuple(found)


def _wrong(pointer: str, reason: str) -> RemoteProtocolError:
    # An error does not record the revision it came in.
    return RemoteProtocolError(revision="MCP", method=None, pointer=f"/error/data{pointer}", reason=reason)


class Visits:
    """The web pages that a client has sent its user to; the server may report when a visit is complete.

    Call `complete` from a handler for ``notifications/elicitation/complete``.
    """

    def __init__(self) -> None:
        self._open: dict[str, asyncio.Event] = {}

    def begin(self, elicitation_id: str) -> None:
        """Expect a notification that a visit is complete.

        Args:
            elicitation_id: the id of the elicitation.
        """
        self._open.setdefault(elicitation_id, asyncio.Event())

    def complete(self, elicitation_id: str) -> bool:
        """Mark a visit as complete; return False for one that is unknown or already complete.

        Args:
            elicitation_id: the id of the elicitation.
        """
        visit = self._open.get(elicitation_id)
        if visit is None or visit.is_set():
            return False
        visit.set()
        return True

    async def wait(self, elicitation_id: str, timeout: float | None) -> bool:
        """Wait until a visit is complete; return whether it is.

        After that it is forgotten. Offer users a way to continue manually, since servers need not report completion.

        Args:
            elicitation_id: the id of the elicitation.
            timeout: seconds to wait; None to wait indefinitely.

        Raises:
            KeyError: `begin` was not called for it.
        """
        visit = self._open[elicitation_id]
        try:
            async with asyncio.timeout(timeout):
                await visit.wait()
        except TimeoutError:
            return False
        finally:
            self._open.pop(elicitation_id, None)
        return True

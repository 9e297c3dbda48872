"""Every HTTP status that a server answers with, and when: one table for both eras, sessions and HTTP+SSE; and limits.

A refusal is a row of it, and whatever raises `Refusal` with that row. A row without a reason gives its JSON-RPC code a
status, of which each code has one. docs/http.md shows the table; the test of the order of refusals writes it there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from mcp_runtime.core.protocol import jsonrpc, names

ANY: Final = "any request"
SESSIONS: Final = "revisions with sessions"
MODERN: Final = "revisions without sessions"
SSE: Final = "HTTP+SSE"
SITE: Final = "`serve_http` beside its endpoints"
_NO_SESSION: Final = "the session has ended, or belongs to another principal"


class Case(Enum):
    """A case in which a request gets a status; where several apply in the modern era, the first one counts.

    Until the revision is known to be supported, only what future revisions will have as well is checked.

    Attributes:
        where: which requests it is about.
        status: the HTTP status.
        when: what is the case.
        code: the JSON-RPC error code in the body; 0 for that of the answer, or for none.
        reason: what is wrong, as a format string for people; empty if the answer to the message says it.
        retry: seconds after which the client should try again; 0 if that does not help.
    """

    HEADERS_TOO_LARGE = ANY, 431, "the headers are too large", "the headers have more than {:,} bytes"
    HOST = ANY, 403, "`Host` is not allowed", "host not allowed; add it to the hosts= of the server"
    ORIGIN = ANY, 403, "`Origin` is not allowed", "pages of this origin may not call this server"
    TOKENS = ANY, 400, "malformed or repeated `Authorization`", "there must be one Authorization: Bearer, with a token"
    NO_TOKEN = ANY, 401, "there is no access token", "an access token is needed, as Authorization: Bearer"
    BAD_TOKEN = ANY, 401, "the access token is not valid here, or has expired", "the access token is not valid: {}"
    SCOPES = ANY, 403, "the access token lacks a scope", "the access token needs the scopes {}"
    ISSUER = ANY, 503, "the authorization server cannot be reached", "access tokens cannot be checked now; try later", 5
    STOPPING = ANY, 503, "the server is shutting down, and no handler waits for this", "the server is shutting down", 5
    METHOD = ANY, 405, "the endpoint does not support the HTTP method", "this endpoint takes {}"
    STREAMS = ANY, 503, "`max_streams` open, or half by one client", "too many streams are open; try again later", 30
    CONTENT_TYPE = ANY, 415, "`Content-Type` is not JSON", "the Content-Type of a message must be application/json"
    ACCEPT = ANY, 406, "`Accept` does not name both types (GET: that of streams)", "the Accept header must name {}"
    LONG_BODY = ANY, 413, "the body is too large", "the body has more than {:,} bytes"
    ENCODING = ANY, 415, "there is a `Content-Encoding`", "send the body as it is, without a Content-Encoding"
    ARRIVING = ANY, 503, "`max_arriving` or `max_arriving_bytes` arrive", "too much is arriving; try again later", 1
    SLOW_BODY = ANY, 408, "the body exceeds `body_timeout`", "the body did not arrive within {:g} s"
    REQUESTS = ANY, 503, "`max_requests` open, or half by one client", "too many requests are open; try again later", 1
    NOT_JSON = ANY, 400, "the body is not JSON", jsonrpc.PARSE_ERROR
    NOT_A_MESSAGE = ANY, 400, "not one request or notification; in sessions, not a message", jsonrpc.INVALID_REQUEST
    UNREAD = ANY, 503, "`max_unread_total` reached before a long answer or stream", "too much is unread; try later", 5

    NO_META = MODERN, 400, "`_meta` names no revision", jsonrpc.INVALID_PARAMS
    NO_HEADER = MODERN, 400, "`MCP-Protocol-Version` is missing or differs from `_meta`", names.HEADER_MISMATCH
    UNSUPPORTED = MODERN, 400, "the revision is not supported", names.UNSUPPORTED_VERSION
    BAD_META = MODERN, 400, "the rest of `_meta` is not valid", jsonrpc.INVALID_PARAMS
    MISMATCH = MODERN, 400, "`Mcp-Method` or `Mcp-Name` is missing or differs from the body", names.HEADER_MISMATCH
    NO_METHOD = MODERN, 404, "there is no such method", jsonrpc.METHOD_NOT_FOUND
    PARAMS = MODERN, 400, "the params are not valid", jsonrpc.INVALID_PARAMS
    PARAMETER = MODERN, 400, "an `Mcp-Param-*` is missing or differs from the arguments", names.HEADER_MISMATCH
    CAPABILITY = MODERN, 400, "the client lacks a capability", names.MISSING_CAPABILITY

    NO_SESSION = SESSIONS, 400, "there is no session id", "Mcp-Session-Id is missing; a session begins with initialize"
    UNKNOWN_SESSION = SESSIONS, 404, _NO_SESSION, "there is no such session; begin a new one with initialize"
    VERSION = SESSIONS, 400, "its revision is not supported", "MCP-Protocol-Version must name a supported revision: {}"
    OPEN_SESSIONS = (
        SESSIONS,
        503,
        "`max_sessions` in use, or half by one client",
        "too many sessions; try again later",
        30,
    )
    BUSY = SESSIONS, 429, "`max_session_requests` are open", "too many requests of this session are open; try later", 1
    NO_ID = SESSIONS, 400, "`initialize` has no id", "initialize must be a request with an id"
    VIOLATION = SESSIONS, 400, "the message violates the protocol, or `initialize` fails"
    NO_EVENT = SESSIONS, 400, "`Last-Event-ID` is unknown", "the event in Last-Event-ID is unknown or no longer kept"
    EVENTS_GONE = SESSIONS, 400, "later events are no longer kept", "the events after Last-Event-ID are no longer kept"
    STORE = SESSIONS, 503, "the event store fails", "stored events cannot be read now; try again later", 1
    ENDED = SESSIONS, 204, "the client ended the session by DELETE"

    QUERY = SSE, 400, "the URL has more than ten parameters", "the query of the URL has too many parameters"
    NOT_HERE = SSE, 405, "POST without session, GET with one", "GET opens a stream, which says where to post messages"
    NO_STREAM = SSE, 404, _NO_SESSION, "there is no such session; open a new stream"

    NOWHERE = SITE, 404, "there is nothing at the path", "there is nothing here; the endpoint is at {}"
    HEALTH = SITE, 405, "the health page is not asked for by GET or HEAD", "health is asked for by GET"
    UNHEALTHY = SITE, 503, "the health page says that the server is shutting down"

    ACCEPTED = ANY, 202, "a message was accepted that needs no answer; in HTTP+SSE any that was accepted"
    ANSWERED = ANY, 200, "a request is answered: by a result, another error, or a stream"

    def __init__(self, where: str, status: int, when: str, answer: str | int = "", retry: int = 0) -> None:
        self.where = where
        self.status = status
        self.when = when
        self.reason = answer if isinstance(answer, str) else ""
        self.retry = retry
        own = jsonrpc.INTERNAL_ERROR if status >= 500 else jsonrpc.INVALID_REQUEST
        self.code = answer if isinstance(answer, int) else own if answer else 0


STATUSES: Final[Mapping[int, int]] = {case.code: case.status for case in Case if case.code and not case.reason}
"""Error codes of 2026-07-28 and their statuses, wherever they are raised; any other code has `Case.ANSWERED`."""


class Refusal(Exception):
    """A request that is answered with an error status.

    Args:
        case: why.
        values: what its reason mentions; nothing secret.
        headers: further headers of the response.
        id_: the id of the request; None if it was not read.
    """

    def __init__(
        self, case: Case, *values: object, headers: Iterable[tuple[bytes, bytes]] = (), id_: int | str | None = None
    ) -> None:
        self.case, self.status = case, case.status
        self.reason = case.reason.format(*values)
        super().__init__(self.reason)
        self.headers = [*headers, *([(b"retry-after", b"%d" % case.retry)] if case.retry else ())]
        self.body = jsonrpc.write_error(id_, case.code, self.reason, null_id=False)
        """A JSON-RPC error, without an id unless that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Resource limits for clients; each has its own HTTP status. One client gets at most half of each total.

    Attributes:
        max_message_bytes: the maximum size of a body in bytes (413); 4 MiB.
        max_header_bytes: the maximum total size of a request's headers in bytes (431).
        body_timeout: seconds in which a body must arrive (408).
        write_timeout: seconds in which a client must read a piece of a response before the response is cut.
        max_arriving: the maximum number of bodies that are arriving (503).
        max_arriving_bytes: the maximum total size in bytes of what has arrived of them (503); at least two bodies.
        max_sessions: the maximum number of sessions (503); the oldest one that was never used is ended first.
        session_unused: seconds after which a session ends that was never used after `initialize`.
        session_idle: seconds without a request or a stream after which a session ends; its id then gets 404.
        max_requests: the maximum number of open POSTs, except those that listen (503).
        max_session_requests: the maximum number of open POSTs per session (429).
        max_streams: the maximum number of open GETs and of POSTs that listen (503).
        max_unread: how many bytes may be queued on a stream that the client does not read before it is cut.
        max_unread_total: how many bytes may wait for clients to read them, in total; beyond that, an answer of more
            than 64 KiB is replaced by an error (503), and a stream with more than that queued is cut.
        stream_after: seconds without an answer after which a POST is answered with a stream.
        keepalive: seconds without an event after which a comment is sent on a stream.
        retry: seconds after which a client is asked to resume a closed stream.
    """

    max_message_bytes: int = 4 << 20
    max_header_bytes: int = 32 << 10
    body_timeout: float = 30.0
    write_timeout: float = 60.0
    max_arriving: int = 2_000
    max_arriving_bytes: int = 64 << 20
    max_sessions: int = 10_000
    session_unused: float = 30.0
    session_idle: float = 1800.0
    max_requests: int = 2_000
    max_session_requests: int = 200
    max_streams: int = 10_000
    max_unread: int = 4 << 20
    max_unread_total: int = 256 << 20
    stream_after: float = 1.0
    keepalive: float = 15.0
    retry: float = 1.0

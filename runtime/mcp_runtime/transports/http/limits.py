"""Resource limits for the clients of an HTTP server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Resource limits for clients; each has its own HTTP status.

    Attributes:
        max_message_bytes: the maximum size of a body in bytes, compressed and decompressed (413); 4 MiB.
        max_header_bytes: the maximum total size of a request's headers in bytes (431).
        body_timeout: seconds in which a body must arrive (408).
        write_timeout: seconds in which a client must read a piece of a response before the response is cut.
        max_sessions: the maximum number of sessions (503).
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
    max_sessions: int = 10_000
    session_idle: float = 1800.0
    max_requests: int = 2_000
    max_session_requests: int = 200
    max_streams: int = 10_000
    max_unread: int = 4 << 20
    max_unread_total: int = 256 << 20
    stream_after: float = 1.0
    keepalive: float = 15.0
    retry: float = 1.0

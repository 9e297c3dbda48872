"""What clients may cost an HTTP server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """What clients may cost; each limit has an answer of its own.

    Attributes:
        max_message_bytes: how large a body may be, compressed and decompressed (413); 4 MiB.
        max_header_bytes: how large the headers of a request may be in all (431).
        body_timeout: seconds in which a body must arrive (408).
        write_timeout: seconds in which a client must read a piece of a stream, or the stream is cut.
        max_sessions: how many sessions there may be (503).
        session_idle: seconds without a request or a stream after which a session ends; its id gets 404 then.
        max_requests: how many POSTs may be open (503).
        max_session_requests: how many POSTs of one session may be open (429).
        max_streams: how many GETs may be open (503).
        max_unread: how many bytes may be queued on a stream that the client does not read, before it is cut.
        max_unread_total: how many bytes may wait for clients to read them, in all; beyond that, an answer of more than
            64 KiB is replaced by an error (503), and a stream on which more than that is queued is cut.
        stream_after: seconds without an answer after which a POST is answered by a stream.
        keepalive: seconds without an event after which a comment is sent on a stream.
        retry: seconds after which a client is asked to come back to a stream that was closed.
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

"""Servers over HTTP in the styles of other authors, and what stands before them: correct, or not to be judged."""

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

from check.odd_servers import LEGACY, OBJECT, Odd, Refusal, text
from check.planted_server import TOOL, Server
from mcp_bindgen.ir.json_values import is_list

HTML: Final = b"<!DOCTYPE html><title>Welcome</title>"
EVENTS: Final = "text/event-stream"


class Core(Odd):
    """Answers messages in memory."""

    revisions = LEGACY[1:]
    schemas: ClassVar[dict[str, dict[str, Any]]] = {"run": OBJECT}

    def reply(self, message: Any) -> Any:
        """Return the answer to a message or a batch; None for none."""
        if is_list(message):
            return [reply for each in message if (reply := self.reply(each)) is not None]
        if "id" not in message or "method" not in message:
            return None
        try:
            answer: dict[str, Any] = {"result": self.handle(message["method"], message.get("params", {}))}
        except Refusal as error:
            answer = {"error": {"code": error.args[0], "message": "no"}}
        return {"jsonrpc": "2.0", "id": message["id"], **answer}

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return text("done")


class Handler(BaseHTTPRequestHandler):
    """A correct server without sessions; a subclass is a style."""

    protocol_version = "HTTP/1.1"
    core: Core
    posts: int
    server: Any

    def respond(self, status: int, body: bytes = b"", type_: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": type_, "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.server.posts += 1
        self.post(self.rfile.read(int(self.headers.get("content-length", 0))))

    def post(self, body: bytes) -> None:
        """Answer a POST."""
        version, origin = self.headers.get("mcp-protocol-version"), self.headers.get("origin")
        if origin is not None and "127.0.0.1" not in origin:
            self.respond(403)
            return
        if version is not None and version not in LEGACY:
            self.respond(400)
            return
        answer = self.server.core.reply(json.loads(body))
        if answer is None:
            self.respond(202)
        else:
            self.answer(answer)

    def answer(self, answer: Any) -> None:
        """Send the answer to a request."""
        self.respond(200, json.dumps(answer).encode())

    def do_GET(self) -> None:
        self.respond(405, allow="POST")

    def do_DELETE(self) -> None:
        self.respond(405, allow="POST")

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Plain(Handler):
    """Answers with one JSON body each."""


class Unauthorized(Handler):
    """Needs a token, and does not say how to get one."""

    def post(self, body: bytes) -> None:
        self.respond(401)


class Challenges(Handler):
    """Needs a token, and says how to get one."""

    def post(self, body: bytes) -> None:
        challenge = 'Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"'
        self.respond(401, b'{"error": "invalid_token"}', www_authenticate=challenge)


class Explains(Handler):
    """Needs a token, and says so in a message that answers no request, as our own servers do."""

    def post(self, body: bytes) -> None:
        reason = {"jsonrpc": "2.0", "error": {"code": -32600, "message": "an access token is needed"}}
        self.respond(401, json.dumps(reason).encode(), www_authenticate="Bearer")


class Overloaded(Handler):
    """Says in a message that answers no request why it serves nobody."""

    def post(self, body: bytes) -> None:
        reason = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "too many requests"}}
        self.respond(429, json.dumps(reason).encode())


class Forbids(Handler):
    """Needs a permission."""

    def post(self, body: bytes) -> None:
        self.respond(403, b'{"error": "insufficient_scope"}')


class Redirects(Handler):
    """Has moved."""

    def post(self, body: bytes) -> None:
        self.respond(307, location="https://example.com/mcp/\x1b[31m".replace("\x1b", "%1b"))


class Page(Handler):
    """Is a web site."""

    def post(self, body: bytes) -> None:
        self.respond(200, HTML, "text/html; charset=utf-8")


class Missing(Handler):
    """Has no server at this path."""

    def post(self, body: bytes) -> None:
        self.respond(404, HTML, "text/html")


class Fails(Handler):
    """Is behind a gateway that cannot reach it."""

    def post(self, body: bytes) -> None:
        self.respond(502, HTML, "text/html")


class Garbled(Handler):
    """Says that its answers are compressed, and they are not."""

    def post(self, body: bytes) -> None:
        self.respond(200, b"{}", content_encoding="gzip")


class Streams(Handler):
    """Answers with streams only, in small pieces, after comments, an empty event and events of its own."""

    def answer(self, answer: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", f"{EVENTS}; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        data = json.dumps(answer, indent=1, ensure_ascii=False)
        lines = "".join(f"data: {line}\r\n" for line in data.splitlines())
        start = ": hello\r\n\r\nid: 1\r\ndata:\r\n\r\nevent: keepalive\r\ndata: not a message\r\n\r\n"
        for piece in (start, lines[:7], lines[7:], "\r\n"):
            raw = piece.encode()
            self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")


class Slow(Streams):
    """Takes its time with each piece."""

    def answer(self, answer: Any) -> None:
        time.sleep(0.05)
        super().answer(answer)


class Polls(Handler):
    """Closes streams before the answer, which a client gets when it resumes."""

    def answer(self, answer: Any) -> None:
        if "error" in answer or "protocolVersion" in str(answer):
            super().answer(answer)
        else:
            self.respond(200, b"id: 1\nretry: 100\ndata:\n\n", EVENTS)


class Forgets(Handler):
    """Ends its sessions after a few messages."""

    sessions: ClassVar[dict[str, int]] = {}

    def post(self, body: bytes) -> None:
        session = self.headers.get("mcp-session-id", "")
        if b'"initialize"' in body:
            self.sessions[self.made] = 0
        elif session not in self.sessions:
            self.respond(404 if session else 400)
            return
        else:
            self.sessions[session] += 1
            if self.sessions[session] > 12:
                del self.sessions[session]
        super().post(body)

    @property
    def made(self) -> str:
        return f"session-{self.server.posts}"

    def answer(self, answer: Any) -> None:
        is_first = not self.headers.get("mcp-session-id")
        self.respond(200, json.dumps(answer).encode(), **({"mcp_session_id": self.made} if is_first else {}))

    def do_GET(self) -> None:
        self.respond(405 if self.headers.get("mcp-session-id") in self.sessions else 404)

    def do_DELETE(self) -> None:
        is_known = self.sessions.pop(self.headers.get("mcp-session-id", ""), None) is not None
        self.respond(200 if is_known else 404)


class OffersSessions(Handler):
    """Gives ids to sessions, and needs none."""

    def respond(self, status: int, body: bytes = b"", type_: str = "application/json", **headers: str) -> None:
        super().respond(status, body, type_, **headers, mcp_session_id="a-session")


class Empty(Handler):
    """Not correct: its answers have no body."""

    def answer(self, answer: Any) -> None:
        self.respond(200, json.dumps(answer).encode() if "protocolVersion" in str(answer) else b"")


class OddSession(Handler):
    """Not correct: the id of its sessions has other characters than visible ASCII."""

    def respond(self, status: int, body: bytes = b"", type_: str = "application/json", **headers: str) -> None:
        super().respond(status, body, type_, **headers, mcp_session_id="caf\xe9 \x85")


class HostOnly(Handler):
    """Looks at the host alone, which web pages of other sites cannot choose either."""

    def post(self, body: bytes) -> None:
        del self.headers["origin"]
        if "127.0.0.1" not in self.headers["host"]:
            self.respond(421)
        else:
            super().post(body)


class AnyOrigin(Handler):
    """Not correct: takes requests from web pages of every site, whatever their names lead to."""

    def post(self, body: bytes) -> None:
        del self.headers["origin"]
        super().post(body)

    def respond(self, status: int, body: bytes = b"", type_: str = "application/json", **headers: str) -> None:
        super().respond(status, body, type_, **headers, access_control_allow_origin="*")


class Careless(Handler):
    """Not correct: it does not compare the headers of the modern era with the body."""

    def post(self, body: bytes) -> None:
        properties = {"a": {"type": "integer", "maximum": 9, "description": "A number.", "x-mcp-header": "A"}}
        tool = {**TOOL, "inputSchema": {**TOOL["inputSchema"], "properties": properties}}
        server = Server("2026-07-28")
        server.changed["tools/list"] = lambda params: {"tools": [tool], **server.cached()}
        answer = server.answer(json.loads(body))
        self.respond(200 if "result" in answer else 400, json.dumps(answer).encode())


class Breaks(Handler):
    """Loses its gateway in the middle, for good."""

    def post(self, body: bytes) -> None:
        if self.server.posts > 30:
            self.respond(502, HTML, "text/html")
        else:
            super().post(body)


class Stumbles(Handler):
    """Has a gateway that fails at times."""

    def post(self, body: bytes) -> None:
        if self.server.posts % 9 == 8:
            self.respond(503, HTML, "text/html")
        else:
            super().post(body)


class Limits(Handler):
    """Allows a few requests a second."""

    def post(self, body: bytes) -> None:
        if self.server.posts % 5 == 4:
            self.respond(429, b'{"detail": "slow down"}', retry_after="1")
        else:
            super().post(body)


class Expires(Handler):
    """Has tokens that expire in the middle."""

    def post(self, body: bytes) -> None:
        if self.server.posts > 25:
            self.respond(401, www_authenticate="Bearer")
        else:
            super().post(body)


class Closes(Handler):
    """Closes the connection in the middle of an answer."""

    def answer(self, answer: Any) -> None:
        if self.server.posts % 7 == 6:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", "1000")
            self.end_headers()
            self.wfile.write(b'{"jsonrpc')
            self.close_connection = True
        else:
            super().answer(answer)


class Quiet(ThreadingHTTPServer):
    """Prints nothing when a client leaves early."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def serving(style: type[Handler]) -> Generator[str]:
    """Serve a style in a thread; yields its URL."""
    server: Any = Quiet(("127.0.0.1", 0), style)
    server.core, server.posts = Core(), 0
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Reading source files from disk and over HTTP, within limits, and telling the two kinds apart."""

import hashlib
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from mcp_bindgen.ingest import sources
from mcp_bindgen.ingest.revisions import released, shipped_source
from mcp_bindgen.ingest.sources import MAX_BYTES, SourceKind, SourceText, decode, read_source
from mcp_bindgen.ir.diagnostics import InputError


def refusal(place: str) -> str:
    with pytest.raises(InputError) as raised:
        read_source(place)
    (found,) = raised.value.diagnostics
    return str(found).replace(place, "PLACE")


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "data", "kind"),
        [
            ("schema.json", b"{}", SourceKind.JSON_SCHEMA),
            ("schema.ts", b"export type A = string;", SourceKind.TYPESCRIPT),
            ("schema.ts", b' \n{"$defs": {}}', SourceKind.JSON_SCHEMA),
            ("schema", b"[]", SourceKind.JSON_SCHEMA),
            ("broken.json", b"oops", SourceKind.JSON_SCHEMA),
            ("schema", b"/** doc */ export {}", SourceKind.TYPESCRIPT),
            ("schema", b"\xef\xbb\xbf{}", SourceKind.JSON_SCHEMA),
            ("empty.ts", b"", SourceKind.TYPESCRIPT),
        ],
    )
    def test_the_kind_follows_from_the_file(self, tmp_path: Path, name: str, data: bytes, kind: SourceKind) -> None:
        path = tmp_path / name
        path.write_bytes(data)
        source = read_source(str(path))
        assert (source.name, source.kind, source.data) == (str(path), kind, data)
        assert source.sha256 == hashlib.sha256(data).hexdigest()

    def test_missing_files_and_folders_are_refused(self, tmp_path: Path) -> None:
        assert refusal(str(tmp_path / "missing.json")) == "error: PLACE: no such file"
        assert refusal(str(tmp_path)) == "error: PLACE: this is a folder; give a file in it"
        assert "PLACE" in refusal("x" * 5000)

    def test_a_name_with_a_null_character(self) -> None:
        with pytest.raises(InputError):
            read_source("a\0b.json")

    def test_binary_data_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "schema.json"
        path.write_bytes(b"{\0}")
        assert refusal(str(path)) == "error: PLACE: this is a binary file; a schema.json or a schema.ts is expected"

    def test_a_web_page_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "schema.ts"
        path.write_bytes(b"\n<!DOCTYPE html>\n<html></html>")
        said = "this is a web page; give the address of the file itself (on GitHub: Raw)"
        assert refusal(str(path)) == f"error: PLACE: {said}"

    def test_a_file_of_the_largest_size_is_read_and_no_larger(self, tmp_path: Path) -> None:
        path = tmp_path / "schema.json"
        path.write_bytes(b" " * MAX_BYTES)
        assert len(read_source(str(path)).data) == MAX_BYTES
        with path.open("ab") as file:
            file.truncate(50_000_000)
        assert refusal(str(path)) == "error: PLACE: larger than 16 MiB, the maximum size of a schema"


class TestDecode:
    def test_utf_8_with_or_without_a_mark(self) -> None:
        for data in ("é".encode(), "é".encode("utf-8-sig")):
            assert decode(SourceText(name="x", kind=SourceKind.TYPESCRIPT, data=data)) == "é"

    @pytest.mark.parametrize("data", [b"ab\xff", "é".encode("utf-16"), b"\xed\xa0\x80"])
    def test_other_encodings_are_refused(self, data: bytes) -> None:
        with pytest.raises(InputError, match=r"error: x: not UTF-8: .* at byte \d+"):
            decode(SourceText(name="x", kind=SourceKind.TYPESCRIPT, data=data))


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/schema.json")
        elif self.path.partition("?")[0] in ("/schema.json", "/large", "/slow"):
            self.send_response(200)
        else:
            self.send_response(404)
        self.end_headers()
        if self.path.startswith("/schema.json"):
            self.wfile.write(b'{"$defs": {}}')
        elif self.path == "/large":
            self._pour()
        elif self.path == "/slow":
            self._trickle()

    def _trickle(self) -> None:
        try:
            for _ in range(100):
                self.wfile.write(b" ")
                time.sleep(0.05)
        except OSError:
            pass  # the reader closed the connection

    def _pour(self) -> None:
        try:
            for _ in range(64):
                self.wfile.write(b"x" * 4096)
        except OSError:
            pass  # the reader closed the connection

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


class TestDownloads:
    @pytest.mark.parametrize("path", ["/schema.json", "/moved"])
    def test_reads(self, server: str, path: str) -> None:
        source = read_source(server + path)
        assert (source.name, source.kind, source.data) == (server + path, SourceKind.JSON_SCHEMA, b'{"$defs": {}}')

    def test_an_http_error_is_reported(self, server: str) -> None:
        assert refusal(server + "/missing") == "error: PLACE: the server answered 404"

    def test_a_download_is_stopped_when_it_is_too_large(self, server: str) -> None:
        with pytest.raises(InputError, match="larger than"):
            sources.read_place(server + "/large", max_bytes=10_000)

    def test_a_server_that_does_not_answer_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "TIMEOUT", 0.1)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            place = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
            assert refusal(place) == "error: PLACE: not downloaded within 0.1 seconds"

    def test_a_download_that_trickles_in_is_stopped(self, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "TIMEOUT", 0.3)
        assert refusal(server + "/slow") == "error: PLACE: not downloaded within 0.3 seconds"

    def test_secrets_in_a_url_are_not_shown(self, server: str) -> None:
        place = server.replace("://", "://user:password@")
        source = read_source(f"{place}/schema.json?token=secret#part")
        assert source.name == f"{server}/schema.json"
        with pytest.raises(InputError) as raised:
            read_source(f"{place}/missing?token=secret")
        assert str(raised.value) == f"error: {server}/missing: the server answered 404"
        with pytest.raises(InputError) as raised:
            read_source("http://user:password@127.0.0.1:99999/x?token=secret")
        assert "secret" not in str(raised.value)
        assert "password" not in str(raised.value)

    def test_an_unreachable_server_is_reported(self) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
            assert refusal(f"http://127.0.0.1:{port}/x").startswith("error: PLACE: cannot be downloaded: ")

    @pytest.mark.parametrize("url", ["http://", "http://[", "https://exa mple.org/x", "http://127.0.0.1:99999/"])
    def test_invalid_urls_are_refused(self, url: str) -> None:
        assert refusal(url).startswith("error: PLACE: cannot be downloaded: ")


class TestReleased:
    def test_both_files_of_every_revision_are_shipped(self) -> None:
        for revision, row in released().items():
            assert row.revision == revision
            for kind in SourceKind:
                source = shipped_source(revision, kind)
                assert source.kind is kind
                assert source.name.startswith(f"schema/{revision}/")
                assert source.data.startswith(b"{")

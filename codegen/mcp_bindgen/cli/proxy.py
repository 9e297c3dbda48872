"""`mcp-bindgen proxy`: what a client and a server say to each other, judged as it passes.

The report has a line for each place at which a message breaks the protocol, and the beginning of the message. As JSON
it has an object on a line for each message: ``at`` (seconds since 1970), ``sender``, ``revision``, ``method``, ``id``,
``findings`` (each with ``pointer`` and ``reason``) and ``message``, its first characters.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from mcp_bindgen.cli.options import FormatOption
from mcp_bindgen.cli.output import Format, count
from mcp_bindgen.cli.split import words_behind
from mcp_bindgen.diagnostics import InputError, Location, printable

if TYPE_CHECKING:
    from mcp_runtime.observe.observer import Finding

MAX_REPORTED = 1_000
"""How many messages are reported; the rest is counted."""
MAX_MESSAGE = 500
"""How many characters of a message are shown."""
_MAX_MASKED = 65_536
"""The longest message, in bytes, whose secrets are found by their names; of a longer one no part is shown."""


def proxy(
    *,
    context: typer.Context,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report to a file instead of standard error.")
    ] = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 if a message breaks the protocol.")] = False,
    mask: Annotated[bool, typer.Option("--mask/--no-mask", help="Print *** in place of secrets.")] = True,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Pass on what a client and a server say over stdio, and report each message that breaks the protocol.

    Put `mcp-bindgen proxy --` before the command of a server wherever a client starts it.
    """
    from mcp_bindgen.live.proxy import run_proxy

    words = words_behind(context)
    if not words:
        raise InputError.at(Location(source="proxy"), "give the command of the server behind -- (proxy -- COMMAND...)")
    with _Report(log, mask=mask, as_json=format_ is Format.JSON) as report:
        passed = run_proxy(words, report.tell)
        report.end(passed.broken)
        left = f", {passed.unjudged:,} not judged" if passed.unjudged else ""
        report.note(f"{count(passed.messages, 'message')}, {passed.broken:,} broken{left}; {passed.server}")
    if fail and passed.broken:
        raise typer.Exit(1)


class _Report:
    """Where findings go: a file or standard error. It never keeps messages from passing: if it fails, it ends."""

    def __init__(self, log: Path | None, *, mask: bool, as_json: bool) -> None:
        from mcp_runtime.middleware.masking import Masker

        self._log = log
        self._masker = Masker() if mask else None
        self._as_json = as_json
        self._told = 0
        self._out: TextIO = sys.stderr

    def __enter__(self) -> "_Report":
        if self._log is not None:
            try:
                self._out = self._log.open("w", encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise InputError.at(Location(source=str(self._log)), f"cannot be written: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._out is not sys.stderr:
            with suppress(OSError):
                self._out.close()

    def tell(self, text: bytes, findings: "Sequence[Finding]") -> None:
        """Report a message."""
        self._told += 1
        if self._told <= MAX_REPORTED:
            spell: Callable[..., Iterator[str]] = self._spelled_json if self._as_json else self._spelled
            self._write("\n".join(spell(text, findings)))

    def end(self, broken: int) -> None:
        """Tell how many were not reported."""
        if broken > MAX_REPORTED:
            self.note(f"{broken - MAX_REPORTED:,} more broken messages were not reported")

    def note(self, text: str) -> None:
        """Tell people something, in a report for people."""
        if not self._as_json:
            self._write(f"proxy: {text}")

    def _spelled(self, text: bytes, findings: "Sequence[Finding]") -> Iterator[str]:
        for finding in findings:
            parts = [f"{finding.sender} to {finding.sender.other}"]
            parts += [str(finding.method)] if finding.method is not None else []
            parts += [f"id {json.dumps(finding.id)}"] if finding.id is not None else []
            of = f" ({finding.revision})" if finding.revision else ""
            yield self._masked(f"{', '.join(parts)}: {finding.pointer or '/'}: {finding.reason}{of}")
        if shown := self._shown(text):
            yield f"    {shown}"

    def _spelled_json(self, text: bytes, findings: "Sequence[Finding]") -> Iterator[str]:
        first = findings[0]
        yield json.dumps(
            {
                "at": round(time.time(), 3),
                "sender": first.sender,
                "revision": first.revision,
                "method": None if first.method is None else self._masked(first.method),
                "id": self._masked(first.id) if isinstance(first.id, str) else first.id,
                "findings": [
                    {"pointer": self._masked(finding.pointer), "reason": self._masked(finding.reason)}
                    for finding in findings
                ],
                "message": self._shown(text),
            }
        )

    def _shown(self, text: bytes) -> str:
        """Return the beginning of a message, on one line, without its secrets."""
        if self._masker is None:
            return _clipped(text[: 4 * MAX_MESSAGE].decode("utf-8", "replace"))
        if len(text) > _MAX_MASKED:
            return f"({len(text):,} bytes)"
        try:
            value: Any = json.loads(text)
        except (ValueError, RecursionError):
            return _clipped(self._masked(text.decode("utf-8", "replace")))
        return _clipped(json.dumps(self._masker.mask(value), ensure_ascii=False))

    def _masked(self, text: str) -> str:
        return text if self._masker is None else self._masker.mask_text(text)

    def _write(self, text: str) -> None:
        # Whoever started the proxy may not read its standard error any more.
        with suppress(OSError, ValueError):
            print(printable(text), file=self._out, flush=True)


def _clipped(text: str) -> str:
    one_line = text[: MAX_MESSAGE + 1].replace("\n", " ")
    return one_line if len(one_line) <= MAX_MESSAGE else f"{one_line[:MAX_MESSAGE]}..."

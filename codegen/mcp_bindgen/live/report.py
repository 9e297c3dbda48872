"""The report of a proxy: each message that breaks the protocol, where, and why."""

import json
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_bindgen.ir.diagnostics import InputError, clip, printable
from mcp_bindgen.ir.json_values import NOT_JSON, json_value

if TYPE_CHECKING:
    from mcp_runtime.observe.observer import Finding

MAX_REPORTED: Final = 1_000
"""How many messages are reported; the rest is counted."""
MAX_MESSAGE: Final = 500
"""How many characters of a message are shown."""
_TEXT: Final = "not JSON: expected value at line 1 column 1"
_PRINTS: Final = "; if the server printed it, use print(..., file=sys.stderr) or ctx.info(...)"
"""The advice on a line that is text from its first character on."""
_MAX_MASKED: Final = 65_536
"""The longest message, in bytes, whose secrets are found by their names; of a longer one no part is shown."""


class FindingLines:
    """Where findings go. It never blocks messages: lines that cannot be written are lost.

    Args:
        out: takes the lines, and blocks while nobody reads them.
        mask: whether secrets are masked.
        as_json: whether it is for programs.
    """

    def __init__(self, out: RawIOBase, *, mask: bool, as_json: bool) -> None:
        from mcp_runtime.middleware.masking import Masker

        self._out = out
        self._masker = Masker() if mask else None
        self._as_json = as_json
        self._told = 0

    def tell(self, text: bytes, findings: "Sequence[Finding]") -> None:
        """Report a message."""
        self._told += 1
        if self._told <= MAX_REPORTED:
            spell: Callable[..., Iterator[str]] = self._spelled_json if self._as_json else self._spelled
            self._write("\n".join(spell(text, findings)))

    def end(self) -> None:
        """Report how many more there are."""
        if self._told > MAX_REPORTED:
            self.note(f"{self._told - MAX_REPORTED:,} more messages were not reported")

    def note(self, text: str) -> None:
        """Tell people something, in a report for people."""
        if not self._as_json:
            self._write(f"proxy: {text}")

    def _spelled(self, text: bytes, findings: "Sequence[Finding]") -> Iterator[str]:
        for finding in findings:
            yield self._masked(line_about(finding))
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
                    {
                        "pointer": self._masked(finding.pointer),
                        "reason": self._masked(finding.reason),
                        "warning": finding.is_warning,
                    }
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
        value = json_value(text)
        if value is NOT_JSON:
            return _clipped(self._masked(text.decode("utf-8", "replace")))
        return _clipped(json.dumps(self._masker.mask(value), ensure_ascii=False))

    def _masked(self, text: str) -> str:
        return text if self._masker is None else self._masker.mask_text(text)

    def _write(self, text: str) -> None:
        # The parent process may no longer read the proxy's standard error.
        left = memoryview(f"{printable(text)}\n".encode("utf-8", "backslashreplace"))
        with suppress(OSError):
            while left:
                left = left[self._out.write(left) or 0 :]


def line_about(finding: "Finding") -> str:
    """Return the line on what is wrong with a message: who sent it, what it is, where, and why."""
    parts = [f"{finding.sender} to {finding.sender.other}"]
    parts += [str(finding.method)] if finding.method is not None else []
    parts += [f"id {json.dumps(finding.id)}"] if finding.id is not None else []
    of = f" ({finding.revision})" if finding.revision else ""
    mark = "warning: " if finding.is_warning else ""
    hint = _PRINTS if finding.sender == "server" and finding.reason.startswith(_TEXT) else ""
    return f"{mark}{', '.join(parts)}: {finding.pointer or '/'}: {finding.reason}{hint}{of}"


def _clipped(text: str) -> str:
    return clip(text[: MAX_MESSAGE + 1].replace("\n", " "), MAX_MESSAGE)


_STANDARD_ERROR: Final = 2


@contextmanager
def opened(log: Path | None) -> Generator[FileIO]:
    """Open the report unbuffered, so that the process can exit while a thread is still waiting to write."""
    if log is None:
        try:
            out = FileIO(_STANDARD_ERROR, "w", closefd=False)
        except OSError:  # the parent process closed it
            out = FileIO(os.devnull, "w")
        yield out
        return
    try:
        out = FileIO(log, "w")
    except OSError as error:
        raise InputError.at(log, f"cannot be written: {error.strerror}") from None
    try:
        yield out
    finally:
        with suppress(OSError):
            out.close()

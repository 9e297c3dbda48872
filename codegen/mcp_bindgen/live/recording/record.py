"""Record every message of a server's conversations, whole and with secrets masked, for `mcp-bindgen mock`.

The file has a JSON object on each line. The first one has ``session``, the version of the format; the others have
``at`` (seconds since 1970), ``conversation`` (its number), ``from`` (client or server), and ``message``; a text that is
not JSON is ``text`` instead.
"""

import json
import os
import time
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.ir.json_values import NOT_JSON, json_value
from mcp_bindgen.live.mask import message_mask

FORMAT: Final = 1
"""The version of the format."""


class Recorder:
    """Writes a session to a file that only its user may read.

    Args:
        path: the file; it is replaced.
        mask: whether secrets are masked.

    Raises:
        InputError: it cannot be written.
    """

    def __init__(self, path: Path, *, mask: bool) -> None:
        self._path = path
        self._mask = message_mask() if mask else None
        self._failed: OSError | None = None
        try:
            self._out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise self._refusal(error) from None
        self._write({"session": FORMAT})

    def take(self, conversation: int, sender: str, text: bytes) -> None:
        """Record a message before its sender's next one."""
        about = {"at": round(time.time(), 3), "conversation": conversation, "from": sender}
        value = json_value(text)
        if value is NOT_JSON:
            shown = text.decode("utf-8", "replace")
            self._write({**about, "text": shown if self._mask is None else self._mask.mask_text(shown)})
            return
        masked = value if self._mask is None else self._mask.mask(value)
        if masked != value or b"\n" in text.strip():
            self._write({**about, "message": masked})
        else:  # as it was written
            start = json.dumps({**about, "message": 0})[:-2].encode()
            self._write_line(start + text.strip() + b"}")

    def close(self) -> None:
        """Close the file.

        Raises:
            InputError: something could not be written.
        """
        os.close(self._out)
        if self._failed is not None:
            raise self._refusal(self._failed)

    def _write(self, value: Any) -> None:
        self._write_line(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"))

    def _write_line(self, line: bytes) -> None:
        left = memoryview(line + b"\n")
        try:
            while left and self._failed is None:
                left = left[os.write(self._out, left) :]
        except OSError as error:  # messages must pass nevertheless
            self._failed = error

    def _refusal(self, error: OSError) -> InputError:
        return InputError.at(self._path, f"cannot be written: {error.strerror}")

"""Approvals: the text that a person decides about, what an answer is bound to, and the file that keeps answers.

The text shows everything that decides which code runs. Secrets are masked where their form cannot be that of code: a
single word under the name of a secret, a credential of a known issuer, a password in a URL. Answers to ``${input:}``
are never shown. Neither they nor masked values of variables and headers are part of the digest: a new token asks no
question, and nobody guesses it from the file of answers.
"""

import hashlib
import inspect
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mcp_runtime.core.errors import printable
from mcp_runtime.core.transports.process import child_environment
from mcp_runtime.middleware.masking import MASK, WELL_KNOWN, Masker

_SECRET: Final = r"(?:(?:[Bb]asic|[Bb]earer|[Tt]oken)\s+)?(?![./~])[^\s`;|<>&(){}'\"\\]+"
"""A secret: one word that a shell takes literally, and not a path."""
_VALUE: Final = re.compile(_SECRET)
_NAMED: Final = re.compile(rf"([\w.-]{{1,100}})(=|:\s*)({_SECRET})")
_PASSWORD: Final = re.compile(r"(://[\w.~%+-]{0,256}:)[\w.~%+=!*,-]{1,256}@")
_PARAMETER: Final = re.compile(r"([?&]([\w.%-]{1,100})=)[^&#]+")
_masker: Final = Masker()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The program that an entry of a configuration starts, or the URL that it reaches.

    Its text is what a person approves: the command as a shell would take it, or the URL, with secrets masked.

    Attributes:
        command: the program and its arguments, with the variables of the environment filled in; empty for a URL.
        cwd: the working directory; empty for that of the host.
        env: variables to set, as they are written in the configuration.
        url: the URL, with variables filled in; empty for a command.
        headers: headers of every request, as they are written in the configuration.
    """

    command: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        if not self.command:
            headers = [_quoted(f"{name}: {_shown(name, value)}") for name, value in self.headers.items()]
            url = _PARAMETER.sub(_parameter, _PASSWORD.sub(rf"\1{MASK}@", self.url))
            return printable(url) + (f" with {' '.join(headers)}" if headers else "")
        variables = [f"{_quoted(name)}={_word(name, value)}" for name, value in self.env.items()]
        words = [*variables, *_words((self._program(), *self.command[1:]))]
        return f"cd {_quoted(self._folder())} && {' '.join(words)}"

    def digest(self, name: str) -> str:
        """Return what identifies it under the name of its entry: folder, program, arguments, URL, variables, headers.

        Args:
            name: the name of the entry.
        """
        where = [self._folder(), self._program()] if self.command else []
        texts = [{key: _shown(key, value) for key, value in held.items()} for held in (self.env, self.headers)]
        raw = json.dumps([name, where, self.command, self.url, texts], sort_keys=True)
        return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _folder(self) -> str:
        return os.path.realpath(self.cwd or os.curdir)

    def _program(self) -> str:
        """Return the file of the program, where it is found on the PATH of its environment."""
        program = self.command[0]
        return program if os.path.dirname(program) else self._found(program) or program

    def _found(self, program: str) -> str | None:
        with suppress(OSError, ValueError):
            return shutil.which(program, path=child_environment(self.env, False).get("PATH"))
        return None


def _words(words: Iterable[str]) -> Iterator[str]:
    """Iterate over the words of a command, quoted, with secrets masked: ``--token x``, ``--token=x``, ``Cookie: x``."""
    before = ""
    for word in words:
        is_value = before.startswith("-") and "=" not in before and not word.startswith("-")
        named = _NAMED.fullmatch(word)
        if named is not None and _masker.is_secret(named[1]):
            yield _quoted(f"{named[1]}{named[2]}{MASK}")
        else:
            yield _word(before if is_value else "", word)
        before = word


def _word(name: str, value: str) -> str:
    shown = _shown(name, value)
    return MASK if shown == MASK != value else _quoted(shown)


def _shown(name: str, value: str) -> str:
    """Return a value as it is shown under its name."""
    if _masker.is_secret(name) and _VALUE.fullmatch(value):
        return MASK
    return _PASSWORD.sub(rf"\1{MASK}@", WELL_KNOWN.sub(MASK, value))


def _parameter(found: "re.Match[str]") -> str:
    return f"{found[1]}{MASK}" if _masker.is_secret(found[2]) else found[0]


def _quoted(word: str) -> str:
    """Return a word as a shell would take it; characters that are not visible are escapes in ``$'...'``."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(character: str) -> str:
    if character.isprintable():
        return f"\\{character}" if character in "'\\" else character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\U{code:08x}"


async def is_approved(entry: Any, approve: Callable[[Any], bool | Awaitable[bool]], kept_in: Path | None) -> bool:
    """Return whether a server of a configuration may be started; the caller asks about one at a time.

    Args:
        entry: its `ServerEntry`.
        approve: decides, if no answer is kept.
        kept_in: the file that keeps the answers, by `Launch.digest`.
    """
    kept: dict[str, Any] = {}
    if kept_in is not None:
        with suppress(FileNotFoundError):
            kept = json.loads(kept_in.read_bytes())
    answer = kept.get(entry.digest)
    if not isinstance(answer, bool):
        given = approve(entry)
        answer = bool(await given if inspect.isawaitable(given) else given)
        if kept_in is not None:
            _write(kept_in, json.dumps({**kept, entry.digest: answer}, indent=2))
    return answer


def _write(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise

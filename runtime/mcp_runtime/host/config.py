"""The configuration of a host: which servers there are, and how each is started or reached.

The file is that of desktop clients and editors: ``mcpServers`` (or ``servers``, with ``inputs``) maps a name to an
entry; comments, trailing commas and a byte order mark are allowed. Members that only other programs know are ignored.
An entry that is wrong fails alone.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_runtime.core.errors import clipped
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.json.text import NotIJson, read
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer
from mcp_runtime.host.approval import Launch

MAX_BYTES: Final = 4 << 20
"""The largest file that is read, in bytes."""
STARTUP_TIMEOUT: Final = 30.0
"""How many seconds a server has to connect and to list what it offers, unless its entry says otherwise."""
_STDIO: Final = frozenset(("stdio", "local"))
_HTTP: Final = frozenset(("http", "streamable-http", "streamablehttp", "streamable_http", "remote"))
_MAX_UNKNOWN: Final = 100
"""How many members without a meaning are compared with those that have one."""
_LIKENESS: Final = 0.75
_URLS: Final = ("url", "serverUrl", "httpUrl")
# Each takes linear time: what is not closed extends to the end, so that nothing in it is tried again.
_SKIPPED: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=(?:\s|//[^\n]*|/\*.*?(?:\*/|\Z))*+[}\]])', re.DOTALL
)
"""Texts, comments and trailing commas."""
_VARIABLE: Final = re.compile(r"\$\{(?:(env|input):)?([^{}:$]++)(?::-([^}]*+))?(?:\}|(\Z))")

Inputs = Callable[[Mapping[str, Any]], str]
"""Asks for a value: gets an entry of ``inputs`` (``id``, ``description``, ``password``)."""


class ConfigurationError(ValueError):
    """A configuration cannot be used; the text is one line with the file and the place in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server of a configuration.

    Attributes:
        name: its name.
        command: the program and its arguments; empty for a URL.
        env: environment variables to set for the program.
        cwd: its working directory; None for that of the host.
        url: where it is reached over HTTP; empty for a command.
        sse: whether the URL is that of HTTP+SSE only.
        headers: headers of every request.
        is_disabled: whether it is not started.
        timeout: seconds for each call; None for the default of the client.
        startup_timeout: seconds in which it must be connected and have listed what it offers.
        is_required: whether the host fails if it does.
        revision: the only revision to speak with it; empty for all.
        lock: the lock file that its tools must match (`mcp-bindgen tools generate`); None for none.
        allow: which of its tools are taken, as globs over the server's own names.
        deny: which of those are not.
        written: its command, URL, variables and headers without the answers to inputs; None for the values above.
        is_trusted: whether decisions may rely on what its tools say about themselves (``readOnlyHint``).
        error: why the entry cannot be used, in one line; empty if it can.
    """

    name: str
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    sse: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    is_disabled: bool = False
    timeout: float | None = None
    startup_timeout: float = STARTUP_TIMEOUT
    is_required: bool = False
    revision: str = ""
    lock: Path | None = None
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    written: Launch | None = field(default=None, repr=False)
    is_trusted: bool = False
    error: str = ""

    def takes(self, tool: str) -> bool:
        """Whether a tool is taken.

        Args:
            tool: its name on the server.
        """
        allowed = any(fnmatchcase(tool, pattern) for pattern in self.allow)
        return allowed and not any(fnmatchcase(tool, pattern) for pattern in self.deny)

    def __str__(self) -> str:
        """What is started or reached, with secrets masked."""
        return str(self._launch())

    @property
    def digest(self) -> str:
        """Identifies what it starts or reaches; answers to inputs and masked variables are not part of it."""
        return self._launch().digest(self.name)

    def _launch(self) -> Launch:
        return self.written or Launch(
            command=self.command, cwd=self.cwd or "", env=self.env, url=self.url, headers=self.headers
        )

    def connect(self, stderr: Callable[[str], None], auth: Any = None) -> AbstractAsyncContextManager[Peer]:
        """Start or reach it.

        Args:
            stderr: receives the lines of its standard error.
            auth: signs in to it, as ``auth`` of `connect_http` does.

        Raises:
            ConfigurationError: the entry cannot be used.
        """
        if self.error:
            raise ConfigurationError(self.error)
        if self.command:
            from mcp_runtime.core.transports.stdio import connect_stdio

            return connect_stdio(*self.command, env=self.env, cwd=self.cwd, stderr=stderr)
        from mcp_runtime.core.transports.http import connect_http, connect_sse

        return (connect_sse if self.sse else connect_http)(self.url, headers=self.headers, auth=auth)


def read_file(path: Path, inputs: Inputs | None = None) -> tuple[ServerEntry, ...]:
    """Read a configuration; relative paths of lock files start at its folder.

    Raises:
        ConfigurationError: the file cannot be read. A server that is wrong only has an `error`.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        return parse(read(without_comments(text).encode()), inputs, source=str(path), folder=path.parent)
    except NotIJson as error:
        reason = str(error).removeprefix("not JSON: ")
        raise ConfigurationError(f"{path}: is not JSON: {clipped(reason, 200)}") from None


def without_comments(text: str) -> str:
    """Return a configuration with spaces instead of comments and trailing commas, so that nothing changes its place."""
    return _SKIPPED.sub(_plain, text)


def read_regular(path: Path) -> bytes:
    """Return the contents of a file; a folder with a configuration may come from anywhere.

    Raises:
        OSError: it cannot be read, is a device or a pipe, or is larger than `MAX_BYTES`.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # opening a pipe must not block
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"larger than {MAX_BYTES >> 20} MiB")
    return data


def parse(
    value: object, inputs: Inputs | None = None, *, source: str = "configuration", folder: Path = Path()
) -> tuple[ServerEntry, ...]:
    """Return the servers of a configuration, given as JSON.

    Raises:
        ConfigurationError: it has no servers. A server that is wrong only has an `error`.
    """
    whole = _Reader(source, folder, inputs)
    held = whole.members(value, ())
    key = next((key for key in ("mcpServers", "servers") if key in held), None)
    if key is None:
        raise whole.error((), "has neither mcpServers nor servers")
    questions: Any = held.get("inputs")
    if is_array(questions):  # a question that is wrong is undefined for the servers that need its answer
        whole.questions = {one["id"]: one for one in questions if is_object(one) and isinstance(one.get("id"), str)}
    return tuple(whole.entry(name, entry, (key, name)) for name, entry in whole.members(held[key], (key,)).items())


def _plain(found: "re.Match[str]") -> str:
    text = found[0]
    is_cut_off = text.startswith("/*") and (len(text) < 4 or not text.endswith("*/"))
    return text if text.startswith('"') or is_cut_off else re.sub(r"[^\n]", " ", text)


class _Text(NamedTuple):
    """A text of a configuration.

    Attributes:
        value: the text with its variables filled in.
        written: the text in which only variables of the environment are filled in.
    """

    value: str = ""
    written: str = ""


class _Members(dict[str, Any]):
    """An object of a configuration, which notes the names that it is asked for: those that have a meaning."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__(value)
        self.known: set[str] = set()

    def get(self, key: str, default: Any = None, /) -> Any:
        self.known.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.known.add(str(key))
        return super().__contains__(key)

    def misspelt(self) -> str | None:
        """Return what to say of a name that is nearly one with a meaning; None if other programs may mean it."""
        for name in sorted(self.keys() - self.known)[:_MAX_UNKNOWN]:
            near = [known for known in sorted(self.known) if abs(len(known) - len(name)) <= 1]
            if found := get_close_matches(name, near, 1, _LIKENESS):
                return f"{clipped(name, 40)} has no meaning; did you mean {found[0]}?"
        return None


class _Reader:
    """Reads the members of entries; errors name the source and the place."""

    def __init__(self, source: str, folder: Path, inputs: Inputs | None) -> None:
        self.questions: Mapping[str, Mapping[str, Any]] = {}
        self._source = source
        self._folder = folder
        self._inputs = inputs
        self._answers: dict[str, str] = {}

    def error(self, place: tuple[str, ...], reason: str) -> ConfigurationError:
        return ConfigurationError(f"{self._source}: {clipped(spell_pointer(place) or '/', 200)}: {reason}")

    def members(self, value: object, place: tuple[str, ...]) -> dict[str, Any]:
        if not is_object(value):
            raise self.error(place, "must be an object")
        return value

    def entry(self, name: str, value: object, place: tuple[str, ...]) -> ServerEntry:
        try:
            return self.server(name, value, place)
        except ConfigurationError as error:
            is_required = is_object(value) and value.get("required") is True
            return ServerEntry(name=name, is_required=is_required, error=str(error))

    def server(self, name: str, value: object, place: tuple[str, ...]) -> ServerEntry:
        entry = _Members(self.members(value, place))
        kind = str(entry.get("type", entry.get("transport", ""))).lower()
        known = {"": None, **dict.fromkeys(_STDIO, True), **dict.fromkeys((*_HTTP, "sse"), False)}
        if kind not in known:
            raise self.error((*place, "type"), f"must be stdio, http or sse, not {clipped(kind, 40)}")
        is_started = known[kind]
        off = entry.get("disabled") is True or entry.get("enabled") is False
        command = () if off else self._command(entry, place)
        url_member = next((key for key in _URLS if key in entry), "url")
        url = _Text() if off else self._text(entry, url_member, place)
        if not name:
            raise self.error(place, "has no name")
        if not off and bool(command) == bool(url.value):
            reason = "must have either command or url" if command else "has neither command nor url"
            raise self.error(place, entry.misspelt() or reason)
        if is_started is not None and not off and is_started != bool(command):
            raise self.error((*place, "type"), f"is {kind}, which does not fit {'command' if command else url_member}")
        if url.value and not re.match(r"https?://[^/]", url.value, re.IGNORECASE):
            raise self.error((*place, url_member), "must be an http or https URL")
        chosen = entry.get("tools", {})
        chosen = {"allow": chosen} if is_array(chosen) else self.members(chosen, (*place, "tools"))
        allow = self._list({"allow": ["*"], **chosen}, "allow", (*place, "tools"))
        lock = self._text(entry, "lock", place).value
        cwd = self._text(entry, "cwd", place)
        env = {} if off else self._texts(entry, "env", place)
        headers = {} if off else self._texts(entry, "headers", place)
        made = ServerEntry(
            name=name,
            command=tuple(word.value for word in command),
            env=env,
            cwd=cwd.value or None,
            url=url.value,
            sse=kind == "sse" or ("httpUrl" in entry and url_member == "url"),
            headers=headers,
            is_disabled=off,
            timeout=self._seconds(entry, "timeout", place),
            startup_timeout=self._seconds(entry, "startup_timeout", place) or STARTUP_TIMEOUT,
            is_required=entry.get("required") is True,
            is_trusted=entry.get("trusted") is True,
            revision=self._text(entry, "revision", place).value,
            lock=self._folder / lock if lock else None,
            allow=tuple(one.value for one in allow),
            deny=tuple(one.value for one in self._list(chosen, "deny", (*place, "tools"))),
            written=Launch(
                command=tuple(word.written for word in command),
                cwd=cwd.written,
                env={name: str(entry["env"][name]) for name in env},
                url=url.written,
                headers={name: str(entry["headers"][name]) for name in headers},
            ),
        )
        if wrong := entry.misspelt():
            raise self.error(place, wrong)
        return made

    def _command(self, entry: Mapping[str, Any], place: tuple[str, ...]) -> tuple[_Text, ...]:
        if is_array(entry.get("command")):
            words = self._list(entry, "command", place)
        else:
            program = self._text(entry, "command", place)
            words = (program,) if program.value else ()
        return words + self._list(entry, "args", place) if words else ()

    def _list(self, entry: Mapping[str, Any], key: str, place: tuple[str, ...]) -> tuple[_Text, ...]:
        found = entry.get(key, [])
        if not is_array(found) or not all(isinstance(word, str) for word in found):
            raise self.error((*place, key), "must be a list of strings")
        return tuple(self._filled(word, (*place, key, str(number))) for number, word in enumerate(found))

    def _texts(self, entry: Mapping[str, Any], key: str, place: tuple[str, ...]) -> dict[str, str]:
        found = self.members(entry.get(key, {}), (*place, key))
        for name, text in found.items():
            if not isinstance(text, str | int | float):
                raise self.error((*place, key, name), "must be a string")
        return {name: self._filled(str(text), (*place, key, name)).value for name, text in found.items()}

    def _text(self, entry: Mapping[str, Any], key: str, place: tuple[str, ...]) -> _Text:
        found = entry.get(key) or ""
        if not isinstance(found, str):
            raise self.error((*place, key), "must be a string")
        return self._filled(found, (*place, key))

    def _seconds(self, entry: Mapping[str, Any], key: str, place: tuple[str, ...]) -> float | None:
        found = entry.get(key)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int | float) or found <= 0):
            raise self.error((*place, key), "must be a number of seconds above 0")
        return found

    def _filled(self, text: str, place: tuple[str, ...]) -> _Text:
        """Replace the variables of a text."""
        values: list[str] = []
        written: list[str] = []
        end = 0
        for found in _VARIABLE.finditer(text):
            kind, name, otherwise, is_cut_off = found.groups()
            if is_cut_off is not None:
                break
            if kind == "input":
                value = self._answer(name, place)
            elif (known := os.environ.get(name) or otherwise) is not None:
                value = known
            else:
                raise self.error(place, f"the environment variable {clipped(name, 100)} is not set")
            values += (text[end : found.start()], value)
            written += (text[end : found.start()], found[0] if kind == "input" else value)
            end = found.end()
        return _Text("".join((*values, text[end:])), "".join((*written, text[end:])))

    def _answer(self, name: str, place: tuple[str, ...]) -> str:
        if name not in self.questions or self._inputs is None:
            known = name in self.questions
            reason = "needs a value: pass inputs= to the host" if known else "is not defined in inputs"
            raise self.error(place, f"the input {clipped(name, 100)} {reason}")
        if name not in self._answers:
            self._answers[name] = self._inputs(self.questions[name])
        return self._answers[name]

"""The environment of a child process: by default, only variables that are safe to pass to third-party programs."""

import os
import sys
from collections.abc import Iterable, Mapping

_POSIX = tuple("HOME LANG LANGUAGE LOGNAME PATH SHELL TERM TMPDIR TZ USER".split())
_WINDOWS = tuple(
    "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES"
    " SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR".split()
)


def child_environment(env: Mapping[str, str] | None, inherit: bool | Iterable[str]) -> dict[str, str]:
    """Return the environment of a child process.

    Functions exported by a shell are never inherited: their values are code.

    Args:
        env: variables to set; they override inherited ones.
        inherit: False for safe ones only (locale, paths, user), True for all, or the names of additional variables.
    """
    if inherit is True:
        names: Iterable[str] = os.environ
    else:
        more = () if inherit is False else (inherit,) if isinstance(inherit, str) else inherit
        locale = (name for name in os.environ if name.startswith("LC_"))
        names = (*(_WINDOWS if sys.platform == "win32" else _POSIX), *locale, *more)
    inherited = {name: os.environ[name] for name in names if name in os.environ}
    safe = {name: value for name, value in inherited.items() if not value.startswith("() {")}
    return safe | dict(env or {})

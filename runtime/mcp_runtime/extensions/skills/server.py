"""The server of skills: lists them, returns entries, directories and files, and tells clients of changes."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from mimetypes import guess_type
from pathlib import Path
from threading import Lock
from typing import Any, Final, NoReturn
from urllib.parse import quote
from weakref import WeakSet

from mcp_runtime.app.registry import Registry
from mcp_runtime.core.changes.listeners import listeners_of
from mcp_runtime.core.connection.background import THREADS
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import PeerError, clipped
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.dispatch import Side, State
from mcp_runtime.extensions.extension import Around, Extension
from mcp_runtime.extensions.skills.folders import MAX_BYTES, SKILL, Folder, log

PACKAGE: Final = "mcp_bindings.extensions.skills"
PAGE: Final = 50
"""How many skills are on a page."""
_LIST: Final = names.listing("resources")
_FRESH: Final = {"ttlMs": 0, "cacheScope": "private"}


class Skills(Extension):
    """Serves skills; without arguments, for clients.

    Args:
        source: a folder, below which each folder with a SKILL.md is a skill; or the folders of skills by their path.
        dynamic: the paths of skills whose files have no stable digests.
        listed: whether a skill is listed, by its entry; by default all are.

    Raises:
        ValueError: a skill is not valid; the message names the file and the field.
        OSError: a folder cannot be read.
        ModuleNotFoundError: the extra ``skills`` is not installed.
    """

    def __init__(
        self,
        source: str | Path | Mapping[str, str | Path] | None = None,
        *,
        dynamic: Iterable[str] = (),
        listed: Callable[[Mapping[str, Any]], bool] = lambda entry: True,
    ) -> None:
        self.binding = import_module(PACKAGE).EXTENSION
        self._is_listed, self._lock = listed, Lock()
        self._connections: WeakSet[Connection] = WeakSet()
        self._folders: Registry[Folder] = Registry()
        unused = set(dynamic)
        given = source if isinstance(source, Mapping) else {"": source} if source is not None else {}
        for path, root in given.items():
            found = sorted(Path(root).rglob(SKILL))
            if not found or (path and found[0].parent != Path(root)):
                raise ValueError(f"{root}: there is no {SKILL}")
            for file in found:
                inner = file.parent.relative_to(root).parts
                if not any(part.startswith(".") for part in inner):
                    whole = "/".join((path, *inner) if path else inner)
                    folder = Folder(whole, file.parent, is_dynamic=whole in unused)
                    folder.look()
                    unused.discard(whole)
                    self._folders.add(folder.uri, folder)
        if unused:
            raise ValueError(f"dynamic: there is no skill {', '.join(sorted(unused))}")

    def settings(self, connection: Connection) -> Mapping[str, Any]:
        """Return whether directories can be listed: by servers; see `Extension`."""
        return {"directoryRead": True} if connection.side is Side.SERVER else {}

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str | Mapping[str, Any]]:
        """Declare resources too, since the files are resources; see `Extension`."""
        needed = ("resources", "resources.listChanged") if connection.side is Side.SERVER else ()
        return (*needed, *super().declares(connection, declared))

    def install(self, connection: Connection) -> None:
        """Register the handlers, and remember the connection, to notify it; see `Extension`."""
        super().install(connection)
        self._connections.add(connection)
        self._loop = asyncio.get_running_loop()

    def handlers(self) -> Mapping[str, Any]:
        """Return what answers the methods of the extension, and those of resources where the server has none."""
        return {
            "skills/list": self._list,
            "skills/get": self._get,
            "resources/directory/read": self._directory,
            _LIST: self._nothing,
            names.RESOURCES_TEMPLATES_LIST: self._nothing,
            names.RESOURCES_READ: self._nothing,
        }

    def around(self) -> Mapping[str, Around]:
        """Return what adds skills to the resources of the server."""
        return {_LIST: self._list_resources, names.RESOURCES_READ: self._read}

    def _nothing(self, params: Any, ctx: Any) -> Any:
        """Answer for a server without other resources."""
        if (uri := getattr(params, "uri", None)) is not None:
            _refuse("resource", uri)
        name = ctx.exchange.method.name
        return self._result(name, ctx, **{"resources" if name == _LIST else "resourceTemplates": []})

    def _list(self, params: Any, ctx: Any) -> Any:
        folders, cursor = self._folders.page(params.cursor, PAGE)
        return self._result("skills/list", ctx, skills=self._listed(folders), nextCursor=cursor, **_FRESH)

    def _get(self, params: Any, ctx: Any) -> Any:
        folder = self._folders.get(params.uri)
        if folder is None or not self._look(folder):
            _refuse("skill", params.uri)
        return self._result("skills/get", ctx, skill=folder.entry, **_FRESH)

    def _directory(self, params: Any, ctx: Any) -> Any:
        folder = self._holding(params.uri)
        if folder is None or params.uri not in folder.children:
            _refuse("directory", params.uri)
        found = [(name.rstrip("/"), _type(name)) for name in folder.children[params.uri]]
        entries = [{"uri": f"{params.uri}/{quote(name)}", "name": name, "mimeType": kind} for name, kind in found]
        return self._result("resources/directory/read", ctx, resources=entries)

    async def _list_resources(self, params: Any, ctx: Any, proceed: Any) -> Any:
        """Add the skills to the last page of the server's resources."""
        own = await proceed(params, ctx)
        if own.next_cursor is not None:
            return own
        kept = [
            {"uri": entry["uri"], "name": about["name"], "description": about["description"], "mimeType": _type(SKILL)}
            for entry in await THREADS.run(self._listed, self._folders)
            if (about := entry["frontmatter"])
        ]
        made = self._result(_LIST, ctx, resources=kept)
        return own.model_copy(update={"resources": [*own.resources, *made.resources]})

    async def _read(self, params: Any, ctx: Any, proceed: Any) -> Any:
        found = await THREADS.run(self._load, params.uri)
        if found is None:
            return await proceed(params, ctx)
        try:
            content: str | bytes = found.decode()
        except UnicodeDecodeError:
            content = found
        from mcp_runtime.app.content import contents  # It loads pydantic.

        return contents(ctx.requester.binding, params.uri, content, _type(params.uri))

    def _load(self, uri: str) -> bytes | None:
        folder = self._holding(uri)
        file = folder.files.get(uri) if folder else None
        if file is None:
            return None
        if file.state[2] > MAX_BYTES:
            raise PeerError(-32603, f"the file has more than {MAX_BYTES:,} bytes")
        try:
            with file.open() as opened:
                return opened.read(MAX_BYTES)
        except OSError:
            raise PeerError(-32603, "the file has just changed; ask again") from None

    def _holding(self, uri: str) -> Folder | None:
        """Return the outermost skill that has a file or directory, as it is now."""
        ends = [*[place for place, character in enumerate(uri) if character == "/"][2:66], len(uri)]
        found = [folder for end in ends if (folder := self._folders.get(f"{uri[:end]}/{SKILL}"))]
        return next((each for each in found if self._look(each) and (uri in each.files or uri in each.children)), None)

    def _listed(self, folders: Iterable[Folder]) -> list[Mapping[str, Any]]:
        return [folder.entry for folder in folders if self._look(folder) and self._is_listed(folder.entry)]

    def _look(self, folder: Folder) -> bool:
        """Return whether a skill is valid now, and tell clients if it has changed."""
        with self._lock:
            was = folder.entry
            try:
                folder.look()
            except (OSError, ValueError) as error:
                folder.forget()
                if was:
                    log.warning("a skill is not served any more: %s", error)
            if folder.entry is not was:
                self._loop.call_soon_threadsafe(self._tell)
            return bool(folder.entry)

    def _tell(self) -> None:
        for connection in self._connections:
            connection.spawn(_changed(connection))

    def _result(self, name: str, ctx: Any, **values: Any) -> Any:
        method: Any = ctx.requester.binding.methods.get(name) or self.binding.methods[name]
        return method.result.load()(**{key: value for key, value in values.items() if value is not None})


async def _changed(connection: Connection) -> None:
    for listeners in listeners_of(connection):
        await listeners.changed("resources")
    if connection.binding is not None and connection.state is State.READY:
        method: Any = connection.binding.methods[names.list_changed("resources")]
        await connection.notify(method, None)


def _type(name: str) -> str:
    kind = "text/markdown" if name.endswith(".md") else "inode/directory" if name.endswith("/") else guess_type(name)[0]
    return kind or "text/plain"


def _refuse(kind: str, name: str) -> NoReturn:
    raise PeerError(-32602, f"there is no {kind} {clipped(name, 100)}")

"""Write generated trees to disk atomically: readers see the old tree or the new one, never a mixture.

Each tree is written next to its folder and then exchanged with it in one step. If the system cannot exchange two
folders, the old one is moved aside first, and the next run moves it back if this one dies between the two steps.
"""

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_bindgen.emit.header import comment_of
from mcp_bindgen.emit.tree import STAGING, Extent, Tree, compare, put_on_record, refuse_foreign
from mcp_bindgen.ir.diagnostics import InputError

Undo = Callable[[], None]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def write_trees(trees: Sequence[Tree], home: Path) -> tuple[Tree, ...]:
    """Write all trees to their folders, or none of them; return the trees that differed.

    `home` is the folder that is locked against other runs.

    Raises:
        InputError: a folder is not ours to replace, or cannot be written; nothing was changed.
    """
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with _alone(home.parent):
            for tree in trees:
                _clean_up(tree)
            refuse_foreign(trees)
            return _replace_all(trees)
    except OSError as error:
        place = str(error.filename or home)
        raise InputError.at(place, f"cannot be written: {error.strerror}; nothing was changed") from None


def _replace_all(trees: Sequence[Tree]) -> tuple[Tree, ...]:
    stale = tuple(tree for tree in trees if compare(tree).paths or not tree.folder.is_dir())
    undo: list[Undo] = []
    try:
        for tree in stale:
            _stage(tree)
        for tree in stale:
            _install(tree, undo)
    except BaseException:
        for step in reversed(undo):
            step()
        for tree in stale:
            _discard(tree)
        raise
    with suppress(OSError):  # the next run removes what remains of the old tree
        for tree in stale:
            _discard(tree)
    for tree in stale:
        for name, text in tree.files.items():
            if comment_of(name) is None and text:
                put_on_record(tree.folder / name, text)
    return stale


def _stage(tree: Tree) -> None:
    """Stage a tree next to its folder; a tree that owns only part of the folder is staged file by file inside it."""
    is_whole = tree.extent is Extent.ALL
    if not is_whole:
        tree.folder.mkdir(parents=True, exist_ok=True)
    for name, text in tree.files.items():
        path = _sibling(tree.folder, "new") / name if is_whole else _sibling(tree.folder / name, "new")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def _install(tree: Tree, undo: list[Undo]) -> None:
    """Move a staged tree into place; its reversal is added to `undo`."""
    if tree.extent is Extent.ALL:
        _swap(_sibling(tree.folder, "new"), tree.folder, undo)
        return
    for name, path in tree.on_disk().items():
        if name not in tree.files:
            held = _sibling(path, "old")
            path.rename(held)
            undo.append(_moving(held, path))
    for name in tree.files:
        _swap(_sibling(tree.folder / name, "new"), tree.folder / name, undo)


def _swap(new: Path, place: Path, undo: list[Undo]) -> None:
    """Exchange the staged path with the one in place, so that the old one remains under the staged name."""
    if not place.exists():
        new.rename(place)
        undo.append(_moving(place, new))
    elif exchange(new, place):
        undo.append(lambda: None if exchange(new, place) else _raise_lost(place))
    else:
        held = _sibling(place, "old")
        undo.append(_moving(held, place))
        place.rename(held)
        new.rename(place)
        undo.append(_moving(place, new))


def _raise_lost(place: Path) -> None:
    raise OSError(errno.EIO, "could not be restored", str(place))


def _moving(source: Path, target: Path) -> Undo:
    def move() -> None:
        if source.exists():
            source.rename(target)

    return move


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; False if the system or the file system does not support it."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None or rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return rename is not None
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(other))


def _clean_up(tree: Tree) -> None:
    """Remove what an interrupted run left behind, and restore what it had moved aside but not replaced."""
    held = _sibling(tree.folder, "old")
    if held.is_dir() and not tree.folder.exists():
        held.rename(tree.folder)
    _discard(tree)


def _discard(tree: Tree) -> None:
    if tree.extent is not Extent.ALL:
        folders = {(tree.folder / name).parent for name in tree.files} | {tree.folder}
        for path in (path for folder in folders for path in folder.glob(f".*{STAGING}*")):
            if path.is_file():
                path.unlink()
        return
    for word in ("new", "old"):
        if (leftover := _sibling(tree.folder, word)).exists():
            shutil.rmtree(leftover)


def _sibling(path: Path, word: str) -> Path:
    return path.with_name(f".{path.name}{STAGING}{word}")


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Lock a folder against other runs; the system releases the lock when this process ends."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

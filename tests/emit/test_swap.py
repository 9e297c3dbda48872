"""Writing trees to disk: all of them or none, whatever fails in between."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_bindgen.emit import swap
from mcp_bindgen.emit.header import HEADER_MARK
from mcp_bindgen.emit.swap import exchange, write_trees
from mcp_bindgen.emit.tree import STAGING, Extent, Tree
from mcp_bindgen.ir.diagnostics import InputError
from support.command import files_below

OLD = f"{HEADER_MARK}\nold\n"
NEW = f"{HEADER_MARK}\nnew\n"


@pytest.fixture(params=["exchange", "two steps"], autouse=True)
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with and without the system's atomic exchange."""

    def cannot(one: Path, other: Path) -> bool:
        return False

    if request.param == "two steps":
        monkeypatch.setattr(swap, "exchange", cannot)


def trees(home: Path, text: str = NEW) -> list[Tree]:
    return [
        Tree(folder=home / "v1", files={"a.py": text, "sub/b.py": text}),
        Tree(folder=home / "v2", files={"c.py": text}),
        Tree(folder=home, files={"__init__.py": text, "py.typed": ""}, extent=Extent.TOP),
    ]


def expected_files(text: str) -> dict[str, bytes]:
    names = ("v1/a.py", "v1/sub/b.py", "v2/c.py", "__init__.py")
    return {**{name: text.encode() for name in names}, "py.typed": b""}


def failing_at(call: int, error: BaseException, method: Callable[..., object]) -> Callable[..., object]:
    """Make a method raise at one of its calls."""
    count = 0

    def replacement(*arguments: object) -> object:
        nonlocal count
        count += 1
        if count == call:
            raise error
        return method(*arguments)

    return replacement


def test_new_folders_are_written_and_written_again(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    assert [tree.folder.name for tree in write_trees(trees(home), home)] == ["v1", "v2", "home"]
    assert files_below(tmp_path) == {f"deep/home/{name}": data for name, data in expected_files(NEW).items()}
    assert write_trees(trees(home), home) == ()


def test_old_folders_are_replaced_and_orphans_removed(tmp_path: Path) -> None:
    write_trees(trees(tmp_path / "home", OLD), tmp_path / "home")
    (tmp_path / "home" / "v1" / "orphan.py").write_text(OLD, "utf-8")
    (tmp_path / "home" / "orphan.py").write_text(OLD, "utf-8")
    (tmp_path / "home" / "v3").mkdir()
    (tmp_path / "home" / "v3" / "mine.txt").write_text("kept", "utf-8")
    write_trees(trees(tmp_path / "home"), tmp_path / "home")
    assert files_below(tmp_path / "home") == {**expected_files(NEW), "v3/mine.txt": b"kept"}


def test_unchanged_folders_are_not_touched(tmp_path: Path) -> None:
    write_trees(trees(tmp_path), tmp_path)
    before = (tmp_path / "v1").stat().st_ino
    (tmp_path / "v2" / "c.py").unlink()
    assert [tree.folder.name for tree in write_trees(trees(tmp_path), tmp_path)] == ["v2"]
    assert (tmp_path / "v1").stat().st_ino == before


def test_a_foreign_file_in_one_folder_prevents_all_changes(tmp_path: Path) -> None:
    write_trees(trees(tmp_path, OLD), tmp_path)
    (tmp_path / "v2" / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(InputError, match=r"v2/notes\.txt"):
        write_trees(trees(tmp_path), tmp_path)
    assert files_below(tmp_path) == {**expected_files(OLD), "v2/notes.txt": b"mine"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("method", ["write_bytes", "rename"])
@pytest.mark.parametrize("call", [1, 2, 3, 4, 5])
def test_a_failure_anywhere_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, method: str, call: int
) -> None:
    write_trees(trees(tmp_path / "home", OLD), tmp_path / "home")
    (tmp_path / "home" / "orphan.py").write_text(OLD, "utf-8")
    before = files_below(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, method, failing_at(call, error, getattr(Path, method)))
        try:
            write_trees(trees(tmp_path / "home"), tmp_path / "home")
        except InputError as problem:
            assert "No space left on device; nothing was changed" in str(problem)
        except KeyboardInterrupt:
            pass
        else:
            return  # fewer calls than that
    assert files_below(tmp_path) == before


def test_leftovers_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    write_trees(trees(tmp_path, OLD), tmp_path)
    for leftover in (f".v1{STAGING}new/a.py", f".v2{STAGING}old/x.py", f".__init__.py{STAGING}new"):
        (tmp_path / leftover).parent.mkdir(exist_ok=True)
        (tmp_path / leftover).write_text("half", "utf-8")
    write_trees(trees(tmp_path), tmp_path)
    assert files_below(tmp_path) == expected_files(NEW)


def test_a_folder_that_a_killed_run_moved_aside_is_restored(tmp_path: Path) -> None:
    write_trees(trees(tmp_path, OLD), tmp_path)
    (tmp_path / "v1").rename(tmp_path / f".v1{STAGING}old")
    (tmp_path / "v2" / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(InputError):
        write_trees(trees(tmp_path), tmp_path)
    assert files_below(tmp_path) == {**expected_files(OLD), "v2/notes.txt": b"mine"}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    home = tmp_path / "file" / "home"
    with pytest.raises(InputError, match="cannot be written"):
        write_trees(trees(home), home)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(InputError, match=r"closed.*Permission denied"):
        write_trees(trees(tmp_path / "closed" / "home"), tmp_path / "closed" / "home")


def test_an_exchange_swaps_two_folders(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this system cannot exchange two folders")
    assert list(files_below(tmp_path)) == ["one/other", "other/one"]


def test_an_exchange_with_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    if not exchange(tmp_path / "one", tmp_path / "one"):
        pytest.skip("this system cannot exchange two folders")
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "absent")

"""Remember what was generated from what, so that a run whose inputs and outputs are unchanged has nothing to do.

One file for each output folder, below $XDG_CACHE_HOME or ~/.cache. It only ever saves work: when it is absent, damaged,
or cannot be written, everything is generated.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp_bindgen.emit.tree import Tree, files_in
from mcp_bindgen.paths import shipped

FORMAT = 1
"""The format of the cache files; another one counts as no cache."""
_SHALLOW = "/*"
"""What follows the name of a folder of which only the files directly in it count."""
_TOOLS = ("mcp-bindgen", "black", "jinja2", "tree-sitter", "tree-sitter-typescript")


def digest_inputs(options: object, sources: Iterable[bytes], templates: Path | None) -> str:
    """Return a digest of all that decides what is generated: options (as JSON), sources, templates, this program."""
    digest = hashlib.sha256()
    _add(
        digest.update, json.dumps([FORMAT, options, sys.version_info[:2], [version(tool) for tool in _TOOLS]]).encode()
    )
    for data in sources:
        _add(digest.update, data)
    package = Path(__file__).resolve().parents[1]
    for folder in (package, shipped("schema"), shipped("templates"), *([templates] if templates else [])):
        _add(digest.update, digest_folder(folder).encode())
    return digest.hexdigest()


def digest_folder(folder: Path, *, shallow: bool = False) -> str:
    """Return a digest of the files of a folder, their relative paths included.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for name, path in files_in(folder, shallow=shallow).items():
        _add(digest.update, os.fsencode(name))
        _add(digest.update, os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes())
    return digest.hexdigest()


def recall(home: Path, inputs: str) -> dict[str, Any] | None:
    """Return the answer of the last run into the folder `home`, if its inputs and all that it wrote are the same."""
    try:
        stored: Any = json.loads(_file(home).read_text("utf-8"))
        if stored["inputs"] != inputs:
            return None
        for name, digest in stored["folders"].items():
            if digest_folder(Path(name.removesuffix(_SHALLOW)), shallow=name.endswith(_SHALLOW)) != digest:
                return None
        answer: dict[str, Any] = stored["answer"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
        return None
    return answer


def remember(home: Path, *, inputs: str, trees: Iterable[Tree], answer: Mapping[str, Any]) -> None:
    """Keep what a run into the folder `home` wrote and answered, if the cache can be written."""
    try:
        folders = {
            f"{tree.folder.absolute()}{_SHALLOW if tree.shallow else ''}": digest_folder(
                tree.folder, shallow=tree.shallow
            )
            for tree in trees
        }
        path = _file(home)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps({"inputs": inputs, "folders": folders, "answer": answer}), "utf-8")
        fresh.replace(path)
    except (OSError, RuntimeError):  # RuntimeError: nobody knows where the home folder is
        return


def _file(home: Path) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    name = hashlib.sha256(os.fsencode(home.absolute())).hexdigest()
    return Path(root).expanduser() / "mcp-bindgen" / f"{name[:32]}.json"


def _add(update: Callable[[bytes], None], data: bytes) -> None:
    """Add a part to a digest; its length goes first, so that no two lists of parts look the same."""
    update(len(data).to_bytes(8, "big"))
    update(data)

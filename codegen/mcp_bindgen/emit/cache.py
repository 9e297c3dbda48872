"""Cache which output was generated from which input, so that an unchanged run has nothing to do.

There is one file per output folder, below $XDG_CACHE_HOME or ~/.cache. If it is missing, damaged, or cannot be written,
everything is generated.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mcp_bindgen.emit.tree import Extent, Tree, cache_folder, files_in
from mcp_bindgen.ingest.paths import read_regular, shipped
from mcp_bindgen.ir.diagnostics import refuse_os_errors

FORMAT = 2
"""The format of the cache files; files in another format are ignored."""
MAX_BYTES = 1 << 28
"""The maximum size of a file, in bytes."""
_TOOLS = ("mcp-bindgen", "black", "jinja2", "pydantic", "tree-sitter", "tree-sitter-typescript")
"""Distributions whose version can change the output; pydantic, since its methods reserve field names."""


def digest_inputs(options: object, sources: Iterable[bytes], templates: Path | None) -> str:
    """Return a digest of everything that affects the output: options (as JSON), sources, templates, this program.

    Raises:
        InputError: one of the templates cannot be read, or is a device or a pipe.
    """
    digest = hashlib.sha256()
    _add(
        digest.update, json.dumps([FORMAT, options, sys.version_info[:2], [version(tool) for tool in _TOOLS]]).encode()
    )
    for data in sources:
        _add(digest.update, data)
    package = Path(__file__).resolve().parents[1]
    for folder in (package, shipped("schema"), shipped("templates")):
        _add(digest.update, digest_files(files_in(folder)).encode())
    if templates is not None:
        with refuse_os_errors():
            _add(digest.update, digest_files(files_in(templates, shallow=True)).encode())
    return digest.hexdigest()


def digest_files(files: Mapping[str, Path]) -> str:
    """Return a digest of files, their relative paths included.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for name, path in files.items():
        _add(digest.update, os.fsencode(name))
        _add(digest.update, os.fsencode(os.readlink(path)) if path.is_symlink() else read_regular(path, MAX_BYTES))
    return digest.hexdigest()


def recall(home: Path, inputs: str) -> dict[str, Any] | None:
    """Return the result of the last run for the folder `home`, if its inputs and outputs are unchanged."""
    try:
        stored: Any = json.loads(_file(home).read_text("utf-8"))
        if stored["inputs"] != inputs:
            return None
        for written in stored["trees"]:
            files = dict.fromkeys(written["files"], "")
            tree = Tree(folder=Path(written["folder"]), files=files, extent=Extent(written["extent"]))
            if digest_files(tree.on_disk()) != written["digest"]:
                return None
        answer: dict[str, Any] = stored["answer"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError):
        return None
    return answer


def remember(home: Path, *, inputs: str, trees: Iterable[Tree], answer: Mapping[str, Any]) -> None:
    """Store the output and result of a run for the folder `home`, if the cache can be written."""
    try:
        written = [
            {
                "folder": str(tree.folder.absolute()),
                "extent": tree.extent.value,
                "files": sorted(tree.files),
                "digest": digest_files(tree.on_disk()),
            }
            for tree in trees
        ]
        path = _file(home)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(json.dumps({"inputs": inputs, "trees": written, "answer": answer}), "utf-8")
        fresh.replace(path)
    except (OSError, RuntimeError):  # RuntimeError: the home folder is unknown
        return


def _file(home: Path) -> Path:
    name = hashlib.sha256(os.fsencode(home.absolute())).hexdigest()
    return cache_folder() / f"{name[:32]}.json"


def _add(update: Callable[[bytes], None], data: bytes) -> None:
    """Add a part to a digest, preceded by its length, so that different lists of parts differ."""
    update(len(data).to_bytes(8, "big"))
    update(data)

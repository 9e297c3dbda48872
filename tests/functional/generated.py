"""Generates bindings in memory, and installs and imports them."""

import importlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from mcp_bindgen.emit.header import revision_header
from mcp_bindgen.emit.python.modules import categories
from mcp_bindgen.emit.python.package import package_pages, package_view
from mcp_bindgen.emit.python.render import Templates
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.history import NO_HISTORY
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import history, load_released, load_sources
from support.samples import HANDSHAKE, json_source

REVISION = "2099-01-01"
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "generate"


CATEGORIES = categories(load_released(revision) for revision in released())


@cache
def shipped_templates() -> Templates:
    """Return the templates of the project, which are compiled once per process."""
    return Templates()


def emitted(
    protocol: Protocol,
    *,
    command: str = "mcp-bindgen generate",
    templates: Path | None = None,
    is_formatted: bool = False,
) -> dict[str, str]:
    """Emit the bindings of a revision. Formatting takes nearly all of the time, so most tests do without."""
    known = history() if protocol.revision in released() else NO_HISTORY
    pages = package_pages(package_view(protocol, CATEGORIES, Diagnostics(), known))
    chosen = (replace(page, is_formatted=page.is_formatted and is_formatted) for page in pages)
    found = Templates(templates) if templates else shipped_templates()
    return found.render(chosen, revision_header(protocol, command))


def generate(*sources: SourceText, templates: Path | None = None, is_formatted: bool = False) -> dict[str, str]:
    """Generate the bindings of an unreleased revision."""
    protocol = load_sources(sources, REVISION, Diagnostics())
    return emitted(protocol, templates=templates, is_formatted=is_formatted)


def generate_definitions(definitions: Mapping[str, Any], *, is_formatted: bool = False) -> dict[str, str]:
    """Generate bindings from definitions in JSON Schema, to which the handshake is added."""
    return generate(json_source({**HANDSHAKE, **definitions}), is_formatted=is_formatted)


def install(files: Mapping[str, str], folder: Path, name: str) -> ModuleType:
    """Write a package into a folder, import it, and load all of its exports."""
    home = folder / name
    home.mkdir()
    for path, text in files.items():
        (home / path).write_text(text, "utf-8")
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        module = importlib.import_module(name)
        for export in dir(module):
            getattr(module, export)
    finally:
        sys.path.remove(str(folder))
    return module


def structure(properties: Mapping[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    """Write an object type in JSON Schema."""
    return {"type": "object", "properties": dict(properties), "required": list(required), **more}


def golden_sources(case: str) -> list[SourceText]:
    """Read the sources of a golden case: its schema.json, its schema.ts, or both."""
    kinds = {"schema.json": SourceKind.JSON_SCHEMA, "schema.ts": SourceKind.TYPESCRIPT}
    found = {name: path for name in kinds if (path := GOLDEN / case / name).is_file()}
    return [SourceText(name=name, kind=kinds[name], data=path.read_bytes()) for name, path in found.items()]

"""The files of the conformance project that say which requirements of a change are checked: ``sep-NNNN.yaml``."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from mcp_bindgen.check.findings import OTHERWISE, SITE
from mcp_bindgen.check.requirements import MODERN, Row, rows
from mcp_bindgen.check.selection import probes
from mcp_bindgen.ingest.sources import read_bytes
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.ir.json_values import as_list, as_object

_DRAFT: Final = f"{SITE}/draft/"


@cache
def requirements() -> tuple[Row, ...]:
    """Return the requirements of servers in the specification."""
    return tuple(row for row in rows().values() if row.who != "client" and row.revisions)


@cache
def covered() -> frozenset[str]:
    """Return the requirements that a probe or the observer can see."""
    seen = (id_ for id_, row in rows().items() if row.seen)
    return frozenset((OTHERWISE, *seen, *(id_ for each in probes() for id_ in each.ids)))


def traced(path: Path) -> str:
    """Return a file with what is checked here: each requirement has the ids of ours on the same page.

    A requirement of the file that it excludes stays excluded; the result is JSON, and so YAML that its project reads.

    Raises:
        InputError: the file cannot be read.
    """
    document = _read(path)
    found: list[dict[str, Any]] = []
    for each in map(as_object, as_list(document.get("requirements"))):
        url = str(each.get("url") or document.get("spec_url", ""))
        page = url.partition("#")[0].removeprefix(_DRAFT).removeprefix(f"{SITE}/{MODERN}/")
        ours = [row.id for row in requirements() if MODERN in row.revisions and row.page_in(MODERN) == page]
        found.append({**each, "mcp-bindgen": [id_ for id_ in ours if id_ in covered()] if "check" in each else []})
    return json.dumps({**document, "requirements": found}, indent=2, ensure_ascii=False) + "\n"


def exported() -> str:
    """Return our requirements in the same form: what no probe sees is excluded, with the reason."""
    entries = [
        {
            **({"check": f"mcp-bindgen-{row.id.replace('.', '-')}"} if row.id in covered() else {}),
            "text": row.text,
            **({} if row.id in covered() else {"excluded": "no client can observe it from outside, or no probe does"}),
            "url": f"{SITE}/{row.revisions[-1]}/{row.page_in(row.revisions[-1])}",
        }
        for row in requirements()
    ]
    return json.dumps({"spec_url": f"{SITE}/{MODERN}", "requirements": entries}, indent=2, ensure_ascii=False) + "\n"


def _read(path: Path) -> dict[str, Any]:
    yaml: Any = import_module("yaml")
    try:
        document = as_object(yaml.safe_load(read_bytes(path, str(path)).decode()))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError.at(path, f"not valid YAML: {str(error).splitlines()[0]}") from None
    if not as_list(document.get("requirements")):
        raise InputError.at(path, "has no requirements: it is not a file of traceability (sep-NNNN.yaml)")
    return document


def coverage_text(table: Callable[[Sequence[str], Iterable[Sequence[str]]], str]) -> str:
    """Return the requirements that no probe can see; `table` lays out rows."""
    left = [row for row in requirements() if row.id not in covered()]
    page = table(("requirement", "what it requires"), [(row.id, row.text) for row in left])
    return f"{page}\n\n{len(requirements()) - len(left)} requirements of servers are seen, {len(left)} are not\n"

"""The pages of reference for the shipped extensions have every method and type (UPDATE_GOLDEN=1 writes them)."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_bindgen.ingest.extensions import shipped_extensions
from mcp_bindgen.ir.nodes import Struct
from mcp_bindgen.ir.spell import spell
from mcp_bindgen.load.extension import load_extension

DOCS = Path(__file__).resolve().parents[2] / "docs"
TITLES = {
    "tasks": "Tasks extension",
    "ui": "MCP Apps extension",
    "skills": "Skills extension",
    "server_card": "Server cards",
}


@pytest.mark.parametrize("id", shipped_extensions())
def test_the_page_is_up_to_date(id: str) -> None:
    page = DOCS / f"extension-{shipped_extensions()[id].module}.md"
    expected = "\n".join(_page(id)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(expected, "utf-8")
    assert page.read_text("utf-8") == expected, "UPDATE_GOLDEN=1 pytest tests/repo/test_extension_pages.py"


def _page(id: str) -> Iterator[str]:
    table, extension = shipped_extensions()[id], load_extension(id)
    yield f"# {TITLES[table.module]}\n"
    yield f"`{id}` extends {table.revision}. Its package is `mcp_bindings.extensions.{table.module}`."
    yield "Its structure is that of"
    yield f"{table.source} (sha256 `{table.sha256[:16]}...`);"
    yield f"its [specification]({table.link}) describes the behavior.\n"
    if extension.methods:
        yield "## Methods\n\n| method | sender | params | result | what it does |\n|---|---|---|---|---|"
    for method in extension.methods:
        result = f"`{method.result}`" if method.result else ""
        sender = method.direction.value.partition("_")[0]
        doc = extension.protocol.definitions[method.message].doc
        yield f"| `{method.name}` | {sender} | `{method.params}` | {result} | {doc} |"
    for name, results in extension.results.items():
        for tag, result in results.items():
            yield f'\n`{name}` may also be answered by `{result}`, whose `resultType` is `"{tag}"`.'
    if table.types_only:
        yield "Its messages are exchanged by a page and its host, not by a client and a server: they have types, but no"
        yield "methods and no stubs."
    if table.settings:
        yield f"\nIts settings are a `{table.settings}`."
    yield "\n## Types\n"
    for name in sorted(extension.own):
        definition = extension.protocol.definitions[name]
        if isinstance(definition, Struct) and definition.holder:
            continue
        yield f"### {name}\n\n{definition.doc}\n"
        if not isinstance(definition, Struct):
            text = spell(definition.type)
            whole = f"`{text}`" if len(text) < 200 else f"`{text[:200]}...`, one of {text.count(' | ') + 1}"
            yield f"{whole}\n"
            continue
        described = [field for field in definition.fields if field.doc]
        if described:
            yield "| property | required | meaning |\n|---|---|---|"
        for field in described:
            yield f"| `{field.wire_name}` | {'yes' if field.required else 'no'} | {field.doc} |"
        yield ""

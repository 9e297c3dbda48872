"""The tables in the documentation match those of the bridges. UPDATE_GOLDEN=1 writes them."""

import os
import re
from pathlib import Path

import pytest

from bridge.messages import bridges
from mcp_bindgen.bridge.report import markdown, summary
from support.documents import ROOT

BLOCK = re.compile(r"(<!-- [^\n]*tests/bridge/test_documents.py[^\n]*-->\n)(.*?)(<!-- end -->)", re.DOTALL)


@pytest.mark.parametrize(
    ("page", "table"), [("README.md", summary), ("docs/bridging.md", markdown)], ids=["README.md", "docs/bridging.md"]
)
def test_the_tables_are_up_to_date(page: str, table: object) -> None:
    assert callable(table)
    path: Path = ROOT / page
    text = path.read_text("utf-8")
    wanted = BLOCK.sub(lambda found: f"{found[1]}\n{str(table(bridges())).strip()}\n\n{found[3]}", text)
    assert len(BLOCK.findall(text)) == 1
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(wanted, "utf-8")
    assert path.read_text("utf-8") == wanted, "UPDATE_GOLDEN=1 pytest tests/bridge/test_documents.py"

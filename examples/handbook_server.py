"""A server of a folder: its files as resources with completed paths, and a tool and a prompt that use them.

Run it: python examples/handbook_server.py FOLDER
"""

import argparse
from pathlib import Path
from typing import Annotated

from mcp_bindings import App, Depends, ToolFailure


def root() -> Path:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder")
    return folder


app = App("handbook", version="1.0")
app.files("handbook", root=root(), max_bytes=100_000)


@app.tool()
def search(word: str, folder: Annotated[Path, Depends(root)]) -> list[str]:
    """Find the pages that contain a word."""
    pages = sorted(folder.rglob("*.md"))
    found = [page for page in pages if word.lower() in page.read_text("utf-8").lower()]
    if not found:
        raise ToolFailure(f"no page has the word {word!r}; try a more common one")
    return [f"handbook:///{page.relative_to(folder).as_posix()}" for page in found]


@app.prompt()
def explain(topic: str, readers: int = 1) -> str:
    """Ask for an explanation based on the handbook."""
    return f"Search the handbook for {topic!r}, and explain it to {readers} new colleague(s)."


@app.completion("topic", prompt="explain")
def topics(value: str) -> list[str]:
    return [page.stem for page in sorted(root().rglob("*.md")) if page.stem.startswith(value)]


if __name__ == "__main__":
    app.run()

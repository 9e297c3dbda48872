"""Draw the pieces of the project and what flows between them into docs/pieces.svg: ``python tools/scripts/picture.py``.

What each piece contains is read from the tree. The picture follows the reader's color scheme.
"""

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "pieces.svg"
CODEGEN, GENERATED, RUNTIME = "codegen/mcp_bindgen/", "generated/mcp_bindings/", "runtime/mcp_runtime/"
WIDTH, HEIGHT = 960, 460
ROW = 20
"""The height of a line of names."""

STYLE = """\
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.name { font-weight: 600 } .part { font: 12px ui-monospace, monospace } .flow, .about { font-size: 12px; fill: #57606a }
rect { fill: #f6f8fa; stroke: #8c959f } .yours { fill: #ddf4ff; stroke: #0969da } path { stroke: #57606a; fill: none }
marker path { fill: #57606a } .page { fill: #ffffff; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .flow, .about { fill: #9da7b3 } rect { fill: #161b22; stroke: #6e7681 }
  .yours { fill: #0c2d4d; stroke: #58a6ff } path { stroke: #9da7b3 }
  marker path { fill: #9da7b3 } .page { fill: #0d1117 }
}"""


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(drawn(), "utf-8")


def drawn() -> str:
    """Return the picture."""
    revisions = [each["revision"] for each in json.loads((ROOT / "schema" / "revisions.json").read_text("utf-8"))]
    shapes = [
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        *_panel((10, 50, 160, 220), "schema/", "each revision's facts", revisions),
        *_panel((230, 50, 220, 220), CODEGEN, "the compiler", _folders(CODEGEN), columns=2),
        *_panel((510, 50, 220, 220), GENERATED, "models and methods", _folders(GENERATED)),
        *_panel((790, 50, 160, 130), "your program", "servers and clients", ["App", "Server", "Client"], kind="yours"),
        *_panel((230, 300, 490, 150), RUNTIME, "sessions and transports", _folders(RUNTIME), columns=4),
        *_panel((790, 300, 160, 150), "other peers", "of any revision", ["over stdio", "over HTTP"]),
        *_arrow((170, 170), (230, 170), "facts", (200, 162)),
        *_arrow((450, 170), (510, 170), "writes", (480, 162)),
        *_arrow((790, 115), (730, 115), "imports", (760, 107)),
        *_arrow((615, 270), (615, 300), "uses", (640, 290)),
        *_arrow((720, 375), (790, 375), "messages", (755, 367), both=True),
        *_arrow((340, 50), (340, 30), "findings, migration guides, typed tools, documents", (340, 22)),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title">'
    title = '<title id="title">How the pieces of mcp-bindgen fit together</title>'
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
    marker = f'<marker id="tip" {size} orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker>'
    return "\n".join([head, title, f"<style>\n{STYLE}\n</style>", f"<defs>{marker}</defs>", *shapes, "</svg>", ""])


def _folders(path: str) -> list[str]:
    return sorted(each.parent.name for each in (ROOT / path).glob("*/__init__.py"))


def _panel(
    box: tuple[int, int, int, int], name: str, about: str, parts: Sequence[str], *, kind: str = "", columns: int = 1
) -> Iterator[str]:
    """Draw a box with its name, a line about it, and the parts in columns; `box` is left, top, width, height."""
    x, y, width, height = box
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}"/>'
    yield f'<text class="name" x="{x + 12}" y="{y + 24}">{escape(name)}</text>'
    yield f'<text class="about" x="{x + 12}" y="{y + 42}">{escape(about)}</text>'
    rows = -(-len(parts) // columns)
    for number, part in enumerate(parts):
        column, row = divmod(number, rows)
        left, top = x + 12 + column * (width - 12) // columns, y + 68 + row * ROW
        yield f'<text class="part" x="{left}" y="{top}">{escape(part)}</text>'


def _arrow(
    start: tuple[int, int], end: tuple[int, int], label: str, middle: tuple[int, int], *, both: bool = False
) -> Iterator[str]:
    """Draw an arrow with a tip at its end, or at both ends, and its label."""
    tips = ' marker-start="url(#tip)"' if both else ""
    yield f'<path d="M{start[0]} {start[1]} {end[0]} {end[1]}" marker-end="url(#tip)"{tips}/>'
    yield f'<text class="flow" x="{middle[0]}" y="{middle[1]}" text-anchor="middle">{escape(label)}</text>'


if __name__ == "__main__":
    main()

"""Builds the site: ``python -m scripts.site``; the exit status is 1 after a warning or a broken link."""

import shutil
import subprocess
import sys
from pathlib import Path

from scripts.site import pages, reference
from scripts.site.accessible import mend
from scripts.site.annotations import addresses
from scripts.site.links import broken_links

from mcp_bindgen.ingest.revisions import released

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
BUILD = ROOT / "build" / "site"


def main() -> int:
    """Write the sources of all pages, let Sphinx build them, and check every link of the result."""
    source, html = BUILD / "source", BUILD / "html"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(html, ignore_errors=True)
    for page, text in _all_pages().items():
        path = source / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    shutil.copytree(HERE / "_static", source / "_static")
    for picture in (ROOT / "docs").glob("*.svg"):
        shutil.copy(picture, source)
    command = [
        "scripts.without_gc",
        "sphinx",
        "-b",
        "html",
        "-c",
        str(HERE),
        "-d",
        str(BUILD / "doctrees"),
        "-j",
        "auto",
        "-E",
        "-q",
        "-W",
        "--keep-going",
    ]
    done = subprocess.run([sys.executable, "-m", *command, str(source), str(html)], check=False)
    if done.returncode:
        return 1
    _write_generated(html)
    built = sorted(html.rglob("*.html"))
    problems = [*mend(built), *broken_links(html), *addresses(built), *_searched(html)]
    for line in problems:
        print(line, file=sys.stderr)
    if not problems:
        print(f"{len(built)} pages: {html.relative_to(ROOT) / 'index.html'}")
    return 1 if problems else 0


def _write_generated(html: Path) -> None:
    """Write the pages that commands of the project write: the protocol's reference, and a report of diff."""
    tool = [sys.executable, "-m", "mcp_bindgen"]
    page, report = html / "protocol.html", html / "diff-newest.html"
    subprocess.run([*tool, "export", "reference", "--out", str(page), "--rules", "rules.html", "-q"], check=True)
    options = ("--fail-on", "never", "--format", "html", "--output", str(report), "-q")
    subprocess.run([*tool, "diff", *list(released())[-2:], *options], check=True)


def _searched(html: Path) -> list[str]:
    """Return the words for which the search does not find the right page first."""
    done = subprocess.run(["node", str(HERE / "search.cjs"), str(html)], capture_output=True, text=True, check=False)
    return done.stderr.splitlines()


def _all_pages() -> dict[str, str]:
    written = pages.handwritten(ROOT)
    examples = reference.example_pages(ROOT / "examples")
    runtime, bindings = reference.runtime_pages(), reference.binding_pages()
    written[pages.INDEX] = pages.with_contents(written[pages.INDEX])
    written["api.md"] += reference.contents_of(runtime)
    written["bindings.md"] += reference.contents_of(page for page in bindings if page.endswith("/index.rst"))
    written["commands.md"] += reference.command_page()
    written["examples.md"] += reference.example_index(examples)
    written["decisions.md"] += reference.decision_index(written)
    return {**written, **examples, **runtime, **bindings}


if __name__ == "__main__":
    sys.exit(main())

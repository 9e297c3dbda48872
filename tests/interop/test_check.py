"""`mcp-bindgen check` against servers by others: exactly the errors that docs/check.md confirms by hand."""

import subprocess
from pathlib import Path

import pytest

from interop.processes import PEERS, SDK1, SDK2, TESTS, interpreter, node_server, python_server, serving
from mcp_bindgen.check.run import check
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.live.target import Command, Endpoint
from support.documents import ROOT

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


def rows() -> list[tuple[str, str, list[str]]]:
    """Return the rows of the table in docs/check.md: a server, its transport and its errors."""
    page = (ROOT / "docs" / "check.md").read_text("utf-8").partition("## Servers by others")[2]
    found: dict[tuple[str, str], list[str]] = {}
    for line in page.splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) > 4 and cells[1] in ("stdio", "HTTP"):
            found.setdefault((cells[0], cells[1]), []).extend([] if cells[2] == "none" else [cells[2]])
    return [(server, transport, errors) for (server, transport), errors in found.items()]


def command(server: str, transport: str, folder: Path) -> tuple[str, ...]:
    """Return the command line of a server of the table."""
    name, option = server.partition(",")[0], ("--http",) if transport == "HTTP" else ()
    if name.startswith("server-git"):
        subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
        return python_server("mcp_server_git", "--repository", str(folder))
    if name.startswith("server-time"):
        return python_server("mcp_server_time")
    if name.startswith("server-"):
        name = name.removeprefix("server-").rpartition(" ")[0]
        return node_server(name, *([str(folder)] if name == "filesystem" else []))
    if "both eras" in server:
        return (interpreter(SDK2.runs), str(PEERS / "sdk_modern_server.py"), *option)
    return (SDK1 if name == SDK1.name.replace("-", " ") else SDK2).server_command(*option)


@pytest.mark.parametrize(("server", "transport", "errors"), rows())
async def test_a_server_has_the_errors_of_the_table(
    server: str, transport: str, errors: list[str], tmp_path: Path
) -> None:
    words = command(server, transport, tmp_path)
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    if transport == "HTTP":
        with serving(words) as url:
            found = await check(Wanted(target=Endpoint(url=url), timeout=10, seconds=600))
    else:
        found = await check(Wanted(target=Command(words=words, env=env, cwd=str(TESTS)), timeout=10, seconds=600))
    assert [each.requirement for each in found.findings if each.severity is Severity.ERROR] == errors

"""The official validator of OpenRPC accepts our documents: of every revision, and of real servers."""

import subprocess
from pathlib import Path

import pytest

from interop.processes import bindgen, node_package, node_server
from support.samples import REVISIONS

pytestmark = pytest.mark.interop

VALIDATE = """
const { parseOpenRPCDocument, validateOpenRPCDocument } = require(process.argv[1]);
const document = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
const valid = validateOpenRPCDocument(document);
parseOpenRPCDocument(document, { dereference: false }).then(
  () => { console.log(valid === true ? document.methods.length : JSON.stringify(valid).slice(0, 2000)); },
  (error) => { console.log(String(error).slice(0, 2000)); },
);
"""
MESSAGES = {"2024-11-05": 24, "2025-03-26": 24, "2025-06-18": 25, "2025-11-25": 31, "2026-07-28": 21}
"""The messages of each revision, counted in the pages of the specification."""


def mcp_bindgen(*arguments: str) -> str:
    """Run a command; return what it prints."""
    return subprocess.run(bindgen(*arguments), capture_output=True, text=True, check=True).stdout


def judged(path: Path) -> str:
    """Return the number of methods of a valid document, or what is wrong with it."""
    validator = str(node_package("@open-rpc/schema-utils-js"))
    done = subprocess.run(["node", "-e", VALIDATE, validator, str(path)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_revision(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "openrpc.json"
    path.write_text(mcp_bindgen("export", "openrpc", revision), "utf-8")
    assert judged(path) == str(MESSAGES[revision])


@pytest.mark.parametrize("name", ["everything", "filesystem", "memory"])
def test_the_contract_of_a_server(tmp_path: Path, name: str) -> None:
    client, lock, path = tmp_path / "client.py", tmp_path / "tools.lock.json", tmp_path / "openrpc.json"
    server = node_server(name, *([str(tmp_path)] if name == "filesystem" else []))
    tools = mcp_bindgen("tools", "generate", "--out", str(client), "--", *server).split("Tools, ")[1].split()[0]
    path.write_text(mcp_bindgen("tools", "export", "--lock", str(lock)), "utf-8")
    assert judged(path) == tools


def test_the_validator_refuses_a_method_without_a_name(tmp_path: Path) -> None:
    path = tmp_path / "openrpc.json"
    document = mcp_bindgen("export", "openrpc", REVISIONS[-1]).replace('"name": "ping"', '"called": "ping"')
    path.write_text(document.replace('"name": "tools/call"', '"called": "tools/call"'), "utf-8")
    assert not judged(path).isdigit()

"""Skills (SEP-2640) of fastmcp 4.2.3: its client reads ours, our client its own; docs/interop.md says what differs."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from interop.processes import PEERS, SDK2, SECONDS, interpreter
from mcp_bindings import Client
from mcp_runtime.core.errors import ConnectionClosed, MissingCapability, PeerError
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.extensions.skills import SkillError, Skills, iter_skills, load_skill, read_directory
from support.skills import write

pytestmark = pytest.mark.interop

PEER = PEERS / "fastmcp_skills.py"
OURS = """
import sys
from mcp_bindings import App
from mcp_runtime.extensions.skills import Skills
App("x", extensions=[Skills(sys.argv[1])]).run()
"""
URI = "skill://acme/refunds/SKILL.md"
TEXT = "---\nname: refunds\ndescription: Pay back\nmetadata:\n  version: '1.2'\n---\nRead references/FORMS list.md.\n"
FRONTMATTER = {"name": "refunds", "description": "Pay back", "metadata": {"version": "1.2"}}
FILES = {"SKILL.md": TEXT.encode(), "logo.png": b"\x89PNG\xff", "references/FORMS list.md": b"forms\r\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        write(tmp_path / "acme" / "refunds" / name, data)
    return tmp_path


def their_view(folder: Path) -> tuple[dict[str, Any], str]:
    """Return what the client of fastmcp sees of our server, and the last line of its errors."""
    command = [interpreter(SDK2.runs), str(PEER), "read", interpreter(""), "-c", OURS, str(folder)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
    return json.loads(done.stdout or "{}"), (done.stderr.strip().splitlines() or [""])[-1]


def test_their_client_reads_and_verifies_our_skills(folder: Path) -> None:
    seen, problem = their_view(folder)
    assert seen, problem
    assert seen["skills"][URI]["frontmatter"] == FRONTMATTER
    assert {path: base64.b64decode(data) for path, data in seen["skills"][URI]["files"].items()} == FILES
    assert seen["resources"] == {URI: ["refunds", "Pay back", "text/markdown"]}
    assert seen["none"] == "there is no skill skill://none/SKILL.md"


def test_their_client_lists_nested_skills_of_ours(folder: Path) -> None:
    write(folder / "acme" / "refunds" / "inner" / "SKILL.md", "---\nname: inner\ndescription: nested\n---\n")
    seen, problem = their_view(folder)
    assert seen, problem
    assert "inner/SKILL.md" in seen["skills"][URI]["files"]
    assert list(seen["skills"]["skill://acme/refunds/inner/SKILL.md"]["files"]) == ["SKILL.md"]


async def test_our_client_reads_and_verifies_their_skills(folder: Path) -> None:
    async with connect_stdio(interpreter(SDK2.runs), PEER, "serve", folder) as peer:
        client = await Client.open(peer, extensions=[Skills()])
        [entry] = [entry async for entry in iter_skills(client)]
        assert (entry.uri, entry.frontmatter) == (URI, FRONTMATTER)
        skill = await load_skill(client, entry)
        assert skill.text == TEXT
        for path, data in FILES.items():
            found = await skill.read(path)
            assert (found.encode() if isinstance(found, str) else found) == data
        with pytest.raises(SkillError, match="is not listed in the entry"):
            await skill.read("../other/SKILL.md")
        with pytest.raises(PeerError) as caught:
            await load_skill(client, "skill://none/SKILL.md")
        assert caught.value.code == -32602
        with pytest.raises(MissingCapability, match="directoryRead"):  # a server may leave it out
            await read_directory(client, "skill://acme/refunds")
        write(folder / "acme" / "refunds" / "logo.png", b"other")
        with pytest.raises(SkillError, match="the skill has changed"):
            await skill.read("logo.png")
        assert await (await load_skill(client, URI)).read("logo.png") == "other"


class TestDifferences:
    """fastmcp reads frontmatter as YAML 1.1: `yes` is a boolean, a date is none of JSON's values."""

    async def test_a_word_that_yaml_1_1_makes_a_boolean(self, folder: Path) -> None:
        write(folder / "acme" / "refunds" / "SKILL.md", TEXT.replace("'1.2'", "yes"))
        assert "does not match its entry's frontmatter" in their_view(folder)[1]
        async with connect_stdio(interpreter(SDK2.runs), PEER, "serve", folder) as peer:
            client = await Client.open(peer, extensions=[Skills()])
            with pytest.raises(SkillError, match="the frontmatter differs from that of the entry"):
                await load_skill(client, URI)

    async def test_a_date(self, folder: Path) -> None:
        write(folder / "acme" / "refunds" / "SKILL.md", TEXT.replace("'1.2'", "2026-01-01"))
        assert "frontmatter must contain only finite JSON values" in their_view(folder)[1]
        with pytest.raises(ConnectionClosed, match="exited with status 1"):
            async with connect_stdio(interpreter(SDK2.runs), PEER, "serve", folder) as peer:
                await Client.open(peer, extensions=[Skills()])

    async def test_a_nested_skill_of_theirs_is_not_listed(self, folder: Path) -> None:
        write(folder / "acme" / "refunds" / "inner" / "SKILL.md", "---\nname: inner\ndescription: nested\n---\n")
        async with connect_stdio(interpreter(SDK2.runs), PEER, "serve", folder) as peer:
            client = await Client.open(peer, extensions=[Skills()])
            assert [entry.uri async for entry in iter_skills(client)] == [URI]
            assert "name: inner" in str(await (await load_skill(client, URI)).read("inner/SKILL.md"))

"""What a server makes of folders with a SKILL.md."""

import asyncio
import os
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings.extensions import skills as types
from mcp_runtime.core.errors import PeerError
from mcp_runtime.extensions.skills import Skills, iter_skills, load_skill, read_directory
from support.skills import OWN, TEXT, URI, app, make_folder, opened, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def is_other(entry: Mapping[str, Any]) -> bool:
    return bool(entry["frontmatter"]["name"] != "pdf")


class TestServer:
    @pytest.mark.requirement("skills.complete", "skills.frontmatter")
    @pytest.mark.parametrize("era", ["modern", "legacy"])
    async def test_each_skill_is_listed_with_its_files(self, folder: Path, era: Any) -> None:
        async with opened(app(folder), era=era) as client:
            entries = {entry.uri: entry async for entry in iter_skills(client)}
        assert list(entries) == ["skill://acme/refunds/SKILL.md", "skill://pdf/SKILL.md", "skill://pdf/inner/SKILL.md"]
        entry = entries[URI]
        about = {"version": 1.2, "since": "2026-01-01"}
        assert entry.frontmatter == {"name": "pdf", "description": "Fill forms", "metadata": about}
        assert [each.uri for each in entry.resources] == [
            "skill://pdf/SKILL.md",
            "skill://pdf/inner/SKILL.md",
            "skill://pdf/logo.png",
            "skill://pdf/references/FORMS.md",
        ]
        assert entry.resources[0].model_dump() == OWN

    @pytest.mark.requirement("skills.listed", "skills.caching")
    async def test_pages_end_between_entries(self, tmp_path: Path) -> None:
        for number in range(120):
            write(tmp_path / f"s{number:03}" / "SKILL.md", f"---\nname: s{number:03}\ndescription: x\n---\n")
        async with opened(app(tmp_path)) as client:
            stubs = types.ClientMixin(client.__caller__)
            first = await stubs.list_skills()
            assert len(first.skills) == 50 and first.next_cursor is not None
            assert (first.ttl_ms, first.cache_scope) == (0, "private")
            assert len([entry async for entry in iter_skills(client)]) == 120
            assert len([each async for each in client.iter_resources()]) == 120
            for cursor in ("skills:x", "other", "skills:-1"):
                with pytest.raises(PeerError) as caught:
                    await stubs.list_skills(cursor=cursor)
                assert caught.value.code == -32602

    @pytest.mark.requirement("skills.get")
    async def test_unlisted_skills_are_returned_by_uri(self, folder: Path) -> None:
        async with opened(app(folder, listed=is_other)) as client:
            assert URI not in [entry.uri async for entry in iter_skills(client)]
            assert URI not in [each.uri async for each in client.iter_resources()]
            assert (await load_skill(client, URI)).text == TEXT
            with pytest.raises(PeerError) as caught:
                await load_skill(client, "skill://other/SKILL.md")
            assert caught.value.code == -32602

    async def test_resources_of_the_server_come_first(self, folder: Path) -> None:
        server = app(folder)

        @server.resource("note://today")
        def today() -> str:
            """Return the note of today."""
            return "rain"

        async with opened(server) as client:
            found = [each async for each in client.iter_resources()]
            assert [each.uri for each in found][:2] == ["note://today", "skill://acme/refunds/SKILL.md"]
            assert (found[2].name, found[2].description, found[2].mime_type) == ("pdf", "Fill forms", "text/markdown")
            assert (await client.read_resource(uri="note://today")).contents[0].model_dump()["text"] == "rain"
            assert (await client.read_resource(uri=URI)).contents[0].model_dump()["text"] == TEXT

    @pytest.mark.requirement("skills.directories")
    async def test_directories_are_listed_level_by_level(self, folder: Path) -> None:
        async with opened(app(folder)) as client:
            found = {each.uri: each.mime_type for each in await read_directory(client, "skill://pdf")}
            assert found == {
                "skill://pdf/SKILL.md": "text/markdown",
                "skill://pdf/inner": "inode/directory",
                "skill://pdf/logo.png": "image/png",
                "skill://pdf/references": "inode/directory",
            }
            for uri in (URI, "skill://pdf/", "skill://none", "skill://pdf/../acme/refunds", "skill://acme"):
                with pytest.raises(PeerError) as caught:
                    await read_directory(client, uri)
                assert caught.value.code == -32602

    @pytest.mark.parametrize("era", ["modern", "legacy"])
    async def test_changes_are_told(self, folder: Path, era: Any) -> None:
        async with opened(app(folder), era=era) as client:
            # A client of 2026-07-28 listens in both eras.
            told = await client.listen(resource_list=True)
            entry = (await load_skill(client, URI)).entry
            write(folder / "pdf" / "new.md", "new")
            again = (await load_skill(client, URI)).entry
            assert len(again.resources) == len(entry.resources) + 1
            async with asyncio.timeout(10):
                assert (await anext(aiter(told))).what == "resources"

    async def test_a_skill_that_is_no_longer_valid_is_not_served(self, folder: Path) -> None:
        async with opened(app(folder)) as client:
            write(folder / "pdf" / "SKILL.md", "broken")
            assert URI not in [entry.uri async for entry in iter_skills(client)]
            with pytest.raises(PeerError):
                await client.read_resource(uri=URI)
            write(folder / "pdf" / "SKILL.md", TEXT)
            assert (await load_skill(client, URI)).text == TEXT

    @pytest.mark.requirement("skills.name")
    def test_given_paths_end_with_the_name(self, folder: Path) -> None:
        Skills({"acme/billing/refunds": folder / "acme" / "refunds"})
        with pytest.raises(ValueError, match=r"SKILL.md: /name: 'refunds' must be 'returns'"):
            Skills({"acme/returns": folder / "acme" / "refunds"})
        with pytest.raises(ValueError, match=r"there is no SKILL.md"):
            Skills({"acme": folder / "acme"})
        with pytest.raises(ValueError, match="dynamic: there is no skill other"):
            Skills(folder, dynamic=["other"])

    async def test_hidden_files_and_links_out_are_left_out(
        self, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write(folder / "pdf" / ".secret", "x")
        write(folder / ".git" / "SKILL.md", "x")
        (folder / "pdf" / "out.md").symlink_to(folder / "acme" / "refunds" / "SKILL.md")
        (folder / "pdf" / "loop").symlink_to(folder / "pdf")
        (folder / "pdf" / "inside.md").symlink_to(folder / "pdf" / "references" / "FORMS.md")
        async with opened(app(folder)) as client:
            skill = await load_skill(client, URI)
            names = [each.uri.rpartition("/")[2] for each in skill.entry.resources]
            assert names == ["SKILL.md", "SKILL.md", "inside.md", "logo.png", "FORMS.md"]
            for name in (".secret", "out.md", "loop/SKILL.md", "../acme/refunds/SKILL.md", "%2e%2e/x"):
                with pytest.raises(PeerError):
                    await client.read_resource(uri=f"skill://pdf/{name}")
        assert "hidden files and links are left out" in caplog.text and ".secret" in caplog.text

    async def test_a_folder_that_was_swapped_for_a_link_is_not_followed(self, folder: Path) -> None:
        async with opened(app(folder)) as client:
            (folder / "pdf" / "references").rename(folder / "moved")
            (folder / "pdf" / "references").symlink_to(folder / "moved")
            with pytest.raises(PeerError):
                await client.read_resource(uri="skill://pdf/references/FORMS.md")

    def test_limits_are_a_warning_at_start(self, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        with open(folder / "pdf" / "big.bin", "wb") as big:
            big.truncate(17 << 20)
        Skills(folder)
        assert "over 512 files or 16777216 bytes" in caplog.text

    @pytest.mark.slow
    async def test_a_huge_file_is_neither_read_into_memory_nor_sent(self, folder: Path) -> None:
        with open(folder / "pdf" / "big.bin", "wb") as big:
            big.truncate(1 << 30)
        tracemalloc.start()
        try:
            async with opened(app(folder)) as client:
                with pytest.raises(PeerError, match="more than 16,777,216 bytes"):
                    await client.read_resource(uri="skill://pdf/big.bin")
            assert tracemalloc.get_traced_memory()[1] < 32 << 20
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("place", ["inner/.hidden-{}", "link-{}"])
    def test_more_than_ten_thousand_entries_are_refused(self, folder: Path, place: str) -> None:
        few = sum(1 + each.is_dir() for each in (folder / "pdf").rglob("*"))
        for number in range(10_000 - 1 - few):
            os.symlink("/", folder / "pdf" / place.format(number))
        Skills(folder)
        os.symlink("/", folder / "pdf" / place.format("last"))
        with pytest.raises(ValueError, match="must not have more than 10,000 files"):
            Skills(folder)

    @pytest.mark.slow
    def test_a_hundred_thousand_files_are_refused(self, folder: Path) -> None:
        for number in range(100_000):
            os.close(os.open(folder / "pdf" / f"f{number}", os.O_CREAT))
        with pytest.raises(ValueError, match="must not have more than 10,000 files"):
            Skills(folder)

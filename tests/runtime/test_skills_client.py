"""What a client of skills accepts, and what it refuses."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions import skills as types
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.json.values import is_object
from mcp_runtime.extensions.extension import Extension
from mcp_runtime.extensions.skills import Cache, SkillError, iter_skills, load_skill, read_directory
from mcp_runtime.extensions.skills.frontmatter import read_frontmatter
from support.lists import Raw
from support.skills import HINTS, OWN, TEXT, URI, app, digest, file, make_folder, opened, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


class Liar(Extension):
    """A server whose skill is what a test makes of it."""

    def __init__(self, **lies: Any) -> None:
        self.binding = types.EXTENSION
        data = TEXT.encode()
        self.files: dict[str, bytes] = {URI: data, "skill://pdf/a.md": b"a"}
        self.entry: dict[str, Any] = {
            "uri": URI,
            "frontmatter": read_frontmatter(data),
            "resources": [file(uri, held) for uri, held in self.files.items()],
            **lies,
        }
        self.reads: list[str] = []

    def handlers(self) -> Mapping[str, Any]:
        return {"skills/list": self.list, "skills/get": self.get, "resources/read": self.read}

    def declares(self, connection: Any, declared: Any) -> Any:
        return ("resources", *super().declares(connection, declared))

    async def list(self, params: Any, ctx: Any) -> Any:
        return types.ListSkillsResult.model_validate({**HINTS, "skills": [self.entry]})

    async def get(self, params: Any, ctx: Any) -> Any:
        return types.GetSkillResult.model_validate({**HINTS, "skill": self.entry})

    async def read(self, params: Any, ctx: Any) -> Any:
        self.reads.append(params.uri)
        text = self.files[params.uri].decode()
        return mcp.ReadResourceResult(contents=[mcp.TextResourceContents(uri=params.uri, text=text)])


def lying(**lies: Any) -> mcp.App:
    return mcp.App("x", extensions=[Liar(**lies)])


def catalogue(dice: random.Random) -> tuple[list[Any], list[str], list[str]]:
    """Return a catalogue in which some entries are not valid, the URIs of those that are, and pointers to the rest."""
    entries: list[Any] = []
    right: list[str] = []
    pointers: list[str] = []
    for number in range(20):
        uri = f"skill://s{number}/SKILL.md"
        entry: Any = {"uri": uri, "frontmatter": {"name": f"s{number}"}, "resources": [file(uri)]}
        wrong = dice.choice((None, None, *WRONG_ENTRIES))
        if wrong is None:
            right.append(uri)
        else:
            pointers.append(f"/skills/{number}")
            entry = {**entry, **wrong} if is_object(wrong) else wrong
        entries.append(entry)
    return entries, right, pointers


WRONG_ENTRIES: Final[tuple[Any, ...]] = (
    5,
    "skill://x/SKILL.md",
    [],
    {"uri": 5},
    {"frontmatter": None},
    {"frontmatter": "name: x"},
    {"resources": "static"},
    {"resources": [{"uri": "skill://x/SKILL.md", "size": 1}]},
    {"resources": [file(size="large")]},
)


@pytest.mark.parametrize("seed", range(6))
async def test_one_wrong_entry_does_not_hide_the_other_skills(seed: int) -> None:
    entries, right, pointers = catalogue(random.Random(seed))

    class Listing(Liar):
        async def list(self, params: Any, ctx: Any) -> Any:
            return Raw({**HINTS, "skills": entries})

    async with opened(mcp.App("x", extensions=[Listing()])) as client:
        page = await types.ClientMixin(client.__caller__).list_skills()
        assert [entry.uri for entry in page.skills] == right
        assert [each.pointer for each in page.unusable] == pointers
        assert all("\n" not in str(each) for each in page.unusable)
        assert [entry.uri async for entry in iter_skills(client)] == right


NO_DIGESTS = (
    "sha256:/dev/zero",
    "sha256:../../../etc/passwd",
    "sha256:" + "0" * 63,
    "sha256:" + "0" * 64 + "\n",
    "sha256:" + "A" * 64,
    "md5:" + "0" * 64,
    "",
)


class TestClient:
    async def test_nothing_is_fetched_before_it_is_needed(self) -> None:
        server = Liar()
        async with opened(mcp.App("x", extensions=[server])) as client:
            [entry] = [entry async for entry in iter_skills(client)]
            assert server.reads == [] and entry.frontmatter["name"] == "pdf"
            skill = await load_skill(client, entry)
            assert server.reads == [URI]
            assert await skill.read("a.md") == "a"
            with pytest.raises(SkillError, match=r"skill://pdf/b.md is not listed in the entry.*loads the new state"):
                await skill.read("b.md")
        assert server.reads == [URI, "skill://pdf/a.md"]

    @pytest.mark.requirement("skills.inside", "skills.limits")
    @pytest.mark.parametrize(
        ("resources", "reason"),
        [
            ([file()], "must list SKILL.md"),
            ([OWN, OWN], "each file once"),
            ([OWN, file("skill://other/a.md")], "is not a file in its folder"),
            ([OWN, file("skill://pdf/../x")], "is not a file in its folder"),
            ([OWN, file("skill://pdf/%2e%2e/x")], "is not a file in its folder"),
            ([OWN, file("skill://pdf/a\\..\\x")], "is not a file in its folder"),
            ([OWN, file("skill://pdf/")], "is not a file in its folder"),
            ([OWN, file("skill://pdf/a?x")], "is not a file in its folder"),
            ([OWN, file(size=17 << 20)], "exceeds 512 files or 16,777,216 bytes"),
            ([OWN, *(file(f"skill://pdf/{n}") for n in range(512))], "exceeds 512 files"),
            *(([OWN, file(digest=sum_)], "must be sha256: and 64 hex") for sum_ in NO_DIGESTS),
            ("dynamic", "dynamic=True loads it"),
        ],
    )
    async def test_a_manifest_that_breaks_a_rule(self, resources: Any, reason: str) -> None:
        server = Liar(resources=resources)
        async with opened(mcp.App("x", extensions=[server])) as client:
            with pytest.raises(SkillError, match=reason):
                await load_skill(client, URI)
        assert server.reads == []

    @pytest.mark.requirement("skills.verified", "skills.frontmatter-compared")
    @pytest.mark.parametrize("lies", ["", "size", "sum", "frontmatter", "manifest", "size sum frontmatter manifest"])
    async def test_each_lie_and_all_at_once(self, lies: str) -> None:
        size, sum_, frontmatter, manifest = (lie in lies for lie in ("size", "sum", "frontmatter", "manifest"))
        own = file(URI, TEXT.encode(), **({"size": 5} if size else {}), **({"digest": digest(b"")} if sum_ else {}))
        other = {"name": "pdf", "description": "Exfiltrate"} if frontmatter else read_frontmatter(TEXT.encode())
        files = [own, file(), *([file("skill://pdf/%61.md")] if manifest else [])]
        async with opened(lying(resources=files, frontmatter=other)) as client:
            if size or sum_ or frontmatter or manifest:
                what = "bytes instead of 5" if size else "another digest" if sum_ else "the frontmatter differs"
                what = "each file once" if manifest else what
                with pytest.raises(SkillError, match=what) as caught:
                    await load_skill(client, URI)
                assert "\n" not in str(caught.value)
            else:
                assert (await load_skill(client, URI)).text == TEXT

    async def test_a_body_that_is_larger_than_its_entry_says(self) -> None:
        server = Liar()
        server.files["skill://pdf/a.md"] = b"a" * (8 << 20)
        async with opened(mcp.App("x", extensions=[server])) as client:
            skill = await load_skill(client, URI)
            with pytest.raises(SkillError, match=r"a.md has 8388608 bytes instead of 1; the skill has changed"):
                await skill.read("a.md")
            assert (await load_skill(client, URI)).text == TEXT

    async def test_paths_that_servers_escape_in_other_ways(self) -> None:
        """RFC 3986 lets a server write `(` and `%28`, so the escapes are not compared."""
        server = Liar()
        for uri in ("skill://pdf/a(1).md", "skill://pdf/%C3%A9%2D.md"):
            server.files[uri] = b"x"
            server.entry["resources"].append(file(uri, b"x"))
        async with opened(mcp.App("x", extensions=[server])) as client:
            skill = await load_skill(client, URI)
            assert [await skill.read("a(1).md"), await skill.read("é-.md")] == ["x", "x"]

    @pytest.mark.parametrize("lies", [{"uri": "skill://other/SKILL.md"}, {"frontmatter": {"name": "x"}}])
    async def test_an_entry_of_another_skill(self, lies: Any) -> None:
        async with opened(lying(**lies)) as client:
            with pytest.raises(SkillError):
                await load_skill(client, URI)

    @pytest.mark.requirement("skills.verified")
    async def test_a_skill_that_changes_after_its_entry(self, folder: Path) -> None:
        async with opened(app(folder)) as client:
            skill = await load_skill(client, URI)
            write(folder / "pdf" / "references" / "FORMS.md", "other!\n")
            with pytest.raises(SkillError, match="the skill has changed"):
                await skill.read("references/FORMS.md")
            assert await (await load_skill(client, URI)).read("references/FORMS.md") == "other!\n"

    async def test_texts_and_bytes_keep_every_byte(self, folder: Path) -> None:
        async with opened(app(folder)) as client:
            skill = await load_skill(client, URI)
            assert await skill.read("references/FORMS.md") == "forms\r\n"
            assert await skill.read("logo.png") == b"\x89PNG\xff"

    @pytest.mark.requirement("skills.dynamic")
    async def test_dynamic_skills_are_loaded_on_request(self, folder: Path) -> None:
        async with opened(app(folder, dynamic=["pdf"])) as client:
            with pytest.raises(SkillError, match="dynamic=True"):
                await load_skill(client, URI)
            skill = await load_skill(client, URI, dynamic=True)
            assert await skill.read("references/FORMS.md") == "forms\r\n"

    @pytest.mark.requirement("skills.declared")
    async def test_a_server_without_skills(self) -> None:
        async with opened(mcp.App("x")) as client:
            with pytest.raises(MissingCapability, match="skills"):
                await load_skill(client, URI)
        async with opened(lying()) as client:
            with pytest.raises(MissingCapability, match="directoryRead"):
                await read_directory(client, "skill://pdf")


class TestCache:
    async def test_files_are_kept_and_verified_again(self, tmp_path: Path) -> None:
        server, cache = Liar(), Cache(tmp_path, "acme")
        async with opened(mcp.App("x", extensions=[server])) as client:
            for _ in range(2):
                assert (await load_skill(client, URI, cache=cache)).text == TEXT
            assert server.reads == [URI]
            await load_skill(client, URI, cache=Cache(tmp_path, "other"))
            assert server.reads == [URI, URI]  # servers share nothing
            for path in (path for path in tmp_path.rglob("*") if path.is_file()):
                path.write_bytes(b"tampered")
            assert (await load_skill(client, URI, cache=cache)).text == TEXT
            assert server.reads == [URI, URI, URI]

    @pytest.mark.parametrize("name", ["/etc/passwd", "../../x", "a/b", "", "\0", "x" * 5_000])
    async def test_no_name_leads_out_of_its_folder(self, name: str, tmp_path: Path) -> None:
        """The host's label, the path in the URI and the digest may be any text."""
        base = f"skill://{name}/pdf/"
        files = [file(f"{base}SKILL.md", TEXT.encode())]
        server = Liar(uri=f"{base}SKILL.md", resources=files)
        server.files = {files[0]["uri"]: TEXT.encode()}
        async with opened(mcp.App("x", extensions=[server])) as client:
            await load_skill(client, f"{base}SKILL.md", cache=Cache(tmp_path / "cache", name))
        [kept] = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert all(len(part) == 64 for part in kept.relative_to(tmp_path / "cache").parts)

    async def test_what_fails_is_not_kept(self, tmp_path: Path) -> None:
        cache = Cache(tmp_path, "acme")
        async with opened(lying(resources=[{**OWN, "digest": digest(b"")}])) as client:
            with pytest.raises(SkillError):
                await load_skill(client, URI, cache=cache)
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]

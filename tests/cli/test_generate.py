"""`mcp-bindgen generate`: where bindings go, what is replaced, and what --check reports."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_bindgen.emit.header import HEADER_MARK, tool_version
from support.command import Cli, files_below, start
from support.samples import HANDSHAKE, HANDSHAKE_TS, REVISIONS

SCHEMA = json.dumps({"$defs": HANDSHAKE})
DEFAULT_PLACE = Path("generated/mcp_bindings")


@pytest.fixture
def schema(tmp_path: Path) -> str:
    """A schema.json in the current folder that is quick to generate from."""
    (tmp_path / "schema.json").write_text(SCHEMA, "utf-8")
    return "schema.json"


def modified(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*.py")}


@pytest.mark.usefixtures("without_formatting")
class TestPlaces:
    def test_one_released_revision_goes_to_the_default_place(self, cli: Cli) -> None:
        done = cli("generate", "2024-11-05")
        assert done.out.startswith(f"wrote {DEFAULT_PLACE}/v2024_11_05 (2024-11-05, ")
        assert sorted(path.name for path in DEFAULT_PLACE.iterdir()) == ["__init__.py", "py.typed", "v2024_11_05"]
        assert {"__init__.py", "tools.py", "methods.py"} <= {
            path.name for path in (DEFAULT_PLACE / "v2024_11_05").iterdir()
        }
        for path in DEFAULT_PLACE.rglob("*.py"):
            assert path.read_text("utf-8").startswith(HEADER_MARK)

    @pytest.mark.slow
    def test_all_released_revisions_are_the_default(self, cli: Cli) -> None:
        done = cli("generate", "--format", "json")
        assert [found["revision"] for found in done.json["revisions"]] == list(REVISIONS)
        assert sorted(path.name for path in DEFAULT_PLACE.glob("v*")) == [f"v{r.replace('-', '_')}" for r in REVISIONS]

    def test_a_second_revision_joins_the_first(self, cli: Cli, schema: str) -> None:
        cli("generate", "2099-01-01", "--schema", schema)
        before = files_below(DEFAULT_PLACE / "v2099_01_01")
        cli("generate", "2099-02-02", "--schema", schema)
        assert files_below(DEFAULT_PLACE / "v2099_01_01") == before
        root = (DEFAULT_PLACE / "__init__.py").read_text("utf-8")
        assert "v2099_01_01" in root
        assert "v2099_02_02" in root
        cli("generate", "2099-01-01", "--schema", schema, "--check")

    def test_one_revision_in_a_chosen_place_is_the_package(self, cli: Cli, schema: str) -> None:
        cli("generate", "2099-01-01", "--schema", schema, "--out", "src", "--package", "acme.mcp")
        assert (Path("src/acme/mcp") / "methods.py").is_file()
        assert [path.name for path in Path("src/acme").iterdir()] == ["mcp"]

    @pytest.mark.slow
    def test_several_revisions_are_written_side_by_side(self, cli: Cli) -> None:
        cli("generate", "2024-11-05", "2025-03-26", "--out", "src", "--package", "acme")
        names = sorted(path.name for path in Path("src/acme").iterdir())
        assert names == ["__init__.py", "bridges", "py.typed", "v2024_11_05", "v2025_03_26"]

    def test_a_package_alone_goes_into_the_current_folder(self, cli: Cli, schema: str) -> None:
        cli("generate", "2099-01-01", "--schema", schema, "--package", "acme")
        assert Path("acme/__init__.py").is_file()

    def test_a_folder_alone_gets_the_default_package_name(self, cli: Cli, schema: str) -> None:
        cli("generate", "2099-01-01", "--schema", schema, "--out", "src")
        assert Path("src/mcp_bindings/__init__.py").is_file()

    def test_the_header_has_the_whole_command_but_no_absolute_path(
        self, cli: Cli, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = (
            "generate",
            "2099-01-01",
            "--schema",
            tmp_path / schema,
            "--out",
            tmp_path / "src",
            "--package",
            "acme",
        )
        cli(*asked)
        text = (tmp_path / "src/acme/__init__.py").read_text("utf-8")
        assert "mcp-bindgen generate 2099-01-01 --schema schema.json --out src --package acme\n" in text
        assert str(tmp_path) not in text
        monkeypatch.chdir(tmp_path / "src")
        cli(*asked)
        text = (tmp_path / "src/acme/__init__.py").read_text("utf-8")
        assert "mcp-bindgen generate 2099-01-01 --schema ../schema.json --out . --package acme\n" in text

    def test_your_own_package_ends_with_its_dependency(self, cli: Cli, schema: str) -> None:
        asked = ("generate", "2099-01-01", "--schema", schema)
        last = cli(*asked, "--package", "acme").out.splitlines()[-1]
        assert last == f'add to the dependencies of the package: "mcp-bindings>={tool_version()}"'
        assert "dependencies" not in cli(*asked, "--package", "acme").out
        assert "dependencies" not in cli(*asked).out

    @pytest.mark.slow
    def test_going_from_several_revisions_to_one_leaves_no_orphan(self, cli: Cli) -> None:
        place = ("--out", "src", "--package", "acme")
        cli("generate", "2024-11-05", "2025-03-26", *place)
        done = cli("generate", "2024-11-05", *place)
        assert "removed" in done.out
        assert not list(Path("src/acme").glob("v*"))
        cli("generate", "2024-11-05", *place, "--check")

    @pytest.mark.slow
    def test_naming_no_revision_removes_those_that_are_not_released(self, cli: Cli, schema: str) -> None:
        cli("generate", "2099-01-01", "--schema", schema)
        assert "removed" in cli("generate").out
        assert not (DEFAULT_PLACE / "v2099_01_01").exists()


class TestSources:
    def test_typescript_states_its_revision(self, cli: Cli) -> None:
        text = f'export const LATEST_PROTOCOL_VERSION = "DRAFT-2099";\n{HANDSHAKE_TS}'
        Path("schema.ts").write_text(text, "utf-8")
        assert (
            cli("generate", "--schema", "schema.ts", "--format", "json").json["revisions"][0]["revision"]
            == "DRAFT-2099"
        )

    def test_source_lines_name_the_place_of_each_type(self, cli: Cli, tmp_path: Path) -> None:
        text = f"{HANDSHAKE_TS}\nexport interface Box {{\n  side: string;\n}}\nexport type Boxes = Box[];\n"
        (tmp_path / "schema.ts").write_text(text, "utf-8")
        lines = text.splitlines()
        options = ("2099-01-01", "--schema", tmp_path / "schema.ts", "--out", "src", "--package", "acme")
        cli("generate", *options, "--source-lines")
        written = "\n".join(path.read_text("utf-8") for path in Path("src/acme").glob("*.py"))
        for name, words in {"class Box(": "interface Box ", "Boxes: ": "type Boxes "}.items():
            number = next(index for index, line in enumerate(lines, 1) if words in line)
            assert re.search(rf"^# schema\.ts:{number}\n{re.escape(name)}", written, re.MULTILINE)
        assert "--source-lines" in written, "the command in the header repeats it"
        cli("generate", *options, "--source-lines", "--check")
        assert "# schema.ts:" in cli("generate", *options, "--check", expect=1).out

    def test_a_name_in_the_schema_cannot_end_the_comment(self, cli: Cli, tmp_path: Path) -> None:
        hostile = "Box\nimport os  # "
        definitions = {**HANDSHAKE, hostile: {"type": "object", "properties": {"x": {"type": "string"}}}}
        (tmp_path / "schema.json").write_text(json.dumps({"$defs": definitions}), "utf-8")
        options = ("2099-01-01", "--schema", tmp_path / "schema.json", "--out", "src", "--package", "acme")
        cli("generate", *options, "--source-lines")
        for path in Path("src/acme").glob("*.py"):
            assert not re.search(r"^import os\b", path.read_text("utf-8"), re.MULTILINE)

    def test_both_schema_files_may_be_given(self, cli: Cli, schema: str) -> None:
        Path("schema.ts").write_text(HANDSHAKE_TS, "utf-8")
        cli("generate", "2099-01-01", "--schema", schema, "--schema", "schema.ts")
        text = (DEFAULT_PLACE / "v2099_01_01" / "__init__.py").read_text("utf-8")
        assert "schema.json sha256:" in text
        assert "schema.ts sha256:" in text

    def test_a_schema_describes_one_revision(self, cli: Cli, schema: str) -> None:
        done = cli("generate", "2099-01-01", "2099-02-02", "--schema", schema, expect=2)
        assert done.err == "error: --schema: describes one revision, but 2 were named\n"

    def test_a_schema_without_a_revision_needs_one(self, cli: Cli, schema: str) -> None:
        assert "the revision of this schema is unknown" in cli("generate", "--schema", schema, expect=2).err

    def test_warnings_are_counted_and_shown_on_request(self, cli: Cli, schema: str) -> None:
        Path(schema).write_text(json.dumps({"$defs": {**HANDSHAKE, "Undescribed": {"type": "string"}}}), "utf-8")
        short = cli("generate", "2099-01-01", "--schema", schema)
        assert "(--verbose shows" in short.err
        again = cli("generate", "2099-01-01", "--schema", schema, "--verbose")
        assert "warning: schema.json: no description for" in again.err
        assert "up to date" in again.out
        found = cli("generate", "2099-01-01", "--schema", schema, "--format", "json").json["warnings"]
        assert {"level", "source", "pointer", "line", "column", "message"} == found[0].keys()

    def test_templates_of_the_user_replace_shipped_ones(self, cli: Cli, schema: str) -> None:
        arguments = ("generate", "2099-01-01", "--schema", schema, "--templates", "mine")
        assert "error: mine: templates: not a directory" in cli(*arguments, expect=2).err
        Path("mine").mkdir()
        cli(*arguments)
        assert "--templates mine" in (DEFAULT_PLACE / "v2099_01_01" / "__init__.py").read_text("utf-8")

    def test_templates_cannot_change_the_header(self, cli: Cli, schema: str) -> None:
        Path("mine").mkdir()
        Path("mine/init.py.j2").write_text("x = 1\n", "utf-8")
        for _ in range(2):
            cli("generate", "2099-01-01", "--schema", schema, "--templates", "mine")
        text = (DEFAULT_PLACE / "v2099_01_01" / "__init__.py").read_text("utf-8")
        assert text.startswith(HEADER_MARK)
        assert text.endswith("\nx = 1\n")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and links")
    @pytest.mark.timeout(30)
    def test_templates_are_small_regular_files(self, cli: Cli, schema: str) -> None:
        Path("mine").mkdir()
        place = Path("mine/class.py.j2")
        makers: list[Callable[[], object]] = [
            lambda: os.mkfifo(place),
            lambda: place.symlink_to("/dev/zero"),
            place.mkdir,
            lambda: place.write_bytes(b"x" * 1_000_001),
            lambda: os.mkfifo("mine/.hidden"),
        ]
        for make in makers:
            make()
            done = cli("generate", "2099-01-01", "--schema", schema, "--templates", "mine", expect=2)
            assert ": not a regular file" in done.err.replace("cannot be read: ", "") or ": larger than " in done.err
            found = next(Path("mine").iterdir())
            found.rmdir() if found.is_dir() else found.unlink()

    def test_a_misspelt_template_is_refused(self, cli: Cli, schema: str) -> None:
        Path("mine").mkdir()
        Path("mine/clas.py.j2").write_text("", "utf-8")
        done = cli("generate", "2099-01-01", "--schema", schema, "--templates", "mine", expect=2)
        assert done.err.startswith("error: mine/clas.py.j2: not the name of a template; the templates are ")
        assert " class.py.j2, class_doc.py.j2, client.py.j2, " in done.err
        assert not DEFAULT_PLACE.exists()


class TestForeignFiles:
    @pytest.mark.parametrize("name", ["notes.txt", "mine.py", "v2099_01_01/helper.py", "v2099_01_01/data/x.json"])
    def test_they_prevent_every_change(self, cli: Cli, schema: str, name: str) -> None:
        arguments = ("generate", "2099-01-01", "--schema", schema)
        cli(*arguments)
        (DEFAULT_PLACE / name).parent.mkdir(exist_ok=True)
        (DEFAULT_PLACE / name).write_text("mine", "utf-8")
        (DEFAULT_PLACE / "v2099_01_01" / "client.py").write_text(f"{HEADER_MARK}\nedited = True\n", "utf-8")
        before = files_below(DEFAULT_PLACE)
        done = cli(*arguments, expect=2)
        assert f"{DEFAULT_PLACE}/{name}: not generated by mcp-bindgen" in done.err
        assert files_below(DEFAULT_PLACE) == before

    def test_an_empty_folder_is_filled(self, cli: Cli, schema: str) -> None:
        Path("src/acme/empty/deeper").mkdir(parents=True)
        cli("generate", "2099-01-01", "--schema", schema, "--out", "src", "--package", "acme")

    def test_a_link_is_refused(self, cli: Cli, schema: str) -> None:
        Path("real").mkdir()
        Path("acme").symlink_to("real")
        done = cli("generate", "2099-01-01", "--schema", schema, "--package", "acme", expect=2)
        assert "symbolic link" in done.err
        assert not list(Path("real").iterdir())

    def test_a_link_above_the_package_is_followed(self, cli: Cli, schema: str) -> None:
        Path("real").mkdir()
        Path("src").symlink_to("real")
        cli("generate", "2099-01-01", "--schema", schema, "--out", "src", "--package", "acme")
        assert Path("real/acme/__init__.py").is_file()


class TestCheck:
    def test_an_equal_tree_passes(self, cli: Cli, schema: str) -> None:
        cli("generate", "2099-01-01", "--schema", schema)
        done = cli("generate", "2099-01-01", "--schema", schema, "--check")
        assert done.out == ""
        assert "up to date" in done.err

    def test_byte_code_is_not_drift(self, cli: Cli, schema: str) -> None:
        cli("generate", "2099-01-01", "--schema", schema)
        (DEFAULT_PLACE / "v2099_01_01" / "__pycache__").mkdir()
        (DEFAULT_PLACE / "v2099_01_01" / "__pycache__" / "client.pyc").write_bytes(b"\0")
        cli("generate", "2099-01-01", "--schema", schema, "--check")

    def test_missing_bindings_are_reported_but_not_written(self, cli: Cli, schema: str) -> None:
        done = cli("generate", "2099-01-01", "--schema", schema, "--check", expect=1)
        assert f"+++ b/{DEFAULT_PLACE}/v2099_01_01/client.py" in done.out
        assert not Path("generated").exists()

    def test_every_kind_of_drift_fails_with_a_diff(self, cli: Cli, schema: str) -> None:
        arguments = ("generate", "2099-01-01", "--schema", schema)
        cli(*arguments)
        folder = DEFAULT_PLACE / "v2099_01_01"
        (folder / "client.py").write_text((folder / "client.py").read_text("utf-8") + "# edited\n", "utf-8")
        (folder / "server.py").unlink()
        (folder / "orphan.txt").write_text("left\n", "utf-8")
        (DEFAULT_PLACE / "py.typed").unlink()
        before = files_below(DEFAULT_PLACE)
        done = cli(*arguments, "--check", expect=1)
        assert "-# edited\n" in done.out
        assert f"--- /dev/null\n+++ b/{folder}/server.py\n" in done.out
        assert f"--- a/{folder}/orphan.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-left\n" in done.out
        assert f"+++ b/{DEFAULT_PLACE}/py.typed\n" in done.out
        assert "4 files differ" in done.err
        found = cli(*arguments, "--check", "--format", "json", expect=1).json
        assert found["up_to_date"] is False
        assert found["changed"] == [f"{folder}/client.py"]
        assert found["missing"] == [f"{folder}/server.py", f"{DEFAULT_PLACE}/py.typed"]
        assert found["orphaned"] == [f"{folder}/orphan.txt"]
        assert files_below(DEFAULT_PLACE) == before

    def test_it_does_not_trust_the_cache(self, cli: Cli, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
        cli("generate", "2099-01-01", "--schema", schema)
        monkeypatch.delattr("mcp_bindgen.emit.cache.recall")
        cli("generate", "2099-01-01", "--schema", schema, "--check")

    def test_quiet_reports_only_by_the_exit_status(self, cli: Cli, schema: str) -> None:
        done = cli("generate", "2099-01-01", "--schema", schema, "--check", "--quiet", expect=1)
        assert (done.out, done.err) == ("", "")


class TestCache:
    ARGUMENTS = ("generate", "2099-01-01", "--schema", "schema.json")

    @pytest.fixture(autouse=True)
    def generated(self, cli: Cli, schema: str) -> None:
        for _ in range(2):  # the second run finds the package of the first one beside it, and is remembered
            cli(*self.ARGUMENTS)

    def test_a_run_without_changes_writes_nothing(self, cli: Cli) -> None:
        before = modified(DEFAULT_PLACE)
        done = cli(*self.ARGUMENTS, "--format", "json").json
        assert (done["written"], done["removed"]) == ([], [])
        assert "client.py" in done["revisions"][0]["files"]
        assert "up to date: " in cli(*self.ARGUMENTS).out
        assert modified(DEFAULT_PLACE) == before

    @pytest.mark.parametrize("change", ["edited", "deleted", "added", "source", "root"])
    def test_every_change_is_noticed(self, cli: Cli, change: str) -> None:
        folder = DEFAULT_PLACE / "v2099_01_01"
        if change == "edited":
            (folder / "client.py").write_text(f"{HEADER_MARK}\n", "utf-8")
        elif change == "deleted":
            (folder / "client.py").unlink()
        elif change == "added":
            (folder / "more.py").write_text(f"{HEADER_MARK}\n", "utf-8")
        elif change == "root":
            (DEFAULT_PLACE / "__init__.py").unlink()
        else:
            Path("schema.json").write_text(SCHEMA + "\n", "utf-8")
        assert "wrote" in cli(*self.ARGUMENTS).out or change == "root"
        cli(*self.ARGUMENTS, "--check")

    @pytest.mark.slow
    @pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"inputs": 1}', '{"folders": 3, "inputs": "%s"}'])
    def test_a_damaged_cache_is_ignored(self, cli: Cli, content: str) -> None:
        (path,) = (Path(os.environ["XDG_CACHE_HOME"]) / "mcp-bindgen").iterdir()
        inputs = json.loads(path.read_text("utf-8"))["inputs"]
        path.write_text(content.replace("%s", inputs), "utf-8")
        (DEFAULT_PLACE / "v2099_01_01" / "client.py").unlink()
        assert "wrote" in cli(*self.ARGUMENTS).out

    def test_a_cache_that_cannot_be_written_is_not_an_error(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("file").write_text("", "utf-8")
        monkeypatch.setenv("XDG_CACHE_HOME", "file")
        cli(*self.ARGUMENTS)
        cli(*self.ARGUMENTS)

    @pytest.mark.slow
    def test_one_revision_needs_neither_the_runtime_nor_bindings_nor_comparison(self, tmp_path: Path) -> None:
        code = (
            "import sys; sys.modules |= dict.fromkeys(('mcp_runtime', 'mcp_bindings', 'mcp_bindgen.diff.wire'));"
            "from mcp_bindgen.cli.run import run; sys.exit(run(['generate', '2024-11-05']))"
        )
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.count("wrote ")) == (0, 1), done.stderr

    @pytest.mark.slow
    def test_it_needs_neither_black_nor_jinja_nor_tree_sitter(self, tmp_path: Path) -> None:
        program = (
            "import atexit\n"
            "heavy = ('black', 'jinja2', 'tree_sitter')\n"
            "atexit.register(lambda: print([name for name in heavy if name in sys.modules]))\n"
        )
        first = start(*self.ARGUMENTS, program=program, cwd=tmp_path, python=sys.executable).communicate()[0]
        second = start(*self.ARGUMENTS, program=program, cwd=tmp_path, python=sys.executable).communicate()[0]
        assert first.endswith("['black', 'jinja2', 'tree_sitter']\n")
        assert second.endswith("[]\n")
        assert "up to date" in second

"""[tool.mcp-bindgen] of a pyproject.toml."""

import json
from pathlib import Path

import pytest

from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.project.settings import Settings, find_settings
from support.command import Cli
from support.samples import HANDSHAKE


def project(folder: Path, table: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".git").mkdir(exist_ok=True)  # the search for settings ends at the top of a repository
    (folder / "pyproject.toml").write_text(f"[tool.mcp-bindgen]\n{table}\n", "utf-8")
    (folder / "schema.json").write_text(json.dumps({"$defs": HANDSHAKE}), "utf-8")
    return folder


def test_a_file_without_the_table_has_no_settings(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n", "utf-8")
    assert find_settings(tmp_path) == Settings()


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path: Path) -> None:
    table = """
revisions = ["2099-01-01"]
schema = ["schema.json", "https://example.com/schema.ts"]
out = "src"
package = "acme.mcp"
templates = "shapes"
source_lines = true
baseline = "accepted.toml"
"""
    project(tmp_path, table)
    (tmp_path / "src" / "deep").mkdir(parents=True)
    assert find_settings(tmp_path / "src" / "deep") == Settings(
        source=tmp_path / "pyproject.toml",
        revisions=("2099-01-01",),
        schema=(str(tmp_path / "schema.json"), "https://example.com/schema.ts"),
        out=tmp_path / "src",
        package="acme.mcp",
        templates=tmp_path / "shapes",
        source_lines=True,
        baseline=tmp_path / "accepted.toml",
    )


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("relases = []", "[tool.mcp-bindgen] relases: unknown key; the keys are revisions, schema, out"),
        ("out = 3", "out: must be a non-empty string"),
        ("out = ''", "out: must be a non-empty string"),
        ("revisions = [1]", "revisions: must be a non-empty string or a list of such strings"),
        ("schema = {}", "schema: must be a non-empty string or a list of such strings"),
        ("source_lines = 'yes'", "source_lines: must be true or false"),
        ("package = 'a-b'", "package: 'a-b' cannot name a Python package"),
        ("x = ", "not valid TOML"),
        ("extra = 3", "extra: must be a table of paths and templates"),
        ("extra = {'a.md' = ''}", "extra.a.md: must be the path of a template, relative to this file"),
    ],
)
def test_mistakes_are_named_with_file_and_key(tmp_path: Path, table: str, expected: str) -> None:
    project(tmp_path, table)
    with pytest.raises(InputError) as caught:
        find_settings(tmp_path)
    assert f"error: {tmp_path}/pyproject.toml: " in str(caught.value)
    assert expected in str(caught.value)


class TestSearch:
    """Settings name templates, and templates are code: an untrusted pyproject.toml further up must not be used."""

    FAR = "templates = 'evil'"

    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        return home

    def finds(self, start: Path, holder: Path) -> bool:
        start.mkdir(parents=True, exist_ok=True)
        (holder / "pyproject.toml").write_text(f"[tool.mcp-bindgen]\n{self.FAR}\n", "utf-8")
        return find_settings(start) != Settings()

    def test_it_ends_at_the_top_of_the_repository(self, home: Path) -> None:
        (home / "a" / "b" / ".git").mkdir(parents=True)
        assert self.finds(home / "a" / "b" / "c", home / "a" / "b")
        assert not self.finds(home / "x" / "y", home / "a")
        (home / "a" / "b" / "pyproject.toml").unlink()
        assert not self.finds(home / "a" / "b" / "c", home / "a")

    def test_a_worktree_is_a_repository_too(self, home: Path) -> None:
        (home / "a" / "b").mkdir(parents=True)
        (home / "a" / "b" / ".git").write_text("gitdir: /elsewhere\n", "utf-8")
        assert not self.finds(home / "a" / "b" / "c", home / "a")

    def test_outside_a_repository_it_ends_at_home(self, home: Path, tmp_path: Path) -> None:
        assert self.finds(home / "a" / "b", home)
        (home / "pyproject.toml").unlink()
        assert not self.finds(home / "a" / "b", tmp_path)

    def test_outside_home_only_the_current_folder_is_searched(self, tmp_path: Path) -> None:
        (tmp_path / "tmp").mkdir()
        assert not self.finds(tmp_path / "tmp" / "work", tmp_path / "tmp")
        assert self.finds(tmp_path / "tmp" / "work", tmp_path / "tmp" / "work")

    def test_a_file_of_another_user_is_ignored(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.finds(home / "a", home)
        monkeypatch.setattr("os.getuid", lambda: home.stat().st_uid + 1)
        assert not self.finds(home / "a", home)


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nmcp-bindgen = 3"])
def test_a_value_that_is_not_a_table_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    if text == "tool = 3":
        assert find_settings(tmp_path) == Settings()
        return
    with pytest.raises(InputError, match="must be a table"):
        find_settings(tmp_path)


class TestGenerate:
    def test_settings_replace_all_options(self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        project(tmp_path, 'revisions = "2099-01-01"\nschema = "schema.json"\nout = "src"\npackage = "acme"')
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        cli("generate")
        text = (tmp_path / "src" / "acme" / "__init__.py").read_text("utf-8")
        assert "command:  mcp-bindgen generate\n" in text
        assert str(tmp_path) not in text
        cli("generate", "--check")
        monkeypatch.chdir(tmp_path)
        cli("generate", "--check")

    def test_the_command_line_wins(self, cli: Cli, tmp_path: Path) -> None:
        project(tmp_path, 'revisions = "2099-01-01"\nschema = "schema.json"\nout = "src"\npackage = "acme"')
        cli("generate", "2099-02-02", "--out", "lib", "--package", "other")
        assert "2099-02-02" in Path("lib/other/__init__.py").read_text("utf-8")
        assert not Path("src").exists()

    def test_a_schema_option_ignores_the_revisions_of_the_settings(self, cli: Cli, tmp_path: Path) -> None:
        project(tmp_path, 'revisions = ["2024-11-05", "2025-03-26"]\npackage = "acme"')
        assert "the revision of this schema is unknown" in cli("generate", "--schema", "schema.json", expect=2).err
        cli("generate", "2099-01-01", "--schema", "schema.json")

    def test_an_unusable_schema_setting_is_reported_with_its_file(self, cli: Cli, tmp_path: Path) -> None:
        project(tmp_path, 'schema = "schema.json"')
        assert "pyproject.toml" in cli("generate", "2024-11-05", "2025-03-26", expect=2).err

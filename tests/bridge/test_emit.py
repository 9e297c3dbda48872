"""The modules of the conversions are generated and checked like all others."""

from pathlib import Path

import pytest

from support.command import Cli

pytestmark = pytest.mark.usefixtures("without_formatting")

BRIDGES = Path("generated/mcp_bindings/bridges")


@pytest.mark.slow
def test_a_revision_alone_has_no_bridges(cli: Cli) -> None:
    cli("generate", "2025-03-26")
    assert not BRIDGES.exists()


@pytest.mark.slow
def test_bridges_are_added_with_later_revisions(cli: Cli) -> None:
    cli("generate", "2025-11-25")
    cli("generate", "2025-03-26")
    found = sorted(path.name for path in BRIDGES.glob("*.py"))
    assert found == ["__init__.py", "v2025_03_26_v2025_06_18.py", "v2025_06_18_v2025_11_25.py"]
    assert cli("generate", "2025-03-26", "--check").err == "up to date\n"


@pytest.mark.slow
def test_bridges_between_the_eras_are_generated(cli: Cli) -> None:
    cli("generate", "2026-07-28", "2025-11-25")
    assert sorted(path.name for path in BRIDGES.glob("*.py")) == ["__init__.py", "v2025_11_25_v2026_07_28.py"]


@pytest.mark.slow
def test_a_check_reports_changed_and_orphaned_files(cli: Cli) -> None:
    cli("generate", "2024-11-05", "2025-03-26")
    table = BRIDGES / "v2024_11_05_v2025_03_26.py"
    (BRIDGES / "v1_v2.py").write_text(table.read_text("utf-8"), "utf-8")
    table.write_text(table.read_text("utf-8").replace("audio", "video"), "utf-8")
    assert "2 files differ" in cli("generate", "2024-11-05", "2025-03-26", "--check", expect=1).err
    cli("generate", "2024-11-05", "2025-03-26")
    assert not (BRIDGES / "v1_v2.py").exists()
    assert cli("generate", "2024-11-05", "2025-03-26", "--check").err == "up to date\n"


@pytest.mark.slow
def test_custom_templates_apply_to_bridges(cli: Cli) -> None:
    Path("mine").mkdir()
    Path("mine/bridges.py.j2").write_text("KINDS = {{ kinds | repr }}\n", "utf-8")
    cli("generate", "2024-11-05", "2025-03-26", "--templates", "mine")
    assert (BRIDGES / "__init__.py").read_text("utf-8").splitlines()[-1].startswith("KINDS = ['audio', ")

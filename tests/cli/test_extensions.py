"""Commands about extensions: what they write, show and compare, and what they refuse in one line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_bindgen.ingest.revisions import released
from support.command import Cli
from support.extensions import DIRECTIONS, ID, OFFICIAL, ORDERS, REVISION, TASKS, UI, official

TABLE = f"""
[tool.mcp-bindgen.extensions."{ID}"]
revision = "{REVISION}"
schema = "orders.ts"
settings = "Settings"
results = {{ "tools/call" = "OrderedResult" }}
filters = {{ "subscriptions/listen" = "OrderFilter" }}
headers = {{ "orders/place" = "order" }}

[tool.mcp-bindgen.extensions."{ID}".directions]
""" + "".join(
    f'"{method}" = {{ direction = "{row["direction"]}", reason = "{row["reason"]}" }}\n'
    for method, row in DIRECTIONS.items()
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text(TABLE, "utf-8")
    (tmp_path / "orders.ts").write_text(ORDERS, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestGenerate:
    def test_your_own_extension_in_your_own_package(self, cli: Cli, project: Path) -> None:
        arguments = ("generate", "--extension", ID, "--out", "src", "--package", "acme.orders")
        done = cli(*arguments)
        folder = project / "src" / "acme" / "orders"
        assert done.out.splitlines()[0] == f"wrote src/acme/orders ({ID}, 8 files)"
        assert f"command:  mcp-bindgen generate {REVISION} --extension {ID}" in (folder / "types.py").read_text("utf-8")
        assert (folder / "py.typed").exists() and not (folder / "binding.py").exists()
        cli(*arguments, "--check")
        (folder / "types.py").write_text((folder / "types.py").read_text("utf-8") + "x = 1\n", "utf-8")
        cli(*arguments, "--check", expect=1)

    def test_a_file_on_the_command_line(self, cli: Cli, project: Path) -> None:
        (project / "other.ts").write_text(ORDERS.replace("Order {", "Order { paid?: boolean;"), "utf-8")
        cli("generate", REVISION, "--extension", f"{ID}=other.ts", "--package", "orders")
        assert "paid: Boolean | None = None" in (project / "orders" / "types.py").read_text("utf-8")

    @pytest.mark.timeout(60)
    def test_types_that_extend_each_other_in_many_ways_are_generated_once(self, cli: Cli, project: Path) -> None:
        levels, last = 24, "export interface T24 { a: string }\nexport interface U24 { b: string }\n"
        pairs = ((f"{name}{level}", level + 1) for level in range(levels) for name in "TU")
        lines = [f"export interface {name} extends T{above}, U{above} {{}}\n" for name, above in pairs]
        (project / "x.ts").write_text("".join(lines) + last)
        cli("generate", REVISION, "--extension", "com.acme/x=x.ts", "--package", "x")
        code = "from x import T0; print(T0(a='1', b='2'))"
        done = subprocess.run([sys.executable, "-c", code], cwd=project, check=True, capture_output=True, text=True)
        assert sorted(done.stdout.split()) == ["a='1'", "b='2'"]

    @pytest.mark.parametrize("count", [66, 300, 3_000])
    @pytest.mark.parametrize("is_reversed", [False, True])
    @pytest.mark.timeout(60)
    def test_a_long_chain_of_types_is_one_error(self, cli: Cli, project: Path, count: int, is_reversed: bool) -> None:
        lines = [f"export interface I{n} extends I{n + 1} {{ p{n}: string }}\n" for n in range(count - 1)]
        lines.append(f"export interface I{count - 1} {{ z: string }}\n")
        (project / "x.ts").write_text("".join(reversed(lines) if is_reversed else lines))
        done = cli("generate", REVISION, "--extension", "com.acme/x=x.ts", "--package", "x", expect=2)
        assert " types extend each other, over 64: I0 extends I1 extends I2 extends I3 extends I4 ..." in done.err
        assert len(done.err.splitlines()) == 1

    def test_types_without_messages_and_without_types_of_the_revision(self, cli: Cli, project: Path) -> None:
        (project / "card.ts").write_text("/** A card. */\nexport interface Card { name: string; tags?: string[] }\n")
        cli("generate", REVISION, "--extension", "com.acme/card=card.ts", "--package", "card")
        code = "from card import Card; print(Card.model_validate({'name': 'a'}), Card(name='b', tags=['c']).tags)"
        done = subprocess.run([sys.executable, "-c", code], cwd=project, check=True, capture_output=True, text=True)
        assert done.stdout == "name='a' tags=None ['c']\n"

    def test_a_shipped_extension_alone(self, cli: Cli, project: Path) -> None:
        done = cli("generate", "--extension", UI)
        assert done.out == f"wrote generated/mcp_bindings/extensions/ui ({UI}, 7 files)\n"

    def test_an_unknown_extension(self, cli: Cli, project: Path) -> None:
        refused(cli, f"com.acme/x: no such extension; the shipped ones are {TASKS}, {UI}, ", "com.acme/x")

    def test_an_unknown_revision(self, cli: Cli, project: Path) -> None:
        known = ", ".join(released())
        refused(cli, f"name the one revision that {ID} extends; the released ones are {known}", ID, "1999-01-01")

    def test_a_prefix_is_needed(self, cli: Cli, project: Path) -> None:
        refused(cli, "'orders' cannot name an extension: give it the prefix of a domain", "orders=orders.ts")

    def test_a_package_is_needed(self, cli: Cli, project: Path) -> None:
        done = cli("generate", "--extension", ID, expect=2)
        assert done.err.count("\n") == 1
        assert f"name a package for {ID}, such as acme.orders" in done.err

    def test_a_schema_describes_a_revision(self, cli: Cli, project: Path) -> None:
        refused(cli, "--schema: describes a revision", ID, "--schema", "orders.ts")

    def test_a_missing_direction_names_the_row(self, cli: Cli, project: Path) -> None:
        (project / "pyproject.toml").write_text(
            TABLE.replace('"orders/place" = { dir', '"orders/pay" = { dir'), "utf-8"
        )
        done = cli("generate", "--extension", ID, "--package", "acme", expect=2)
        assert "orders~1place: nothing says who sends it; add the row" in done.err

    def test_a_table_without_a_schema(self, cli: Cli, project: Path) -> None:
        (project / "pyproject.toml").write_text(TABLE.replace('schema = "orders.ts"', ""), "utf-8")
        refused(cli, "schema: name its schema.ts, here or as --extension ID=FILE", ID)


def refused(cli: Cli, message: str, extension: str, *more: str) -> None:
    """Nothing is written, and the reason is one line."""
    done = cli("generate", "--extension", extension, "--package", "acme", *more, expect=2)
    assert (done.err.count("\n"), Path("acme").exists()) == (1, False)
    assert message in done.err


class TestShow:
    def test_a_method_of_an_extension(self, cli: Cli) -> None:
        done = cli("show", "tasks/update", "--extension", TASKS)
        assert "direction  client to server" in done.out and f"revision {REVISION} with {TASKS}" in done.out

    def test_another_result_of_a_request(self, cli: Cli) -> None:
        done = cli("show", "tools/call", "--extension", TASKS, "--format", "json")
        assert json.loads(done.out)["alternatives"] == ["InputRequiredResult", "CreateTaskResult"]


class TestDiff:
    def test_a_removed_property_has_a_witness(self, cli: Cli, project: Path) -> None:
        (project / "new.ts").write_text(ORDERS.replace("number: string };\n/** Stars", "};\n/** Stars"), "utf-8")
        done = cli("diff", "orders.ts", "new.ts", "--extension", ID, "--revision", REVISION, "--all", expect=1)
        assert "error property-removed-required" in done.out and "PlaceOrderResult.number" in done.out
        assert '"resultType": "complete"' in done.out

    def test_the_two_states_of_tasks(self, cli: Cli) -> None:
        old, new = (str(official("tasks", file)) for file in ("older/schema.ts", "schema.ts"))
        done = cli("diff", old, new, "--extension", TASKS, expect=1)
        assert "server: Error.code: integer; notifications/tasks, tasks/get" in done.out
        assert "CreateTaskResult; tools/call" in done.out

    def test_a_revision_without_an_extension(self, cli: Cli, project: Path) -> None:
        done = cli("diff", "orders.ts", "orders.ts", "--revision", REVISION, expect=2)
        assert done.err.count("\n") == 1 and "add --extension ID" in done.err


class TestVerify:
    @pytest.mark.parametrize(("id", "name", "file"), OFFICIAL)
    def test_the_official_file_has_the_shipped_structure(self, id: str, name: str, file: str, cli: Cli) -> None:
        done = cli("verify", id, "--against", str(official(name, file)))
        assert f"is the pinned file of {id}" in done.out and "the shipped structure is equivalent" in done.out

    def test_another_state_differs(self, cli: Cli) -> None:
        done = cli("verify", TASKS, "--against", str(official("tasks", "older/schema.ts")), expect=1)
        assert "/FailedTask/properties/error" in done.out

    def test_a_schema_json_is_not_enough(self, cli: Cli) -> None:
        done = cli("verify", TASKS, "--against", str(official("tasks", "schema.json")), expect=2)
        assert done.err.count("\n") == 1 and "give that" in done.err

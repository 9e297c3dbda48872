"""The generated files: golden trees, hostile text that stays text, custom templates, reproducible output.

`UPDATE_GOLDEN=1 pytest tests/functional/test_generate.py` rewrites the golden trees.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from functional.generated import GOLDEN, REVISION, emitted, generate, golden_sources
from mcp_bindgen.ingest.paths import shipped
from mcp_bindgen.ir.diagnostics import InputError
from mcp_bindgen.load.protocol import load_released
from support.samples import HANDSHAKE, json_source

TESTS = Path(__file__).resolve().parents[1]
CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
STRING: Mapping[str, Any] = {"type": "string"}


class TestGolden:
    @pytest.mark.parametrize("case", CASES)
    def test_the_generated_tree_is_the_golden_one(self, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("mcp_bindgen.emit.header.tool_version", lambda: "0.0.0")
        files = generate(*golden_sources(case), is_formatted=True)
        expected = GOLDEN / case / "expected"
        if os.environ.get("UPDATE_GOLDEN"):
            expected.mkdir(exist_ok=True)
            for stale in expected.glob("*.py"):
                stale.unlink()
            for name, text in files.items():
                (expected / name).write_text(text, "utf-8")
        on_disk = {path.name: path.read_text("utf-8") for path in expected.glob("*.*")}
        assert sorted(files) == sorted(on_disk)
        for name, text in files.items():
            assert text == on_disk[name], name

    @pytest.mark.parametrize("case", CASES)
    def test_the_generated_package_can_be_imported(self, case: str, unique: Callable[[Mapping[str, str]], Any]) -> None:
        module = unique(generate(*golden_sources(case)))
        assert module.REVISION == REVISION
        assert module.BINDING.package == module.__name__

    def test_every_case_has_sources(self) -> None:
        assert len(CASES) >= 4
        assert all(golden_sources(case) for case in CASES)


class TestTemplates:
    def test_a_template_is_replaced_by_name(self, tmp_path: Path) -> None:
        source = json_source(HANDSHAKE)
        own = (shipped("templates") / "python" / "binding.py.j2").read_text("utf-8")
        own += "\n# Ours: {{ package.revision }}\n"
        (tmp_path / "binding.py.j2").write_text(own, "utf-8")
        plain, changed = generate(source), generate(source, templates=tmp_path)
        assert {name for name in plain if plain[name] != changed[name]} == {"binding.py"}
        assert changed["binding.py"] == plain["binding.py"] + f"\n# Ours: {REVISION}\n"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{% for x in %}", "TemplateSyntaxError"),
            ("{{ package.nothing }}", "UndefinedError"),
            ("{{ package.methods / 2 }}", "TypeError"),
            ("{{ 1 / 0 }}", "ZeroDivisionError"),
            ("{% include 'gone.j2' %}", "TemplateNotFound"),
            ("def (", "its output is not valid Python"),
        ],
    )
    def test_a_broken_template_is_named(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "binding.py.j2").write_text(text, "utf-8")
        with pytest.raises(InputError, match=message) as caught:
            generate(json_source(HANDSHAKE), templates=tmp_path, is_formatted=True)
        assert str(tmp_path / "binding.py.j2") in str(caught.value)

    def test_a_template_that_is_not_text_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "binding.py.j2").write_bytes(b"\xff\xfe")
        with pytest.raises(InputError, match=r"binding\.py\.j2: UnicodeDecodeError"):
            generate(json_source(HANDSHAKE), templates=tmp_path)


@pytest.mark.slow
class TestDeterminism:
    def test_the_same_bytes_in_every_process(self) -> None:
        code = (
            "import hashlib, json; from functional.generated import *;"
            "files = emitted(load_released('2025-11-25'), command='c');"
            "print(hashlib.sha256(json.dumps(files).encode()).hexdigest())"
        )
        digests = {_digest(), _digest()}
        for seed in ("1", "2"):
            environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(TESTS)}
            run = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
            )
            digests.add(run.stdout.strip())
        assert len(digests) == 1


def _digest() -> str:
    protocol = load_released("2025-11-25")
    files = emitted(protocol, command="c")
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


class TestRecursion:
    @pytest.fixture(name="module")
    def _module(self, unique: Callable[[Mapping[str, str]], Any]) -> Any:
        return unique(generate(*golden_sources("recursion_and_bounds")))

    def test_recursive_objects_are_read(self, module: Any) -> None:
        data: dict[str, Any] = {"label": "a", "children": [{"label": "b", "children": []}], "parent": {"label": "c"}}
        tree = module.Tree.model_validate_json(json.dumps(data))
        assert type(tree.children[0]) is module.Tree
        assert json.loads(tree.model_dump_json()) == data
        assert type(module.Ping.model_validate_json('{"pong": {"ping": {}}}').pong.ping) is module.Ping

    def test_recursive_aliases_are_read(self, module: Any) -> None:
        adapter: TypeAdapter[Any] = TypeAdapter(module.Json)
        data = {"a": [1, 2.5, None, True, {"b": ["c"]}]}
        assert adapter.dump_python(adapter.validate_json(json.dumps(data))) == data

    def test_closed_and_typed_objects_refuse_other_properties(self, module: Any) -> None:
        with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
            module.Closed.model_validate_json('{"b": 1}')
        assert module.Counts.model_validate_json('{"total": 1, "x": 2}').model_dump() == {"total": 1, "x": 2}
        with pytest.raises(ValidationError):
            module.Counts.model_validate_json('{"total": 1, "x": "y"}')

    @pytest.mark.parametrize(
        ("good", "bad"),
        [
            ({"age": 150}, {"age": 151}),
            ({"share": 0}, {"share": 1.0}),
            ({"even": 4}, {"even": 3}),
            ({"code": "ABC"}, {"code": "ab"}),
            ({"code": "AB"}, {"code": "A"}),
            ({"tags": ["a", "b"]}, {"tags": ["a", "a"]}),
            ({"tags": ["a"]}, {"tags": []}),
            ({"map": {"a": "b"}}, {"map": {}}),
        ],
    )
    def test_bounds_are_checked(self, module: Any, good: object, bad: object) -> None:
        assert json.loads(module.Bounded.model_validate_json(json.dumps(good)).model_dump_json()) == good
        with pytest.raises(ValidationError):
            module.Bounded.model_validate_json(json.dumps(bad))

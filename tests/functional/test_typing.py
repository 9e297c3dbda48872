"""Type checking of the bindings: in code that uses them, and in bindings of a hostile schema."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from functional.generated import GOLDEN, generate_definitions, structure
from support.checkers import mypy, pyright

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROBE = GOLDEN.parent / "typing" / "probe.py.txt"
STRING: Mapping[str, Any] = {"type": "string"}
MARK = re.compile(r"# expect: (\w+), ([\w-]+)$")

PROPERTIES = """
list dict str int type from model_config model_fields model_dump copy self cls options meta _meta class __init__ json
schema validate construct None a-b a_b aB import Any Annotated Literal property super object
""".split()


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def hostile() -> dict[str, Any]:
    """Make a schema with the most awkward names and shapes."""
    classes = (
        "Annotated Literal Client Server Context Any Field List Dict Final Type METHODS REVISION None True".split()
    )
    optional: dict[str, Any] = dict.fromkeys(PROPERTIES, STRING)
    nullable = {"type": ["string", "null"]}
    params = structure({**optional, "nullable": nullable, "anything": {}, "cursor": STRING, "page": STRING}, "list")
    definitions: dict[str, Any] = {name: structure({"value": STRING}, "value") for name in classes}
    for name, method in {"Implemented": "methods", "Class": "class/def", "Self": "self/self"}.items():
        message = structure({"method": {"const": method}, "params": reference("HostileParams")}, "method", "params")
        definitions |= {f"{name}Request": message, f"{name}Result": structure({"value": STRING})}
    paged = structure({"items": {"type": "array", "items": reference("Node")}, "nextCursor": STRING}, "items")
    return definitions | {
        "HostileParams": params,
        "SelfResult": paged,
        "Hostile": structure(optional, *PROPERTIES),
        "Children": structure({**{name: reference(name) for name in classes}, "n": nullable, "x": {}}, "n"),
        "Node": structure({"next": reference("Node"), "others": {"type": "array", "items": reference("Other")}}),
        "Other": structure({"node": reference("Node")}, "node"),
        "Json": {"anyOf": [STRING, {"type": "array", "items": reference("Json")}, reference("JsonObject")]},
        "JsonObject": {"type": "object", "additionalProperties": reference("Json")},
        "Closed": structure({"a": STRING}, additionalProperties=False),
        "Typed": structure({"a": {"type": "integer"}}, additionalProperties={"type": "integer"}),
        "Bounded": structure(
            {
                "integer": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10, "multipleOf": 2},
                "number": {"type": "number", "exclusiveMinimum": 0.5, "maximum": 1},
                "string": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^\"'\\\\[a-z]+$"},
                "array": {"type": "array", "items": STRING, "minItems": 1, "maxItems": 2, "uniqueItems": True},
                "map": {"type": "object", "additionalProperties": STRING, "minProperties": 1, "maxProperties": 2},
                "flag": {"type": "boolean"},
                "null": {"type": "null"},
                "fractions": {"enum": [0.5, 1.5]},
                "mixed": {"enum": [1, 2.5, True, None, "x"]},
                "never": {"const": None},
            }
        ),
        "ClientRequest": {
            "anyOf": [reference(f"{name}Request") for name in ("Initialize", "Implemented", "Class", "Self")]
        },
    }


@pytest.fixture(name="project", scope="module")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's project: the probe, and bindings of the hostile schema."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "probe.py").write_text(PROBE.read_text("utf-8"), "utf-8")
    package = folder / "hostile"
    package.mkdir()
    for name, text in generate_definitions(hostile()).items():
        (package / name).write_text(text, "utf-8")
    settings = {
        "include": ["probe.py", "hostile"],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "generated"), str(ROOT / "runtime")],
        "reportUnusedExpression": "none",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    return folder


def expected(group: int) -> list[tuple[str, int, str]]:
    """Return the marks of the probe: file, line, and the rule of pyright (1) or the code of mypy (2)."""
    lines = PROBE.read_text("utf-8").splitlines()
    marks = [("probe.py", number, found[group]) for number, line in enumerate(lines, 1) if (found := MARK.search(line))]
    assert len(marks) > 20
    return marks


def test_pyright_reports_exactly_the_marked_errors(project: Path) -> None:
    run = pyright(project, "--outputjson")
    found = [
        (Path(error["file"]).relative_to(project).as_posix(), error["range"]["start"]["line"] + 1, error["rule"])
        for error in json.loads(run.stdout)["generalDiagnostics"]
    ]
    assert _differences(found, expected(1)) == ""


def test_mypy_reports_exactly_the_marked_errors(project: Path) -> None:
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("generated", "runtime"))
    options = ("--no-error-summary", "--hide-error-context", "--no-pretty")
    run = mypy(project, *options, "probe.py", "hostile", path=paths)
    lines = re.findall(r"^(\S+?):(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.MULTILINE)
    found = [(file, int(line), code) for file, line, code in lines]
    assert _differences(found, expected(2)) == "", run.stderr


def _differences(found: list[tuple[str, int, str]], marked: list[tuple[str, int, str]]) -> str:
    """Return unexpected and missing errors.

    Unknown types follow from expected errors; in the bindings no type may be unknown.
    """
    errors = {error for error in found if not (error[0] == "probe.py" and error[2].startswith("reportUnknown"))}
    unexpected = [f"unexpected: {file}:{line}: {rule}" for file, line, rule in sorted(errors - set(marked))]
    missing = [f"missing: {file}:{line}: {rule}" for file, line, rule in sorted(set(marked) - errors)]
    return "\n".join(unexpected + missing)

"""`tools check --impact`: the lines of code that call tools in a way that a change of their contract affects."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import Cli
from tools.talking import objects, tool

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
WRAPPED = {"x-fastmcp-wrap-result": True}
LISTED = [
    tool(
        "weather",
        objects({"city": TEXT, "units": TEXT, "days": WHOLE}, "city"),
        outputSchema=objects({"temperature": WHOLE, "summary": TEXT}, "temperature", "summary"),
    ),
    tool("sum", objects({"a": WHOLE}, "a"), outputSchema={**objects({"result": WHOLE}, "result"), **WRAPPED}),
    tool("reset", objects({})),
    tool("odd", {"type": "object", "oneOf": [objects({"a": {}}, "a"), objects({"b": {}}, "b")]}),
]
APP = """from acme.weather import OddInputWithA, Weather, WeatherInput, WeatherOutput

from . import weather as module


async def show(tools: Weather) -> int:
    found = await tools.weather(city="Oslo", days=1)
    print(found.data.summary)
    again = await tools.weather(
        city="Oslo",
        units="metric",  # units
    )
    return found.data.temperature + again.data.temperature  # temperature


def describe(result: WeatherOutput) -> str:
    print(WeatherInput(city="x", units="y"))  # units
    return f"{result.summary} {result.temperature}"  # temperature


async def others(client: module.Weather) -> None:
    print((await client.sum(a=1)).data)  # sum
    await client.reset()  # reset
    await client.odd(OddInputWithA(a=1))


def guess(result):
    return result.temperature  # unresolved
"""
Change = dict[str, Any]


def schema(name: str, half: str) -> Any:
    return next(each for each in LISTED if each["name"] == name)[half]


def listed(changed: dict[str, Change]) -> list[Change]:
    """Return the tools, some of them changed; those that are left out are removed."""
    return [{**each, **changed[each["name"]]} for each in LISTED if each["name"] in changed]


def without(shape: Any, name: str) -> Any:
    return {**shape, "properties": {key: each for key, each in shape["properties"].items() if key != name}}


SAME: dict[str, Change] = {"weather": {}, "sum": {}, "reset": {}, "odd": {}}
CHANGES: dict[str, tuple[dict[str, Change], set[str]]] = {
    "an argument and a property": (
        {
            **SAME,
            "weather": {
                "inputSchema": without(schema("weather", "inputSchema"), "units"),
                "outputSchema": objects({"temperature": TEXT, "summary": TEXT}, "temperature", "summary"),
            },
        },
        {"units", "temperature"},
    ),
    "a tool": ({name: {} for name in SAME if name != "reset"}, {"reset"}),
    "a wrapped result": (
        {**SAME, "sum": {"outputSchema": {**objects({"result": TEXT}, "result"), **WRAPPED}}},
        {"sum"},
    ),
    "nothing": (SAME, set()),
}


@pytest.fixture
def project(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Generate the client of a server in a project whose code calls it."""
    monkeypatch.chdir(tmp_path)
    settings = (
        "[tool.mcp-bindgen.tools.weather]\nfrom = 'tools.json'\nmodule = 'src/acme/weather.py'\nclass = 'Weather'"
    )
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "src" / "acme").mkdir(parents=True)
    (tmp_path / "src" / "acme" / "__init__.py").touch()
    (tmp_path / "src" / "acme" / "app.py").write_text(APP)
    (tmp_path / "tools.json").write_text(json.dumps({"tools": LISTED}))
    cli("tools", "generate", "--quiet")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_exactly_the_lines_that_use_what_changed_are_listed(project: Path, cli: Cli, change: str) -> None:
    changed, marks = CHANGES[change]
    (project / "tools.json").write_text(json.dumps({"tools": listed(changed)}))
    outcome = cli("tools", "check", "--impact", "src", "--format", "json", expect=int(bool(marks))).json
    expected = [n for n, line in enumerate(APP.splitlines(), 1) if any(line.endswith(f"# {mark}") for mark in marks)]
    assert [each["line"] for each in outcome["affected"]] == expected
    assert {each["file"] for each in outcome["affected"]} <= {"src/acme/app.py"}
    unresolved = [n for n, line in enumerate(APP.splitlines(), 1) if line.endswith("# unresolved")]
    assert [each["line"] for each in outcome["unresolved"]] == (unresolved if "temperature" in marks else [])


def test_the_lines_stand_below_the_report(project: Path, cli: Cli) -> None:
    changed, _ = CHANGES["an argument and a property"]
    (project / "tools.json").write_text(json.dumps({"tools": listed(changed)}))
    out = cli("tools", "check", "--impact", "src", expect=1).out
    assert "weather.structuredContent.temperature: integer -> string" in out
    assert "weather.lock.json to tools: 4 lines of 2 files affected" in out
    assert '  11: units="metric",  # units\n      member-removed-optional: WeatherInput.units: string\n' in out


@pytest.mark.slow
def test_bad_input(project: Path, cli: Cli) -> None:
    assert (
        "choose the format text or json" in cli("tools", "check", "--impact", "src", "--format", "sarif", expect=2).err
    )
    assert "no such file or folder" in cli("tools", "check", "--impact", "missing", expect=2).err
    lock = project / "src" / "acme" / "weather.lock.json"
    arguments = ("--lock", lock, "--from", "tools.json")
    assert "needs the module" in cli("tools", "check", "--impact", "src", *arguments, expect=2).err

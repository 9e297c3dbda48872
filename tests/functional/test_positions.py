"""Arguments of stubs by position: required properties, then own optional ones; the rest by name only."""

import inspect
from collections.abc import Mapping
from typing import Any, Final

import pytest

from mcp_bindings import App, testing, v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28
from mcp_bindings.extensions.skills import ClientMixin

PACKAGES: Final[tuple[Any, ...]] = (v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28)
BY_NAME: Final = {"cursor", "input_responses", "meta", "options", "request_state", "result_type", "task"}
EXPECTED: Final[Mapping[str, tuple[str, ...]]] = {
    "call_tool": ("name", "arguments"),
    "complete": ("ref", "argument", "context"),
    "create_message": ("messages", "max_tokens"),
    "get_prompt": ("name", "arguments"),
    "get_task": ("task_id",),
    "list_tools": (),
    "notify_cancelled": ("request_id", "reason"),
    "notify_logging_message": ("level", "data", "logger"),
    "notify_progress": ("progress_token", "progress", "total", "message"),
    "read_resource": ("uri",),
    "set_level": ("level",),
    "subscribe": ("uri",),
}
"""The first arguments by position in any revision that has the method; some revisions have fewer optional ones."""


def functions(package: Any) -> dict[str, inspect.Signature]:
    """Return the signatures of the generated stubs of both sides."""
    stubs: tuple[Any, ...] = (package.Client, package.ConnectedClient)
    own = [(stub, name) for stub in stubs for name in dir(stub) if name in stub.__dict__ and name[0] != "_"]
    return {name: inspect.signature(getattr(stub, name)) for stub, name in own}


def positional(signature: inspect.Signature) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    return [each for name, each in signature.parameters.items() if name != "self" and each.kind in kinds]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
def test_required_arguments_come_first_and_others_by_name(package: Any) -> None:
    for name, signature in functions(package).items():
        places = positional(signature)
        assert not BY_NAME & {each.name for each in places}, name
        required = [each.default is inspect.Parameter.empty for each in places]
        assert required == sorted(required, reverse=True), name
        by_name = [each for each in signature.parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
        needed = {each.name for each in by_name if each.default is inspect.Parameter.empty}
        assert needed <= {"result_type"}, name


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
def test_the_order_is_that_of_the_schema(package: Any) -> None:
    found = {name: tuple(each.name for each in positional(one)) for name, one in functions(package).items()}
    known = EXPECTED.keys() & found.keys()
    assert len(known) >= 6
    assert {name: EXPECTED[name][: len(found[name])] for name in known} == {
        name: found[name][: len(EXPECTED[name])] for name in known
    }


def test_params_that_are_a_union_take_names_only() -> None:
    for package in PACKAGES[2:]:
        elicit = functions(package)["elicit"]
        assert positional(elicit) == [] or package is v2025_06_18


def test_extensions_have_positions_too() -> None:
    assert [each.name for each in positional(inspect.signature(ClientMixin.get_skill))] == ["uri"]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
async def test_a_call_by_position(package: Any) -> None:
    app: App = App("s")

    @app.tool(structured=False)
    def forecast(city: str) -> str:
        """Forecast."""
        return f"rain in {city}"

    async with testing.connect(app, package.Client) as client:
        result: Any = await client.call_tool("forecast", {"city": "Oslo"})
    assert result.content[0].text == "rain in Oslo"

"""Handlers with the wrong name."""

import warnings
from typing import Any

import pytest

from mcp_bindgen.ingest.revisions import released
from mcp_bindings import v2025_11_25
from support.talk import bindings


def _define(base: type[Any], *names: str) -> type[Any]:
    async def handle(self: object, params: object, ctx: object) -> None:
        """Do nothing."""

    return type("Mine", (base,), dict.fromkeys(names, handle))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tools_call", "tools/call is called call_tool"),
        ("toolsCall", "tools/call is called call_tool"),
        ("logging_set_level", "logging/setLevel is called set_level"),
        ("notifications_initialized", "notifications/initialized is called on_initialized"),
    ],
)
def test_the_name_on_the_wire_is_an_error(name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"Mine\.{name} handles nothing: the handler of {meant}"):
        _define(v2025_11_25.Server, name)


@pytest.mark.parametrize("name", ["initialize", "discover", "server_discover", "subscriptions_listen"])
def test_a_handler_for_a_built_in_method_is_an_error(name: str) -> None:
    with pytest.raises(TypeError, match=r"is answered by the runtime, from the options"):
        _define(v2025_11_25.Server, name)


@pytest.mark.parametrize(
    ("name", "meant"), [("list_tool", "list_tools"), ("callTool", "call_tool"), ("get_prompts", "get_prompt")]
)
def test_a_near_miss_is_a_warning_at_the_class(name: str, meant: str) -> None:
    with pytest.warns(UserWarning, match=rf"Mine\.{name} handles nothing: did you mean {meant}\?") as caught:
        _define(v2025_11_25.Server, name)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("revision", [*released()][::4])
def test_other_names_are_free(revision: str) -> None:
    package = bindings(revision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for base in (package.Server, package.ClientHandlers):
            defined = _define(base, *base.__handlers__.values(), "look_up", "render", "search", "_list_tool", "connect")
            assert defined.__implemented__() == set(base.__handlers__)

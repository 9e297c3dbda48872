"""A definition is in the module in which a reader looks for it, and modules never import each other in a cycle."""

import pytest

from functional.generated import CATEGORIES
from mcp_bindgen.emit.python.inheritance import Inheritance
from mcp_bindgen.emit.python.modules import assign_modules, categories
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released, load_sources
from support.imports import cycles
from support.samples import typescript_source

FRAMES = """
export const LATEST_PROTOCOL_VERSION = "2099-01-01";
export interface InitializeRequest { method: "initialize"; params: { protocolVersion: string } }
export interface InitializeResult { protocolVersion: string }
"""
"""Every schema below begins with these."""


def needs_of(protocol: Protocol) -> dict[str, tuple[str, ...]]:
    inheritance = Inheritance(protocol, Names(protocol, "schema", Diagnostics()))
    return {name: tuple(inheritance.needs(definition)) for name, definition in protocol.definitions.items()}


def modules_of(text: str, released: dict[str, str] | None = None) -> dict[str, str]:
    """Place the definitions of a schema.ts: two features, `moons` and `suns`, unless it says otherwise."""
    protocol = load_sources([typescript_source(FRAMES + text)], "2099-01-01", Diagnostics())
    needs = needs_of(protocol)
    modules = assign_modules(protocol, needs, released or {})
    assert cycles(imports(needs, modules)) == []
    return modules


def imports(needs: dict[str, tuple[str, ...]], modules: dict[str, str]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {module: set() for module in modules.values()}
    for name, others in needs.items():
        graph[modules[name]] |= {modules[other] for other in others} - {modules[name]}
    return graph


def request(name: str, method: str, params: str = "", result: str = "") -> str:
    return f"""
export interface {name}Request {{ method: "{method}"; params: {name}RequestParams }}
export interface {name}RequestParams {{ {params} }}
export interface {name}Result {{ {result} }}
"""


HOMES = {
    "Tool": "tools",
    "CallToolRequest": "tools",
    "CallToolResult": "tools",
    "ToolAnnotations": "tools",
    "ReadResourceResult": "resources",
    "ResourceTemplate": "resources",
    "Prompt": "prompts",
    "TextContent": "content",
    "EmbeddedResource": "content",
    "ModelPreferences": "sampling",
    "ProgressNotification": "notifications",
    "RequestId": "common",
    "Cursor": "common",
    "JSONRPCMessage": "messages",
    "ClientRequest": "messages",
}
"""Where a reader looks, in every revision."""
ELSEWHERE = {("2024-11-05", "RequestId"), ("2025-03-26", "RequestId"), ("2025-06-18", "RequestId")}
"""Only notifications/cancelled reaches it there: no message of these revisions inherits its frame."""


@pytest.mark.parametrize("revision", released())
def test_readers_find_what_they_look_for(revision: str) -> None:
    protocol = load_released(revision)
    needs = needs_of(protocol)
    modules = assign_modules(protocol, needs, CATEGORIES)
    assert cycles(imports(needs, modules)) == []
    assert list(modules) == list(protocol.definitions)
    misplaced = {(revision, name) for name, home in HOMES.items() if name in modules and modules[name] != home}
    assert misplaced == {row for row in ELSEWHERE if row[0] == revision}


def test_resources_are_in_resources_unless_parameters_carry_content() -> None:
    for revision, modules in _released_modules().items():
        # Where the params of resources/read carry text from a model, it may link to a resource.
        assert modules["Resource"] == ("content" if "InputResponses" in modules else "resources"), revision


def test_answers_to_embedded_requests_are_where_they_are_carried() -> None:
    for modules in _released_modules().values():
        if "InputResponses" in modules:
            answers = ("InputResponses", "ElicitResult", "ListRootsResult", "CreateMessageResult")
            assert {modules[name] for name in answers} == {"multi_round_trip"}


def _released_modules() -> dict[str, dict[str, str]]:
    protocols = [load_released(revision) for revision in released()]
    return {protocol.revision: assign_modules(protocol, needs_of(protocol), CATEGORIES) for protocol in protocols}


class TestRules:
    def test_a_definition_of_one_feature_is_in_its_module(self) -> None:
        modules = modules_of(
            request("GetMoon", "moons/get", "moon: Moon") + "export interface Moon { radius: Radius }"
            "\n/** @category Common Types */ export interface Radius { km: number }"
        )
        assert modules["Moon"] == modules["Radius"] == "moons"

    @pytest.mark.parametrize(
        ("tag", "home"),
        [
            ("@category moons/get", "moons"),
            ("@category `suns/list`", "suns"),
            ("@category Content", "content"),
            ("@category Common Types", "common"),
            ("@category Multi Round-Trip", "multi_round_trip"),
            ("", "common"),
            ("@category stars/get", "stars"),
        ],
    )
    def test_a_shared_definition_is_in_the_module_of_its_category(self, tag: str, home: str) -> None:
        text = request("GetMoon", "moons/get", "size: Size") + request("GetSun", "suns/get", result="size: Size")
        assert modules_of(f"{text}/** {tag} */ export interface Size {{ km: number }}")["Size"] == home

    def test_a_feature_that_does_not_reach_it_is_not_its_home(self) -> None:
        text = request("GetMoon", "moons/get", "size: Size") + request("GetSun", "suns/get", "size: Size")
        text += request("GetStar", "stars/get") + "/** @category stars/get */ export interface Size { km: number }"
        assert modules_of(text)["Size"] == "common"

    def test_an_earlier_revision_categorizes_what_has_no_category(self) -> None:
        text = request("GetMoon", "moons/get", "size: Size") + request("GetSun", "suns/get", "size: Size")
        text += "export interface Size { km: number }"
        assert modules_of(text, {"Size": "suns/get"})["Size"] == "suns"
        first, second = (
            load_sources(
                [typescript_source(f"{FRAMES}/** @category {one} */ export type Size = string;")], one, Diagnostics()
            )
            for one in ("first", "second")
        )
        assert categories([first, second])["Size"] == "first"

    def test_inline_objects_follow_their_holder(self) -> None:
        text = request("GetMoon", "moons/get", "size: Size") + request("GetSun", "suns/get", "size: Size")
        modules = modules_of(text + "/** @category suns/get */ export interface Size { unit: { name: string } }")
        assert modules["Size"] == modules["SizeUnit"] == "suns"

    def test_a_definition_that_would_close_a_cycle_moves_down(self) -> None:
        """`moons` needs `Sun`, and `suns` needs `Moon`, so one of them has to move."""
        text = request("GetMoon", "moons/get", "sun: Sun", "moon: Moon")
        text += request("GetSun", "suns/get", "moon: Moon", "sun: Sun")
        text += "/** @category moons/get */ export interface Moon { km: number }\n"
        text += "/** @category suns/get */ export interface Sun { km: number }"
        modules = modules_of(text)
        assert sorted((modules["Moon"], modules["Sun"])) in (["moons", "moons"], ["suns", "suns"])

    def test_definitions_that_reach_each_other_stay_together(self) -> None:
        text = request("GetMoon", "moons/get", "orbit: Orbit") + request("GetSun", "suns/get", "orbit: Orbit")
        text += "/** @category moons/get */ export interface Orbit { body: Body }\n"
        text += "/** @category suns/get */ export interface Body { orbit?: Orbit }"
        modules = modules_of(text)
        assert modules["Orbit"] == modules["Body"]

    @pytest.mark.parametrize(
        ("tag", "home"),
        [
            ("../../etc", "member"),
            ("__init__", "init"),
            ("client", "client_"),
            ("server/discover", "discover"),
            ("class", "class_"),
            ("Öl", "l"),
            ("x" * 5000, "x" * 200),
        ],
    )
    def test_categories_become_valid_module_names(self, tag: str, home: str) -> None:
        text = request("GetMoon", "moons/get", "size: Size") + request("GetSun", "suns/get", "size: Size")
        assert modules_of(f"{text}/** @category {tag} */ export interface Size {{ km: number }}")["Size"] == home

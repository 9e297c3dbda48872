"""A lock file freezes what was chosen; every change of a document that touches it is listed, and each break found."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.tool_clients.comparing.compare import compare
from mcp_bindgen.tool_clients.contract import Contract, make_contract
from mcp_bindings import testing
from openapi.apis import document, generate, load
from support.command import Cli

WIDER, NARROWER, GONE = "tool-output-widened", "tool-input-narrowed", "tool-removed"
MISSING = "tool-output-property-removed"


def orders(api: Any, method: str = "get", path: str = "/orders") -> Any:
    return api["paths"][path][method]


def new_body(api: Any) -> Any:
    return orders(api, "post")["requestBody"]["content"]["application/json"]["schema"]


def schemas(api: Any) -> Any:
    return api["components"]["schemas"]


def order(api: Any) -> Any:
    return schemas(api)["Order"]["allOf"][1]["properties"]


EDITS: dict[str, tuple[Callable[[Any], object], str, str]] = {
    "an argument becomes required": (
        lambda api: new_body(api)["required"].append("note"),
        "orders/create: body note changed",
        NARROWER,
    ),
    "a parameter is removed": (
        lambda api: orders(api)["parameters"].pop(0),
        "orders/list: query tag removed",
        NARROWER,
    ),
    "a parameter gets another type": (
        lambda api: orders(api)["parameters"][2].update(schema={"type": "string"}),
        "orders/list: query limit changed",
        NARROWER,
    ),
    "a bound narrows": (
        lambda api: orders(api)["parameters"][2]["schema"].update(maximum=50),
        "orders/list: query limit changed",
        NARROWER,
    ),
    "a parameter is added": (
        lambda api: orders(api)["parameters"].append({"name": "page", "in": "query", "schema": {"type": "integer"}}),
        "orders/list: query page added",
        "tool-changed",
    ),
    "a parameter becomes required": (
        lambda api: orders(api)["parameters"][1].update(required=True),
        "orders/list: query size changed",
        NARROWER,
    ),
    "an enum loses a value": (
        lambda api: schemas(api)["Size"].update(enum=["small"]),
        "orders/list: query size changed",
        NARROWER,
    ),
    "an alternative is removed": (
        lambda api: new_body(api)["properties"]["payment"]["oneOf"].pop(),
        "orders/create: body payment changed",
        NARROWER,
    ),
    "a property of an argument is removed": (
        lambda api: schemas(api)["Card"].update(properties={"kind": {"type": "string", "enum": ["card"]}}, required=[]),
        "orders/create: CardInput property number removed",
        NARROWER,
    ),
    "a property of an argument becomes required": (
        lambda api: (
            schemas(api)["Cash"].update(required=["kind", "currency"]),
            schemas(api)["Cash"]["properties"].update(currency={"type": "string"}),
        ),
        "orders/create: CashInput property currency added",
        NARROWER,
    ),
    "a property of a result is removed": (
        lambda api: order(api).pop("self_url"),
        "Order property self_url removed",
        MISSING,
    ),
    "a property of a result gets another type": (
        lambda api: order(api).update(self_url={"type": "integer"}),
        "Order property self_url changed",
        WIDER,
    ),
    "a nested property of a result is removed": (
        lambda api: schemas(api)["Line"]["properties"].pop("count"),
        "Line property count removed",
        MISSING,
    ),
    "a result becomes a list": (
        lambda api: orders(api, path="/orders/{id}")["responses"]["200"]["content"]["application/json"].update(
            schema={"type": "array", "items": {"$ref": "#/components/schemas/Order"}}
        ),
        "orders/get: result changed",
        WIDER,
    ),
    "a result is no longer JSON": (
        lambda api: orders(api)["responses"]["200"].update(content={"text/csv": {}}),
        "orders/list: result changed",
        WIDER,
    ),
    "an operation is removed": (
        lambda api: api["paths"]["/orders/{id}"].pop("delete"),
        "orders/cancel: removed from the document",
        GONE,
    ),
    "an operation moves": (
        lambda api: api["paths"].update({"/v2/status": api["paths"].pop("/status")}),
        "status: request changed",
        "",
    ),
    "an operation gets another id": (
        lambda api: orders(api).update(operationId="orders/find"),
        "orders/list: removed from the document",
        GONE,
    ),
    "a body gets another media type": (
        lambda api: orders(api, "post")["requestBody"].update(
            content={"application/x-www-form-urlencoded": {"schema": new_body(api)}}
        ),
        "orders/create: request changed",
        "",
    ),
    "a parameter gets another style": (
        lambda api: orders(api)["parameters"][0].update(explode=False),
        "orders/list: query tag changed",
        "",
    ),
    "an operation gets another security": (
        lambda api: orders(api).update(security=[]),
        "orders/list: security changed",
        "",
    ),
    "a key goes elsewhere": (
        lambda api: api["components"]["securitySchemes"]["key"].update({"in": "query"}),
        "security scheme key changed",
        "",
    ),
    "the API moves": (
        lambda api: api.update(servers=[{"url": "https://elsewhere.example"}]),
        "the API is at https://elsewhere.example instead of",
        "",
    ),
    "a description changes": (
        lambda api: orders(api).update(description="The oldest order comes first."),
        "orders/list: description changed",
        "tool-description-changed",
    ),
    "an operation is added": (
        lambda api: api["paths"].update({"/new": {"get": {"operationId": "orders/new", "responses": {}}}}),
        "orders/new: new in the document, and matched by a glob",
        "",
    ),
}


def edited(name: str) -> Any:
    api = copy.deepcopy(document("shop"))
    EDITS[name][0](api)
    return api


async def contract(path: Path) -> Contract:
    async with testing.connect(load(path).app) as client:
        tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) async for tool in client.iter_tools()]
    return make_contract(tools, server="", version="", where=Location(source=""), diagnostics=Diagnostics())


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server whose document has not changed yet."""
    return generate(document("shop"), tmp_path_factory.mktemp("before")).parent


def sampled() -> list[Any]:
    """Return the edits; the quick tests take every fourth."""
    return [pytest.param(name, marks=() if number % 4 == 2 else pytest.mark.slow) for number, name in enumerate(EDITS)]


@pytest.mark.parametrize("name", sampled())
async def test_each_edit_is_listed_and_each_break_found(name: str, before: Path, tmp_path: Path, cli: Cli) -> None:
    _, line, rule = EDITS[name]
    for path in before.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "api.json").write_text(json.dumps(edited(name)), "utf-8")
    words = ("openapi", tmp_path / "api.json", "--out", tmp_path / "server.py", "--check")
    printed = cli(*words, "--no-callers", expect=1).out
    assert line in printed and "up to date" not in printed
    assert (tmp_path / "server.py").read_bytes() == (before / "server.py").read_bytes()
    again = tmp_path / "again"
    again.mkdir()
    url = "https://elsewhere.example"
    new = await contract(generate(edited(name), again, "--url", url, "--exclude", "orders/new"))
    found = {each.rule.id for each in compare(await contract(tmp_path / "server.py"), new)}
    assert rule in found if rule else not found & {WIDER, NARROWER, GONE}


def test_nothing_changed(before: Path, cli: Cli) -> None:
    assert cli("openapi", before / "api.json", "--out", before / "server.py", "--check").out == "up to date\n"


@pytest.mark.slow
def test_a_check_shows_which_callers_break(tmp_path: Path, cli: Cli) -> None:
    path = generate(document("shop"), tmp_path)
    (tmp_path / "api.json").write_text(json.dumps(edited("an argument becomes required")), "utf-8")
    printed = cli("openapi", tmp_path / "api.json", "--out", path, "--check", expect=1).out
    assert "orders/create: body note changed" in printed and NARROWER in printed


class TestLock:
    def again(self, folder: Path, cli: Cli, api: Any, *words: object, expect: int = 0) -> str:
        (folder / "api.json").write_text(json.dumps(api), "utf-8")
        outcome = cli("openapi", folder / "api.json", "--out", folder / "server.py", *words, "-v", expect=expect)
        return outcome.err

    def operations(self, folder: Path) -> list[str]:
        return [*json.loads((folder / "server.lock.json").read_text("utf-8"))["operations"]]

    def test_a_new_match_of_a_glob_is_not_added_silently(self, tmp_path: Path, cli: Cli) -> None:
        generate(document("shop"), tmp_path, "--include", "orders/*")
        known = self.operations(tmp_path)
        api = edited("an operation is added")
        said = self.again(tmp_path, cli, api, "--include", "orders/*")
        assert "orders/new is new and matched by a glob" in said and self.operations(tmp_path) == known
        self.again(tmp_path, cli, api, "--include", "orders/*", "--include", "orders/new")
        assert self.operations(tmp_path) == [*known, "orders/new"]
        generate(document("shop"), tmp_path, "--include", "orders/*")
        self.again(tmp_path, cli, api, "--include", "orders/*", "--update")
        assert self.operations(tmp_path) == [*known, "orders/new"]

    def test_another_url_has_to_be_given(self, tmp_path: Path, cli: Cli) -> None:
        generate(document("shop"), tmp_path)
        before = (tmp_path / "server.py").read_bytes()
        api = edited("the API moves")
        assert "give --url https://elsewhere.example" in self.again(tmp_path, cli, api, expect=2)
        assert (tmp_path / "server.py").read_bytes() == before
        self.again(tmp_path, cli, api, "--url", "https://elsewhere.example")
        self.again(tmp_path, cli, api)

    def test_another_place_of_a_secret_has_to_be_accepted(self, tmp_path: Path, cli: Cli) -> None:
        generate(document("shop"), tmp_path)
        api = edited("a key goes elsewhere")
        assert "accept it by --update" in self.again(tmp_path, cli, api, expect=2)
        self.again(tmp_path, cli, api, "--update")

    def test_a_removed_operation_is_reported(self, tmp_path: Path, cli: Cli) -> None:
        generate(document("shop"), tmp_path)
        assert "orders/cancel was removed" in self.again(tmp_path, cli, edited("an operation is removed"))

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2, "operations": {}}', '{"format": 1}'])
    def test_another_lock_file_is_refused(self, text: str, tmp_path: Path, cli: Cli) -> None:
        generate(document("shop"), tmp_path)
        (tmp_path / "server.lock.json").write_text(text, "utf-8")
        assert "server.lock.json: not " in self.again(tmp_path, cli, document("shop"), expect=2)

    def test_names_of_classes_stay_when_others_come(self, tmp_path: Path) -> None:
        api = document("shop")
        inline = {
            "type": "object",
            "properties": {"inner": {"type": "object", "properties": {"x": {"type": "string"}}}},
        }
        content = {"application/json": {"schema": inline}}
        orders(api, "get", "/status")["responses"]["200"]["content"] = content
        first = generate(api, tmp_path).read_text("utf-8")
        other = {"operationId": "a/first", "responses": {"200": {"description": "It.", "content": content}}}
        api["paths"] = {"/first": {"get": other}, **api["paths"]}
        second = generate(api, tmp_path, "--update").read_text("utf-8")
        classes = [line for line in first.splitlines() if line.startswith("class ")]
        assert "class StatusResultInner(http.OpenModel):" in classes
        assert {*classes} < {*second.splitlines()}

"""Functions as resources and templates: what they return, and which URIs reach them."""

import asyncio
import base64
import re
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_bindings import v2024_11_05 as first
from mcp_bindings import v2025_11_25 as mcp
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime import testing
from mcp_runtime.app import DefinitionError, NotFound, Raw
from mcp_runtime.app.uri_templates import UriTemplate
from mcp_runtime.core.errors import PeerError
from mcp_runtime.memory import connect_memory
from support.apps import opened


async def read(server: mcp.App, uri: str) -> list[dict[str, Any]]:
    async with opened(server) as client:
        return [item.model_dump(mode="json") for item in (await client.read_resource(uri=uri)).contents]


def refused(server: mcp.App, uri: str) -> PeerError:
    with pytest.raises(PeerError) as caught:
        asyncio.run(read(server, uri))
    return caught.value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", {"mimeType": "text/plain", "text": "text"}),
        (b"\x00\xff", {"mimeType": "application/octet-stream", "blob": base64.b64encode(b"\x00\xff").decode()}),
        ({"a": [1]}, {"mimeType": "application/json", "text": '{"a":[1]}'}),
        ([1, 2], {"mimeType": "application/json", "text": "[1,2]"}),
        (mcp.TextResourceContents(uri="acme://other", text="x"), {"uri": "acme://other", "text": "x"}),
    ],
)
def test_return_values_become_contents(value: Any, expected: dict[str, Any]) -> None:
    app = mcp.App("test")
    app.resource("acme://one", name="one")(lambda: value)
    assert asyncio.run(read(app, "acme://one")) == [{"uri": "acme://one", **expected}]


def test_resources_and_templates_are_listed_separately() -> None:
    app = mcp.App("test")

    @app.resource("acme://shelf", mime_type="text/markdown", title="The shelf")
    def shelf() -> str:
        """What there is."""
        return "bread"

    @app.resource("acme://loaf/{number}")
    async def loaf(number: int, ctx: mcp.Context) -> str:
        """One loaf."""
        if number > 9:
            raise NotFound(f"no loaf {number}")
        return f"loaf {number + 1} for {ctx.requester.info['name']}"

    async def main() -> None:
        async with opened(app) as client:
            [resource] = (await client.list_resources()).resources
            assert resource.model_dump(mode="json") == {
                "uri": "acme://shelf",
                "name": "shelf",
                "title": "The shelf",
                "description": "What there is.",
                "mimeType": "text/markdown",
            }
            [template] = (await client.list_resource_templates()).resource_templates
            assert template.model_dump(mode="json") == {
                "uriTemplate": "acme://loaf/{number}",
                "name": "loaf",
                "description": "One loaf.",
            }

    asyncio.run(main())
    assert asyncio.run(read(app, "acme://loaf/7"))[0]["text"] == "loaf 8 for mcp-bindgen"
    assert refused(app, "acme://loaf/10").code == -32002
    wrong = refused(app, "acme://loaf/x")
    assert wrong.code == -32602 and "number: it should be a valid integer" in wrong.message


def test_an_unknown_resource_has_the_code_of_the_revision() -> None:
    async def code(version: Any) -> int:
        app = version.App("test")
        app.resource("acme://one", name="one")(lambda: "x")
        async with connect_memory(app) as peer:
            client = await version.Client.open(peer)
            with pytest.raises(PeerError) as caught:
                await client.read_resource(uri="acme://two")
            return caught.value.code

    assert [asyncio.run(code(version)) for version in (first, mcp, modern)] == [-32002, -32002, -32602]


def test_a_uri_that_several_templates_match_is_refused() -> None:
    app = mcp.App("test")

    @app.resource("acme://{name}")
    def any_name(name: str) -> str:
        return name

    @app.resource("acme://{name}.md")
    def markdown(name: str) -> str:
        return name

    assert "acme://{name}, acme://{name}.md" in refused(app, "acme://a.md").message
    assert asyncio.run(read(app, "acme://a"))[0]["text"] == "a"


def test_clients_learn_of_added_and_removed_resources() -> None:
    app = mcp.App("test")
    changed = asyncio.Event()

    class Watcher(mcp.ClientHandlers):
        async def on_resource_list_changed(self, params: Any, ctx: mcp.ClientContext) -> None:
            changed.set()

    app.resource("acme://one", name="one")(lambda: "x")

    async def main() -> None:
        async with opened(app, Watcher()) as client:
            app.resource("acme://two", name="two")(lambda: "x")
            await asyncio.wait_for(changed.wait(), 40)
            changed.clear()
            assert app.remove_resource("acme://one") and not app.remove_resource("acme://one")
            await asyncio.wait_for(changed.wait(), 40)
            assert [resource.uri async for resource in client.iter_resources()] == ["acme://two"]

    asyncio.run(main())


class TestDefinitions:
    @pytest.mark.parametrize(
        ("uri", "reason"),
        [
            ("acme://{other}", "other is only in the URI, name is only a parameter"),
            ("acme://", "name is only a parameter (in the URI: {name})"),
            ("acme://{name}/{more}", "more is only in the URI"),
            ("acme://{name", "braces"),
            ("acme://{name*}", "explode"),
            ("acme://{name:3}", "prefix"),
            ("acme://{#name}", "cannot be read from a URI"),
            ("acme://{x}{name}", "nothing separates"),
            ("acme://{?name}/x", "nothing may follow its query"),
            ("acme://{name}/{name}", "once"),
            ("no-scheme/{name}", "scheme"),
        ],
    )
    def test_an_ambiguous_template_is_refused(self, uri: str, reason: str) -> None:
        def function(name: str) -> str:
            return name

        with pytest.raises(DefinitionError, match=r"test_resources.py:\d+: resource ") as caught:
            mcp.App("test").resource(uri)(function)
        assert reason in str(caught.value)

    def test_two_resources_with_the_same_uri_are_refused(self) -> None:
        app = mcp.App("test")
        app.resource("acme://one", name="one")(lambda: "x")
        with pytest.raises(DefinitionError, match="already defined"):
            app.resource("acme://one", name="two")(lambda: "x")


class TestTemplates:
    @pytest.mark.parametrize(
        ("template", "uri", "expected"),
        [
            ("a://{x}", "a://1", {"x": "1"}),
            ("a://{x}", "a://a%20b", {"x": "a b"}),
            ("a://{x}", "a://ann@example.com", {"x": "ann@example.com"}),
            ("a://{x}", "a://", None),
            ("a://{x}", "a://1/2", None),
            ("a://{x}", "b://1", None),
            ("a://{x}/y", "a://1/z", None),
            ("a://{+x}", "a://1/2", {"x": "1/2"}),
            ("a://{x}/{+y}", "a://1/2/3", {"x": "1", "y": "2/3"}),
            ("a://h{/x}{/y}", "a://h/1/2", {"x": "1", "y": "2"}),
            ("a://{x}{.y}", "a://f.md", {"x": "f", "y": "md"}),
            ("a://{x}{?q,r}", "a://1?q=2", {"x": "1", "q": "2"}),
            ("a://{x}{?q,r}", "a://1?r=3&q=2", {"x": "1", "q": "2", "r": "3"}),
            ("a://{x}{?q,r}", "a://1", {"x": "1"}),
        ],
    )
    def test_matching_uris_are_read(self, template: str, uri: str, expected: dict[str, str] | None) -> None:
        assert UriTemplate(template).match(uri) == expected

    @pytest.mark.parametrize(
        ("template", "uri"),
        [
            ("a://{x}", "a://.."),
            ("a://{x}", "a://."),
            ("a://{x}", "a://%2e%2e"),
            ("a://{x}", "a://a%2Fb"),
            ("a://{x}", "a://a%5cb"),
            ("a://{x}", "a://a\\b"),
            ("a://{x}", "a://a%00"),
            ("a://{x}", "a://a%0Ab"),
            ("a://{x}", "a://a%zz"),
            ("a://{x}", "a://%ff"),
            ("a://{x}", "a://a\u202eb"),
            ("a://{+x}", "a://a/../b"),
            ("a://{+x}", "a://a/%2e./b"),
            ("a://{+x}", "a:///etc/hostname"),
            ("a://{+x}", "a:////host/share"),
            ("a://{+x}", "a://C:/windows"),
            ("a://{x}", "a://C%3Asecret"),
            ("a://h{?x}", "a://h?x=/etc/hostname"),
            ("a://{x}-{y}", "a://1-2-3"),
            ("a://{x}{.y}", "a://f.tar.gz"),
            ("a://{+x}/b/{+y}", "a://a/b/b/b/c"),
            ("a://{x}{?q}", "a://1?q=2&q=3"),
            ("a://{x}{?q}", "a://1?other=2"),
            ("a://{x}", "a://" + "b" * 9000),
        ],
    )
    def test_disguised_and_ambiguous_uris_are_refused(self, template: str, uri: str) -> None:
        assert UriTemplate(template).match(uri) is None

    def test_a_raw_variable_takes_any_text(self) -> None:
        template = UriTemplate("a://{+x}", raw=["x"])
        for value in ("/etc/hostname", "../b", "C:/windows", "a/b"):
            assert template.match(f"a://{value}") == {"x": value}
        assert template.match("a://a%2F%00") == {"x": "a/\0"}
        assert template.match("a://%ff") is None

    async def test_a_parameter_can_be_raw(self) -> None:
        app = mcp.App("test")

        @app.resource("docs://{+path}")
        def plain(path: str) -> str:
            return path

        @app.resource("raw://{+path}")
        def raw(path: Annotated[str, Raw]) -> str:
            return path

        async with testing.connect(app) as client:
            [item] = (await client.read_resource(uri="raw:///etc/hostname")).contents
            assert isinstance(item, mcp.TextResourceContents) and item.text == "/etc/hostname"
            with pytest.raises(PeerError, match="no such resource"):
                await client.read_resource(uri="docs:///etc/hostname")

    @pytest.mark.parametrize("examples", [25, pytest.param(200, marks=pytest.mark.slow)])
    def test_expanded_templates_are_read_back_or_refused(self, examples: int) -> None:
        characters = st.characters(codec="utf-8", exclude_categories=("C", "Z"))
        check = given(st.lists(st.text(characters, min_size=1), min_size=2, max_size=5))(self.expand_and_read)
        settings(max_examples=examples)(check)()

    @staticmethod
    def expand_and_read(values: list[str]) -> None:
        from uritemplate import URITemplate

        names = [f"v{number}" for number in range(min(len(values), 5))]
        given: dict[str, Any] = dict(zip(names, values, strict=False))
        text = "a://" + "/".join(f"{{{name}}}" for name in names)
        read = UriTemplate(text).match(URITemplate(text).expand(**given))
        unsafe = any(
            "/" in value or "\\" in value or value in (".", "..") or re.match("[A-Za-z]:", value)
            for value in given.values()
        )
        assert read == (None if unsafe or not all(map(str.isprintable, given.values())) else given)

    def test_a_hostile_uri_takes_bounded_time(self) -> None:
        template = UriTemplate("a://{a}-{b}-{c}-{d}-{e}x")
        for _ in range(10):
            assert template.match("a://" + "-" * 8000) is None

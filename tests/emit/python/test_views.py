"""The views of a small protocol, as the templates see them."""

import ast

import pytest

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.package import package_view
from mcp_bindgen.emit.python.render import docstring
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.load.protocol import load_sources
from support.samples import HANDSHAKE, json_source, typescript_source

PROTOCOL = """
/** The revision. */
export const LATEST_PROTOCOL_VERSION = "2099-01-01";
/** Not found. @category Errors */
export const NOT_FOUND = -32001;
export interface InitializeRequest { method: "initialize"; params: InitializeRequestParams; }
export interface InitializeRequestParams { protocolVersion: string; }
export interface InitializeResult { protocolVersion: string; }
/** A moon. */
export interface Moon {
    kind: "moon";
    /** Its name. */
    moonName: string;
    radius?: number;
    note?: unknown;
    next?: Moon;
}
export interface BigMoon extends Moon { mass: number; }
export interface KnownMoon extends Moon { radius: number; }
export const MOON_LIMIT = 5;
export type Body = Moon | BigMoon;
/** Asks for moons. */
export interface ListMoonsRequest { method: "moons/list"; params?: ListMoonsRequestParams; }
export interface ListMoonsRequestParams { _meta?: { [key: string]: unknown }; cursor?: string; options?: string; }
export interface ListMoonsResult { nextCursor?: string; moons: Moon[]; }
/** Says that a moon rose. */
export interface MoonRoseNotification { method: "notifications/moon_rose"; params: MoonRoseNotificationParams; }
export interface MoonRoseNotificationParams { note?: string; moonName: string; }
export type ClientRequest = InitializeRequest | ListMoonsRequest;
export type ServerNotification = MoonRoseNotification;
"""


@pytest.fixture(scope="module")
def package() -> views.Package:
    protocol = load_sources([typescript_source(PROTOCOL)], "2099-01-01", Diagnostics())
    return package_view(protocol, {}, Diagnostics())


def definition(package: views.Package, name: str) -> views.Class | views.Alias:
    return next(d for module in package.modules for d in module.definitions if d.name == name)


def class_(package: views.Package, name: str) -> views.Class:
    found = definition(package, name)
    assert isinstance(found, views.Class)
    return found


def test_the_package(package: views.Package) -> None:
    assert (package.revision, package.era) == ("2099-01-01", "legacy")
    assert {export.name: export.module for export in package.exports}["Moon"] == "moons"
    assert {"Client", "Server", "METHODS", "BINDING"} <= {export.name for export in package.exports}


@pytest.mark.parametrize("name", views.__all__)
def test_views_are_frozen(name: str) -> None:
    assert getattr(views, name).__dataclass_params__.frozen


def test_a_class(package: views.Package) -> None:
    moon = class_(package, "Moon")
    assert (moon.definition, moon.doc, moon.bases) == ("Moon", "A moon.", ())
    assert moon.link.endswith("/2099-01-01/schema.ts")
    big = class_(package, "BigMoon")
    assert [str(base) for base in big.bases] == ["Moon"]
    assert [field.name for field in big.fields] == ["mass"]
    assert [field.name for field in big.every_field] == ["kind", "moon_name", "radius", "note", "next", "mass"]


def test_a_class_inherits_no_property_that_it_newly_requires(package: views.Package) -> None:
    known = class_(package, "KnownMoon")
    assert known.bases == ()
    assert {field.name: field.is_required for field in known.fields}["radius"]


def test_fields(package: views.Package) -> None:
    kind, name, radius, note, next_ = class_(package, "Moon").fields
    assert (str(kind.type), str(kind.default), kind.is_constant, kind.is_required) == (
        "Literal['moon']",
        "'moon'",
        True,
        True,
    )
    assert (name.name, name.wire_name, name.needs_alias, name.default, name.doc) == (
        "moon_name",
        "moonName",
        False,
        None,
        "Its name.",
    )
    assert (str(radius.plain), str(radius.default), radius.is_required, radius.is_nullable) == (
        "float",  # a number of a schema.ts alone may have a fraction, unless something says otherwise
        "None",
        False,
        False,
    )
    assert str(radius.type).endswith(" | None")
    assert (str(note.plain), note.is_nullable, str(note.default).endswith("ABSENT")) == ("Any", True, True)
    assert (next_.is_forward, str(next_.plain)) == (True, "Moon")


def test_an_alias(package: views.Package) -> None:
    body = definition(package, "Body")
    assert isinstance(body, views.Alias)
    assert (str(body.plain), body.is_forward) == ("Moon | BigMoon", False)


def test_a_request_and_its_pages(package: views.Package) -> None:
    request, pages = (call for call in package.client.calls if call.method == "moons/list")
    assert (request.kind, request.name, request.record) == ("request", "list_moons", "MOONS_LIST")
    assert request.doc == "Asks for moons."
    # A property with the name of a parameter that every stub has gets an underscore; a cursor is passed by name.
    assert [(p.name, p.field) for p in request.signature.parameters] == [
        ("options_", "options"),
        ("cursor", "cursor"),
        ("meta", "meta"),
        ("options", ""),
    ]
    assert str(request.signature.result) == "ListMoonsResult"
    assert request.params is not None
    assert [(a.name, a.value) for a in request.params.arguments] == [("options", "options_"), ("cursor", "cursor")]
    assert request.params.meta_field == "meta"
    assert (pages.kind, pages.name, pages.items, pages.request) == ("pages", "iter_moons", "moons", "list_moons")
    assert "cursor" not in {p.name for p in pages.signature.parameters}
    assert str(pages.signature.result) == "AsyncIterator[Moon]"


def test_notifications_and_handlers(package: views.Package) -> None:
    (sent,) = package.server.calls
    assert (sent.kind, sent.name, str(sent.signature.result)) == ("notification", "notify_moon_rose", "None")
    assert [handler.name for handler in package.client.handlers] == ["on_moon_rose"]
    assert {handler.name for handler in package.server.handlers} == {"list_moons"}
    assert [p.name for p in sent.signature.parameters] == ["moon_name", "note"], "required ones first"
    (params,) = next(h for h in package.server.handlers if h.name == "list_moons").signature.parameters
    assert str(params.type) == "ListMoonsRequestParams | None"


def test_methods(package: views.Package) -> None:
    listed = next(method for method in package.methods if method.method == "moons/list")
    assert (listed.name, listed.direction, str(listed.params), str(listed.result)) == (
        "MOONS_LIST",
        "CLIENT_TO_SERVER",
        "ListMoonsRequestParams",
        "ListMoonsResult",
    )
    assert "paginated" in listed.flags
    assert package.lookup.client_requests == ("INITIALIZE", "MOONS_LIST")
    assert package.lookup.server_notifications == ("NOTIFICATIONS_MOON_ROSE",)
    assert package.lookup.embedded_requests == ()


def test_constants_and_errors(package: views.Package) -> None:
    assert [(c.name, c.value) for c in package.constants] == [
        ("LATEST_PROTOCOL_VERSION", "2099-01-01"),
        ("NOT_FOUND", -32001),
        ("MOON_LIMIT", 5),
    ]
    assert [(e.name, e.code) for e in package.errors] == [("NotFoundError", -32001)]


@pytest.mark.parametrize(
    ("type_", "spelled"),
    [
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "le=1, gt=0"),
        ({"type": "string", "minLength": 1}, "min_length=1"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True}, "max_length=2), UNIQUE"),
        ({"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}, "LEFT_TO_RIGHT"),
        ({"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Lion"}]}, "MOST_MEMBERS"),
    ],
)
def test_what_is_checked_is_part_of_the_type(type_: object, spelled: str) -> None:
    """Unions whose members require the same properties cannot be read from left to right."""
    animals: dict[str, dict[str, object]] = {
        name: {"type": "object", "properties": {"legs": {"type": "integer"}}} for name in ("Cat", "Lion", "Dog")
    }
    animals["Dog"]["required"] = ["legs"]
    holder = {"type": "object", "properties": {"x": type_}}
    protocol = load_sources([json_source({**HANDSHAKE, **animals, "Holder": holder})], "2099-01-01", Diagnostics())
    (field,) = class_(package_view(protocol, {}, Diagnostics()), "Holder").fields
    assert spelled in str(field.type)


@pytest.mark.parametrize("text", ['say "no"', 'a """ b', "ends with \\", 'ends with \\"', '"', 'two\n\nlines """"'])
def test_a_docstring_cannot_end_early(text: str) -> None:
    assert ast.literal_eval(f'"""{docstring(text)}"""').rstrip() == text

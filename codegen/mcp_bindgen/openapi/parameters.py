"""The arguments of an operation: its parameters, by the styles of OpenAPI."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, clip
from mcp_bindgen.ir.json_values import as_object
from mcp_bindgen.openapi.document import Document, Json
from mcp_bindgen.openapi.names import argument_name, class_name
from mcp_bindgen.openapi.schemas import SCALARS, Schemas

PLACES = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
"""The places of parameters, each with its default style."""
STYLES = {
    "path": ("simple", "label", "matrix"),
    "header": ("simple",),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "cookie": ("form",),
}
_IGNORED = frozenset(("accept", "authorization", "content-type"))
"""Headers that a parameter cannot describe (OpenAPI 3.1, "Parameter Object")."""
_FORBIDDEN = frozenset(
    "connection content-length cookie expect host keep-alive te trailer transfer-encoding upgrade".split()
)
"""Headers that would change how the request is framed, where it goes, or whose it is."""
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a tool: a parameter, a field of the body, or the whole body.

    Attributes:
        key: its name in the API.
        name: its name in Python.
        place: ``path``, ``query``, ``header``, ``cookie`` or ``body``.
        schema: its schema.
        required: whether a call has to have it.
        style: its style, empty for the default one of its place.
        explode: whether its items are parameters of their own, None for the default of the style.
        reserved: whether reserved characters stay.
        content: ``application/json`` or ``base64`` if it is encoded so.
        is_whole: whether it is the whole body.
    """

    key: str = ""
    name: str = ""
    place: str
    schema: Json
    required: bool
    style: str = ""
    explode: bool | None = None
    reserved: bool = False
    content: str = ""
    is_whole: bool = False

    def named(self, name: str) -> "Argument":
        """Return it with a name in Python."""
        return replace(self, name=name)

    @property
    def is_styled(self) -> bool:
        """Whether it is not encoded by the default of its place."""
        return bool(self.style or self.content or self.reserved or self.explode is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is at hand while one operation is read.

    Attributes:
        document: the document.
        schemas: reduces its schemas.
        where: the place of the operation.
        tool: the name of its tool.
        diagnostics: collects what is odd.
    """

    document: Document
    schemas: Schemas
    where: Location
    tool: str
    diagnostics: Diagnostics

    def hint(self, name: str) -> str:
        """Return the name of an object that has none of its own."""
        return f"{class_name(self.tool)}{class_name(name)}"


def parameters_of(reading: Reading, item: Json, raw: Json, path: str) -> Iterator[Argument]:
    """Iterate over the parameters of an operation; those of the operation replace those of its path.

    Raises:
        InputError: one has no name, or none of the places.
    """
    merged: dict[tuple[str, str], Json] = {}
    for each in (*reading.document.objects(item.get("parameters")), *reading.document.objects(raw.get("parameters"))):
        name, place = each.get("name"), each.get("in")
        if not isinstance(name, str) or not name or place not in PLACES:
            shown = clip(repr({"name": name, "in": place}), 120)
            raise InputError.at(
                reading.where, f"a parameter has a name and a place (in) of {', '.join(PLACES)}, not {shown}"
            )
        merged[name, place] = each
    variables = list(dict.fromkeys(_VARIABLE.findall(path)))
    for name in variables:
        if (name, "path") not in merged:
            reading.diagnostics.warning(reading.where, f"{{{name}}} of the path is not declared; it is taken as text")
            merged[name, "path"] = {"schema": {"type": "string"}}
    taken = set[str]()
    for (name, place), each in merged.items():
        if (place == "path" and name not in variables) or (place == "header" and name.lower() in _IGNORED):
            continue
        if _is_forbidden(name, place):
            reading.diagnostics.warning(
                reading.where, f"the {place} {clip(repr(name), 80)} cannot be an argument; it is left out"
            )
            continue
        argument = argument_name(name, place, taken)
        taken.add(argument)
        yield _argument(reading, each, name, place).named(argument)


def _is_forbidden(name: str, place: str) -> bool:
    lower = name.lower()
    return place in ("header", "cookie") and (
        not _TOKEN.fullmatch(name) or (place == "header" and (lower in _FORBIDDEN or lower.startswith("proxy-")))
    )


def _argument(reading: Reading, each: Json, name: str, place: str) -> Argument:
    schemas = reading.schemas
    content = as_object(each.get("content"))
    media = as_object(next(iter(content.values()), None))
    node = media.get("schema") if content else each.get("schema")
    shown = schemas.merged(node)
    schema = schemas.request(node, reading.hint(name))
    if not schema.keys() - {"description"}:
        schema = {**schema, "type": "string"}
    if each.get("description") and "$ref" not in schema:
        said = {key: shown[key] for key in ("type", "format", "default") if key in shown}
        described = schemas.request({**said, "description": each["description"]}, "")
        schema = {**schema, "description": described.get("description", "")}
    is_scalar = shown.get("type") in SCALARS
    style = str(each.get("style") or PLACES[place])
    is_default = style == PLACES[place] or style not in STYLES[place] or (is_scalar and place == "query")
    explode = each.get("explode")
    is_known = not isinstance(explode, bool) or explode == (style == "form") or is_scalar
    return Argument(
        key=name,
        place=place,
        schema=schema,
        required=each.get("required") is True or place == "path",
        style="" if is_default else style,
        explode=None if is_known else explode,
        reserved=place != "cookie" and (each.get("allowReserved") is True or each.get("x-multi-segment") is True),
        content="application/json" if content else "",
    )

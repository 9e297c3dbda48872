"""Views of app.py: the decorators of a revision and what they set on a tool, a resource or a prompt."""

from collections.abc import Iterator, Mapping

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.expressions import Expression, Symbol, expression
from mcp_bindgen.emit.python.spelling import LITERAL, NONE, STR, constant, either, generic
from mcp_bindgen.emit.python.stubs import StubViews
from mcp_bindgen.ir.facts import page_items
from mcp_bindgen.ir.nodes import Protocol, Ref, Struct

_LISTS: Mapping[str, tuple[str, ...]] = {
    "tool": ("tools/list",),
    "resource": ("resources/list", "resources/templates/list"),
    "prompt": ("prompts/list",),
}
"""The decorators, and the methods that list their items; if a revision lacks one, there is no decorator."""
_READ_FROM_FUNCTION = frozenset(
    ("name", "description", "uri", "uriTemplate", "size", "arguments", "inputSchema", "outputSchema")
)
"""Properties that every decorator takes explicitly, and those derived from the function."""
_INPUT, _OUTPUT = "inputSchema", "outputSchema"

_BOOL = expression(Symbol("builtins.bool"))
_SCHEMA = expression(Symbol("collections.abc.Mapping"), "[", STR, ", ", Symbol("typing.Any"), "]")
_SUPPORT = generic(LITERAL, constant("optional"), constant("required"))


def _parameter(name: str, type_: Expression, doc: str, default: Expression | None = None) -> views.Parameter:
    return views.Parameter(name=name, field=name, type=type_, default=default, doc=doc)


_NAME = _parameter("name", either(STR, NONE), "The name; by default the function's name.", NONE)
_URI = _parameter(
    "uri", STR, "The URI, or a template of URIs (RFC 6570) whose variables are the parameters of the function."
)
_DESCRIPTION = _parameter(
    "description", either(STR, NONE), "What it is for; by default the first paragraph of the docstring.", NONE
)
_INPUT_SCHEMA = _parameter(
    "input_schema",
    either(_SCHEMA, NONE),
    "The JSON Schema of the arguments, which the function takes as one mapping; by default from its parameters.",
    NONE,
)
_STRUCTURED = _parameter(
    "structured", _BOOL, "Whether to derive an output schema from the return type.", constant(True)
)
_TASK = _parameter(
    "task",
    either(_SUPPORT, NONE),
    "Whether a call may become a task; clients without tasks wait for the result, or are refused if it must.",
    NONE,
)
_RESTART = _parameter(
    "restart",
    _BOOL,
    "Whether a task whose process has ended may run again in another, with the arguments and answers so far.",
    constant(False),
)


def decorators(protocol: Protocol, stubs: StubViews) -> Iterator[views.Decorator]:
    """Iterate over the decorators of a revision."""
    for name, lists in _LISTS.items():
        listed = [struct for method in lists if (struct := _item(protocol, method)) is not None]
        if len(listed) < len(lists):
            continue
        first = listed[0]
        shared = {field.wire_name for field in first.fields}.intersection(
            *({field.wire_name for field in other.fields} for other in listed)
        )
        left_out = _READ_FROM_FUNCTION | {field.wire_name for field in first.fields if field.wire_name not in shared}
        known = stubs.described(first, left_out)
        schema = (_INPUT_SCHEMA,) if first.field(_INPUT) else ()
        structured = (_STRUCTURED,) if first.field(_OUTPUT) else ()
        deferrable = name == "tool" and any(m.name == "tools/call" and m.multi_round_trip for m in protocol.methods)
        task = (_TASK, _RESTART) if deferrable else ()
        key = (_URI, _NAME) if name == "resource" else (_NAME,)
        yield views.Decorator(name=name, parameters=(*key, _DESCRIPTION, *known, *schema, *structured, *task))


def _item(protocol: Protocol, method: str) -> Struct | None:
    """Return the definition that a method lists; None if the revision has no such method."""
    for found in protocol.methods:
        paged = page_items(protocol, found) if found.name == method else None
        if paged is not None and isinstance(paged[1].item, Ref):
            definition = protocol.definitions[paged[1].item.name]
            return definition if isinstance(definition, Struct) else None
    return None

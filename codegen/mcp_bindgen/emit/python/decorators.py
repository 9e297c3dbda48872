"""Views of app.py: the decorators of a revision and what they set on a tool, a resource or a prompt."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mcp_bindgen.emit.python import views
from mcp_bindgen.emit.python.expressions import Symbol, expression
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

_NAME = views.Parameter(
    name="name", field="name", type=either(STR, NONE), default=NONE, doc="The name; by default the function's name."
)
_URI = views.Parameter(
    name="uri",
    field="uri",
    type=STR,
    doc="The URI, or a template of URIs (RFC 6570) whose variables are the parameters of the function.",
)
_DESCRIPTION = replace(
    _NAME,
    name="description",
    field="description",
    doc="What it is for; by default the first paragraph of the docstring.",
)
_INPUT_SCHEMA = views.Parameter(
    name="input_schema",
    field="input_schema",
    type=either(expression(Symbol("collections.abc.Mapping"), "[", STR, ", ", Symbol("typing.Any"), "]"), NONE),
    default=NONE,
    doc="The JSON Schema of the arguments, which the function takes as one mapping; by default from its parameters.",
)
_STRUCTURED = views.Parameter(
    name="structured",
    field="structured",
    type=expression(Symbol("builtins.bool")),
    default=expression("True"),
    doc="Whether to derive an output schema from the return type.",
)

_TASK = views.Parameter(
    name="task",
    field="task",
    type=either(generic(LITERAL, constant("optional"), constant("required")), NONE),
    default=NONE,
    doc="Whether a call may become a task; clients without tasks wait for the result, or are refused if it must.",
)
_RESTART = views.Parameter(
    name="restart",
    field="restart",
    type=expression(Symbol("builtins.bool")),
    default=expression("False"),
    doc="Whether a task whose process has ended may run again in another, with the arguments and answers so far.",
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

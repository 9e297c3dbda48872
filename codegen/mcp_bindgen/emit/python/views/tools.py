"""Views of the client of a server's own tools."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_bindgen.emit.python.expressions import Expression
from mcp_bindgen.emit.python.views.models import Alias, Class
from mcp_bindgen.emit.python.views.stubs import Argument, Signature
from mcp_bindgen.ir.nodes import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: its record in the client, and the method that calls it.

    Attributes:
        name: its name on the server.
        method: the method.
        record: the name of the record.
        signature: how the method is called.
        arguments: the arguments that it sends: the fields of their model, each with its parameter.
        whole: the type of the one parameter that takes all arguments, if there are no keyword parameters.
        input: the type of its arguments; None if they have no type.
        output: the type of its structured content; None if it declares none.
        data: the type of the data of its result.
        is_bare: whether structured content is a value other than an object.
        wrapped: the property that contains the data, if the server wraps values other than objects; otherwise empty.
        input_schema: the JSON Schema that checks the arguments, where the types are not exact; otherwise empty.
        output_schema: the same for the structured content.
        digests: what callers rely on, hashed, by property.
        hints: the annotations that the server states, by their names in Python.
        task: whether a call may run as a task: ``required``, ``optional``, or empty if not.
        is_gated: whether the server shows it only to clients that declare capabilities.
        doc: its documentation.
    """

    name: str
    method: str
    record: str
    signature: Signature
    arguments: tuple[Argument, ...]
    whole: Expression | None
    input: Expression | None
    output: Expression | None
    data: Expression
    is_bare: bool
    wrapped: str
    input_schema: str
    output_schema: str
    digests: Mapping[str, str]
    hints: Mapping[str, bool]
    task: str
    is_gated: bool
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolClient:
    """The client of the tools of one server.

    Attributes:
        name: the class.
        server: the name and version of the server.
        definitions: the models of arguments and structured content, each after those that it needs.
        defaults: what the constructors of models fill in: constants by field, by model.
        tools: the tools, by name.
        exports: what the module exports.
    """

    name: str
    server: str
    definitions: tuple[Class | Alias, ...]
    defaults: Mapping[str, Mapping[str, Scalar]]
    tools: tuple[Tool, ...]
    exports: tuple[str, ...]

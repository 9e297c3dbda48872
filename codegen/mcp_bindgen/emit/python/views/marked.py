"""Views of stubs in which everything that a later revision changes is marked as deprecated."""

from dataclasses import dataclass

from mcp_bindgen.emit.python.expressions import Expression
from mcp_bindgen.emit.python.views.models import Alias, Class, Field
from mcp_bindgen.emit.python.views.stubs import Function, Ordered, Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Way(Ordered):
    """One way to call a marked function.

    Attributes:
        parameters: its parameters.
        result: the type that it returns.
        notice: what changes for code that calls it this way; empty if nothing does.
    """

    parameters: tuple[Parameter, ...]
    result: Expression
    notice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedField:
    """A field of a model in a stub.

    Attributes:
        name: its name in Python.
        type: its type.
        field: the field; None for that which contains the properties that the model does not declare.
        is_property: whether it is declared as a property, so that reading and setting it can be marked.
        read: what changes for code that reads it; empty if nothing does.
        write: what changes for code that sets it; empty if nothing does.
    """

    name: str
    type: Expression
    field: Field | None
    is_property: bool
    read: str
    write: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedClass:
    """A model in a stub.

    Attributes:
        name: its name in Python.
        view: the model.
        notice: what changes for code that names it; empty if nothing does.
        fields: the fields that the stub declares.
        constructors: the ways to call its constructor, in the order in which a type checker tries them.
        kind: ``class``.
    """

    name: str
    view: Class
    notice: str
    fields: tuple[MarkedField, ...]
    constructors: tuple[Way, ...]
    kind: str = "class"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedModule:
    """A module of models in a stub.

    Attributes:
        name: its name, such as ``tools``.
        definitions: its classes and aliases.
    """

    name: str
    definitions: tuple[MarkedClass | Alias, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFunction:
    """A method of a stub or a handler.

    Attributes:
        name: its name.
        function: the method.
        ways: the ways to call it, in the order in which a type checker tries them.
        notice: what changes for code that calls a handler; empty if nothing does.
        is_removed: whether a handler is gone, so that overriding it is an error.
    """

    name: str
    function: Function
    ways: tuple[Way, ...]
    notice: str
    is_removed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedSide:
    """One side of a conversation.

    Attributes:
        is_client: whether it is the client's side.
        calls: what it sends.
        handlers: what it answers.
    """

    is_client: bool
    calls: tuple[MarkedFunction, ...]
    handlers: tuple[MarkedFunction, ...]

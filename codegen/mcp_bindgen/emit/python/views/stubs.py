"""Views of the stubs and handlers: what each side calls and answers."""

from dataclasses import dataclass

from mcp_bindgen.emit.python.expressions import Expression
from mcp_bindgen.ir.history import Lifetime
from mcp_bindgen.ir.nodes import TypeRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a function.

    Attributes:
        name: its name.
        field: the name of the field of the params that it fills; empty for parameters that the stubs add.
        type: its type.
        schema_type: its type in the protocol, a node of the intermediate representation; None outside the protocol.
        default: its default; None if it must be passed.
        doc: the documentation of the field; may be empty.
        is_positional: whether it may be passed without its name.
    """

    name: str
    field: str = ""
    type: Expression
    schema_type: TypeRef | None = None
    default: Expression | None = None
    doc: str = ""
    is_positional: bool = False


class Ordered:
    """What has parameters, those that may be passed by position first."""

    __slots__ = ()
    parameters: tuple[Parameter, ...]

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """The parameters that may be passed by position."""
        return tuple(each for each in self.parameters if each.is_positional)

    @property
    def keywords(self) -> tuple[Parameter, ...]:
        """The parameters that must be passed by name."""
        return tuple(each for each in self.parameters if not each.is_positional)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature(Ordered):
    """One way to call a function.

    Attributes:
        parameters: its parameters, those that must be passed first.
        result: the type that it returns.
        schema_result: the same in the protocol, a node of the intermediate representation: for an iterator that of a
            page's items, None if the message has no answer or the caller says what it expects.
        takes_any: whether it takes any other keyword argument as well; its overloads say which.
    """

    parameters: tuple[Parameter, ...]
    result: Expression
    schema_result: TypeRef | None = None
    takes_any: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A keyword argument: ``{{ name }}={{ value }}``.

    Attributes:
        name: the keyword.
        value: the name of the variable that holds the value.
    """

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How a stub creates the params of its message from its arguments.

    Attributes:
        name: the class of the params.
        arguments: the arguments of its constructor, without the metadata.
        meta_field: the field of the metadata; empty if the params have none.
        required_meta: the class of the metadata, if every message must have it; otherwise empty.
    """

    name: str
    arguments: tuple[Argument, ...]
    meta_field: str
    required_meta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A method of a stub, which sends one message of the protocol, or of a handler, which answers it.

    Attributes:
        kind: ``request``, ``notification``, ``pages`` (an iterator over all pages of a request) or ``handler``.
        name: its name.
        method: the method of the protocol.
        record: the name of the record of that method in ``methods.py``.
        signature: its signature, which covers all overloads.
        overloads: the ways to call it, if there are several.
        params: how the params are created; None for a message without params, or whose params are passed unchanged.
        is_union: whether the params are a union, so that any of the arguments of its members may be passed.
        renamed: arguments of a union whose names differ from those of the fields.
        created: the class of the result if the request asks for a task; otherwise empty.
        task: the parameter that asks for a task; may be empty.
        is_payload: whether the caller passes the type of the result.
        items: the field of the result with the items of a page (``pages`` only).
        page: the class of the result (``pages`` only).
        request: the stub that gets one page (``pages`` only).
        forwarded: what the iterator passes on for every page (``pages`` only).
        is_request: whether the message expects an answer.
        doc: the documentation of the message.
        is_deprecated: whether this revision deprecates the method.
        history: since when the method exists (empty in the oldest revision), until when, and what replaces it.
    """

    kind: str
    name: str
    method: str
    record: str
    signature: Signature
    overloads: tuple[Signature, ...] = ()
    params: Params | None = None
    is_union: bool = False
    renamed: tuple[Argument, ...] = ()
    created: str = ""
    task: str = ""
    is_payload: bool = False
    items: str = ""
    page: Expression | None = None
    request: str = ""
    forwarded: tuple[Argument, ...] = ()
    is_request: bool
    doc: str
    is_deprecated: bool
    history: Lifetime

    @property
    def documented(self) -> tuple[Parameter, ...]:
        """The parameters that have documentation, those of all overloads once each."""
        ways = (self.signature, *self.overloads)
        found = {parameter.name: parameter for way in ways for parameter in way.parameters if parameter.doc}
        return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a conversation.

    Attributes:
        calls: what it sends: requests, iterators over their pages, notifications.
        handlers: what it answers.
    """

    calls: tuple[Function, ...]
    handlers: tuple[Function, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decorator:
    """A decorator that makes a function part of a server.

    Attributes:
        name: what the function becomes: ``tool``, ``resource`` or ``prompt``.
        parameters: its parameters, the name or the URI first.
    """

    name: str
    parameters: tuple[Parameter, ...]

"""Views of what is a table in the protocol, and of data."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_bindgen.emit.python.expressions import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The record of one method of the protocol.

    Attributes:
        name: the name of the record, such as ``TOOLS_CALL``.
        method: the method, such as ``tools/call``.
        message: the definition of its message in the schema.
        direction: its direction: ``CLIENT_TO_SERVER``, ``SERVER_TO_CLIENT``, ``BOTH`` or ``EMBEDDED``.
        params: the class of its params; None if the schema gives it none.
        params_required: whether the message must have params.
        result: the class of its result; None for a notification.
        alternatives: the other results that its request may get.
        tags: the tag of each result, that of `result` first; empty if results have no tags.
        flags: its flags: ``paginated``, ``cacheable``, ``task_augmentable``, ``multi_round_trip``,
            ``payload``, ``deprecated``.
        capability: the path of the capability that it needs; empty if none.
        gated: the properties of its params that need a capability, each with its path.
        doc: the documentation of its message.
        named: the property of its params that is repeated in the header ``Mcp-Name``; empty if none is stated.
    """

    name: str
    method: str
    message: str
    direction: str
    params: Expression | None
    params_required: bool
    result: Expression | None
    alternatives: tuple[Expression, ...]
    tags: tuple[str, ...]
    flags: tuple[str, ...]
    capability: str
    gated: Mapping[str, str]
    doc: str
    named: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """The methods that one side may send.

    Attributes:
        client_requests: the requests of a client.
        server_requests: the requests of a server.
        embedded_requests: the requests that a server puts into a result.
        client_notifications: the notifications of a client.
        server_notifications: the notifications of a server.
    """

    client_requests: tuple[str, ...]
    server_requests: tuple[str, ...]
    embedded_requests: tuple[str, ...]
    client_notifications: tuple[str, ...]
    server_notifications: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A constant of the protocol.

    Attributes:
        name: its name in Python.
        value: its value.
        doc: its documentation; may be empty.
    """

    name: str
    value: str | int | float | bool | None
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """The exception for an error code.

    Attributes:
        name: its name.
        code: the error code.
        doc: its documentation.
    """

    name: str
    code: int
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A constructor call in a table of data.

    Attributes:
        name: the class.
        arguments: the arguments by name, without those equal to their defaults.
    """

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """The conversions between two neighbouring revisions.

    Attributes:
        old: the older revision.
        new: the newer revision.
        module: the module that contains them.
        table: the conversions.
    """

    old: str
    new: str
    module: str
    table: Call

"""Python names for the names in a schema: deterministic, valid, and as close to the original as possible."""

import keyword
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.names import unique
from mcp_bindgen.ir.nodes import Protocol, Struct

RESERVED_CLASSES = frozenset(
    "Client ClientContext ClientHandlers ClientMixin ConnectedClient Context Server ServerMixin METHODS BINDING"
    " EXTENSION REVISION".split()
)
"""Names that every generated package defines itself."""

RESERVED_RECORDS = frozenset(
    "CLIENT_NOTIFICATIONS CLIENT_REQUESTS EMBEDDED_REQUESTS METHODS SERVER_NOTIFICATIONS SERVER_REQUESTS".split()
)
"""Names that every generated methods.py defines itself."""
RESERVED_STUBS = frozenset(
    "call capabilities connected connection has implemented listen notifications open options set_roots"
    " with_options".split()
)
"""Names that the bases of generated stubs and handlers define themselves."""
MAX_LENGTH = 200
"""The maximum length of a name in the schema that becomes one in Python: it may also name a file."""

_DEFINITION = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[._$-][A-Za-z0-9]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")


def snake(name: str) -> str:
    """Convert a name to snake case: ``mimeType`` gives ``mime_type``, ``URLElicitation`` gives ``url_elicitation``."""
    return _NOT_WORD.sub("_", _CAMEL.sub("_", name)).strip("_").lower()


def default_wire_name(attribute: str) -> str:
    """Return the wire name that the models derive from an attribute (mcp_runtime.core.model.wire_name)."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)


def camel(name: str) -> str:
    """Convert words to camel case: ``PARSE_ERROR`` gives ``ParseError``."""
    return "".join(word[:1].upper() + word[1:].lower() for word in _NOT_WORD.split(name))


def shouting(name: str) -> str:
    """Convert a name to that of a constant: ``tools/call`` gives ``TOOLS_CALL``."""
    return identifier(snake(name)).upper()


def identifier(name: str) -> str:
    """Turn what is left of a name into a valid identifier that is not a keyword."""
    name = name or "member"
    name = f"n{name}" if name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name


@cache
def model_attributes() -> frozenset[str]:
    """Return the attribute names of the model bases, which no field may have."""
    from pydantic import BaseModel

    return frozenset((*dir(BaseModel), "unusable"))


def attribute_names(wire_names: Iterable[str]) -> dict[str, str]:
    """Name the attributes of a model: in snake case, without the prefix of a metadata key.

    A name that the model base uses gets an underscore, and a name that is taken gets a number, in the order of the
    fields. Names that need no change go first: constructors accept both spellings, so no attribute may be another's
    wire name.
    """
    return numbered({wire_name: _attribute(wire_name) for wire_name in wire_names})


def numbered(wanted: Mapping[str, str], avoided: Collection[str] = ()) -> dict[str, str]:
    """Return unique names, numbered if they are taken; unchanged ones go first.

    Args:
        wanted: the preferred name of each thing.
        avoided: names that only a thing with exactly this original name may have.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for thing, name in sorted(wanted.items(), key=lambda pair: pair[0] != pair[1]):
        free, number = name, 2
        while free in taken or (free != thing and free in avoided):
            free, number = f"{name}_{number}", number + 1
        taken.add(free)
        found[thing] = free
    return {thing: found[thing] for thing in wanted}


def _claim(owners: dict[str, str], spelled: str, name: str, where: Location, diagnostics: Diagnostics) -> None:
    """Claim a Python name for a name in the schema, unless it is taken."""
    if spelled in owners:
        diagnostics.error(where, f"{name} and {owners[spelled]} would both be called {spelled} in Python; rename one")
    owners.setdefault(spelled, name)


def _class_name(name: str) -> str:
    """Turn what is left of a name into the name of a class: ``Record<string,string>`` gives ``RecordStringString``."""
    words = "".join(word[:1].upper() + word[1:] for word in _NOT_WORD.split(name[:MAX_LENGTH]))
    spelled = f"Definition{words}" if not words or words[0].isdigit() else words
    return f"{spelled}_" if keyword.iskeyword(spelled) or spelled in RESERVED_CLASSES else spelled


def _attribute(wire_name: str) -> str:
    name = identifier(snake(wire_name.rpartition("/")[2] or wire_name))
    return f"{name}_" if name in model_attributes() else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """How fields are named.

    Attributes:
        attributes: names the attributes of a model after its properties.
        wire_name: returns the property of an attribute without an alias.
    """

    attributes: Callable[[Iterable[str]], Mapping[str, str]]
    wire_name: Callable[[str], str]


SNAKE_CASE = Convention(attributes=attribute_names, wire_name=default_wire_name)


class Names:
    """The Python names of one protocol; changed names are reported."""

    def __init__(
        self, protocol: Protocol, source: str, diagnostics: Diagnostics, convention: Convention = SNAKE_CASE
    ) -> None:
        self._convention = convention
        self._attributes: dict[str, Mapping[str, str]] = {}
        self.classes: dict[str, str] = {}
        self.records: dict[str, str] = {}
        self.stubs: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        owners: dict[str, str] = {}
        for name in protocol.definitions:
            where = Location(source=source, pointer=f"/{name}")
            spelled = _class_name(name)
            if not _DEFINITION.fullmatch(name) or len(name) > MAX_LENGTH:
                spelled = unique(spelled, {*owners, *protocol.definitions})
            if spelled not in owners and spelled != name:
                diagnostics.warning(where, f"{name[:80]} is named {spelled} in Python")
            _claim(owners, spelled, name, where, diagnostics)
            self.classes[name] = spelled
        for constant in protocol.constants:
            spelled = identifier(_NOT_WORD.sub("_", constant.name).strip("_"))
            spelled = f"{spelled}_" if spelled in RESERVED_CLASSES else spelled
            where = Location(source=source, pointer=f"/{constant.name}")
            _claim(owners, spelled, constant.name, where, diagnostics)
            self.constants[constant.name] = spelled
        if not diagnostics.errors:
            self._name_methods(protocol, source, diagnostics)
        for struct in protocol.structs():
            self._attributes[struct.name] = self._members(struct, source, diagnostics)

    def _name_methods(self, protocol: Protocol, source: str, diagnostics: Diagnostics) -> None:
        """Name the record of each method, and its Python method, after its message without the kind.

        A method whose message is inline, or has other methods too, gives its own name. The Python methods for a
        notification have a prefix: ``notify_`` to send it, ``on_`` to handle it.
        """
        records: dict[str, str] = {}
        stubs: dict[str, str] = {}
        shared = Counter(method.message for method in protocol.methods)
        for method in protocol.methods:
            where = Location(source=source, pointer=f"/{method.message}")
            if len(method.name) > MAX_LENGTH:
                diagnostics.error(where, f"the method {method.name[:80]!r}... has a name too long for Python")
                continue
            record = shouting(method.name)
            while record in RESERVED_RECORDS or record in self.classes.values():
                record += "_"
            _claim(records, record, method.name, where, diagnostics)
            self.records[method.name] = record
            suffix = "Request" if method.is_request else "Notification"
            message = protocol.definitions[method.message]
            is_own = shared[method.message] == 1 and not (isinstance(message, Struct) and message.holder)
            stub = self.classes[method.message].removesuffix(suffix) if is_own else _NOT_WORD.sub("_", method.name)
            stub = identifier(snake(stub))
            stub = f"{stub}_" if stub in RESERVED_STUBS else stub
            for spelled in (stub,) if method.is_request else (f"notify_{stub}", f"on_{stub}"):
                _claim(stubs, spelled, method.name, where, diagnostics)
            self.stubs[method.name] = stub

    def _members(self, struct: Struct, source: str, diagnostics: Diagnostics) -> Mapping[str, str]:
        names = self._convention.attributes(field.wire_name for field in struct.fields)
        for wire_name, name in names.items():
            if name.endswith("_") or re.fullmatch(r".*_\d+", name):
                if name == snake(wire_name):
                    continue
                where = Location(source=source, pointer=f"/{struct.name}").child("properties", wire_name)
                diagnostics.note(where, f"{wire_name!r} is named {name} in Python")
        return names

    def attribute(self, struct: Struct, wire_name: str) -> str:
        """Return the attribute of a property."""
        return self._attributes[struct.name][wire_name]

    def needs_alias(self, struct: Struct, wire_name: str) -> bool:
        """Whether the wire name of a property cannot be derived from its attribute."""
        return self._convention.wire_name(self.attribute(struct, wire_name)) != wire_name

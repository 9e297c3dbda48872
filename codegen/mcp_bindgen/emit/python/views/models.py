"""Views of the modules of models."""

from dataclasses import dataclass

from mcp_bindgen.emit.python.expressions import Expression
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.history import Lifetime
from mcp_bindgen.ir.nodes import TypeRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a model.

    Attributes:
        name: its name in Python.
        wire_name: the name of the property on the wire.
        type: its type in Python, including ``None`` or ``Absent`` if the property may be absent.
        plain: the type without what only validation needs, and without ``None`` or ``Absent``.
        schema_type: its type in the protocol, a node of the intermediate representation.
        default: what the constructor fills in; None if the field must be passed.
        is_required: whether the property must be on the wire.
        is_constant: whether the schema allows only one value.
        is_defaulted: whether the property is required, although the specification states what its absence means.
        is_schema: whether it is an object that is a JSON Schema, which the constructor also takes as a mapping.
        is_nullable: whether null is a valid value, so that `ABSENT` means absence.
        needs_alias: whether the wire name cannot be derived from the name.
        is_forward: whether the type names something that the module defines further down.
        doc: its documentation; may be empty.
        is_deprecated: whether this revision deprecates it.
        history: since when it exists, and until when, where that is not as for its class.
        where: its place in the schema: `source`, `line`, `column` and `pointer`; None if it is unknown.
    """

    name: str
    wire_name: str
    type: Expression
    plain: Expression
    schema_type: TypeRef
    default: Expression | None
    is_required: bool
    is_constant: bool
    is_defaulted: bool
    is_schema: bool
    is_nullable: bool
    needs_alias: bool
    is_forward: bool
    doc: str
    is_deprecated: bool
    history: Lifetime
    where: Location | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    """A model: an object type of the protocol.

    Attributes:
        name: its name in Python.
        definition: its name in the schema.
        bases: the models that it inherits from; empty if there is only the model base.
        doc: its documentation; may be empty.
        link: the page that specifies it; may be empty.
        is_deprecated: whether this revision deprecates it.
        history: since when it exists (empty in the oldest revision), until when, and what replaces it.
        where: its place in the schema, as that of a field.
        is_closed: whether the schema forbids properties that it does not declare.
        extra: the type of undeclared properties, if they have one; otherwise None.
        fields: the fields that it does not inherit, in the order of the schema.
        every_field: all fields, including inherited ones.
        takes_mappings: whether some field is a JSON Schema.
        binary: the name of the only field with base64-encoded bytes; may be empty.
        kind: ``class``.
    """

    name: str
    definition: str
    bases: tuple[Expression, ...]
    doc: str
    link: str
    is_deprecated: bool
    history: Lifetime
    where: Location | None
    is_closed: bool
    extra: Expression | None
    fields: tuple[Field, ...]
    every_field: tuple[Field, ...]
    takes_mappings: bool
    binary: str
    kind: str = "class"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Another name for a type: a union, a list, a scalar.

    Attributes:
        name: its name in Python.
        definition: its name in the schema.
        type: the aliased type.
        plain: the type without what only validation needs.
        schema_type: the same in the protocol, a node of the intermediate representation.
        is_forward: whether the type names something that the module defines further down, or itself.
        doc: its documentation; may be empty.
        link: the page that specifies it; may be empty.
        is_deprecated: whether this revision deprecates it.
        history: as that of a class.
        where: as that of a class.
        kind: ``alias``.
    """

    name: str
    definition: str
    type: Expression
    plain: Expression
    schema_type: TypeRef
    is_forward: bool
    doc: str
    link: str
    is_deprecated: bool
    history: Lifetime
    where: Location | None
    kind: str = "alias"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module of models.

    Attributes:
        name: its name, such as ``tools``.
        definitions: its classes and aliases, each after those that it needs.
    """

    name: str
    definitions: tuple[Class | Alias, ...]

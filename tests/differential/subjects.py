"""The two validators to compare: the generated models of a revision, and `jsonschema` with its schema."""

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, cast

from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from pydantic import ValidationError

from differential.instances import Instances
from differential.values import Json, Path
from mcp_bindgen.emit.json_schema import json_schema, reference
from mcp_bindgen.emit.python.names import Names
from mcp_bindgen.ingest.revisions import revision_folder
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Kind, ListOf, Literal, MapOf, Primitive, Ref, Struct, TypeRef, Union
from mcp_bindgen.load.protocol import load_released
from mcp_runtime.core.method import WireType

SEED = 20251125


class Judge:
    """Validates values against the definitions of one document with `jsonschema`."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        whole: Any = validator_for(document)(document)
        container = container_of(document)
        schemas = {name: {"$ref": reference(name).replace("$defs", container)} for name in document[container]}
        self._validators: dict[str, Validator] = {name: whole.evolve(schema=schema) for name, schema in schemas.items()}

    def has_definition(self, definition: str) -> bool:
        """Whether the document has the definition."""
        return definition in self._validators

    def accepts(self, definition: str, value: Json) -> bool:
        """Whether the value is an instance of the definition."""
        limit = sys.getrecursionlimit()
        # `jsonschema` uses about eight stack frames per container; values are up to 128 containers deep.
        sys.setrecursionlimit(10_000)
        try:
            return self._validators[definition].is_valid(value)
        finally:
            sys.setrecursionlimit(limit)


class Subject:
    """One revision: its IR, its generated types by the names of the schema, and the schema's verdict."""

    def __init__(self, revision: str) -> None:
        self.revision = revision
        self.protocol = load_released(revision)
        self.schema = json_schema(self.protocol)
        self.judge = Judge(self.schema)
        package = f"mcp_bindings.{revision_folder(revision)}"
        names = Names(self.protocol, revision, Diagnostics()).classes
        self._types: dict[str, WireType[Any]] = {name: WireType(package, names[name]) for name in names}

    def instances(self, purpose: str) -> Instances:
        """Return a maker of cases: the same cases for the same purpose, in every run."""
        return Instances(self.protocol, Random(f"{SEED} {self.revision} {purpose}"))

    def type(self, definition: str) -> WireType[Any]:
        """Return the generated type of a definition."""
        return self._types[definition]

    def decode(self, definition: str, text: str) -> Any:
        """Read JSON as the generated type; return `REFUSED` if the type refuses it."""
        try:
            return self._types[definition].decode(text.encode())
        except ValidationError:
            return REFUSED

    def admits_integer(self, definition: str, path: Path) -> bool:
        """Whether the definition allows an integer at the path."""
        types = list(self._readings(Ref(name=definition)))
        for token in path:
            types = [reading for type_ in types for inner in _inner(type_, token) for reading in self._readings(inner)]
        return any(_is_integer(type_) for type_ in types)

    def _readings(self, type_: TypeRef) -> Iterator[TypeRef | Struct]:
        target = self.protocol.resolve(type_)
        if isinstance(target, Union):
            for member in target.members:
                yield from self._readings(member)
        else:
            yield target


@cache
def subject(revision: str) -> Subject:
    """Return the subject of a revision; it is cached."""
    return Subject(revision)


def container_of(document: Mapping[str, Any]) -> str:
    """Return the property of a schema document that contains its definitions; it depends on the draft."""
    return "$defs" if "$defs" in document else "definitions"


REFUSED = object()
"""What `Subject.decode` returns for a value that the model refuses."""


def _inner(type_: TypeRef | Struct, token: str | int) -> Iterator[TypeRef]:
    if isinstance(type_, ListOf) and isinstance(token, int):
        yield type_.item
    elif isinstance(type_, MapOf):
        yield type_.value
    elif isinstance(type_, Struct):
        field = type_.field(cast(str, token))
        member = field.type if field else type_.extra
        if member is not None:
            yield member


def _is_integer(type_: TypeRef | Struct) -> bool:
    if isinstance(type_, Literal):
        return any(isinstance(value, int) and not isinstance(value, bool) for value in type_.values)
    return isinstance(type_, Primitive) and type_.kind is Kind.INTEGER

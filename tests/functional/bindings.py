"""The committed bindings for the functional tests: packages, protocols and models by revision."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from functional.minimal import minimal, minimal_definition
from mcp_bindgen.ir.nodes import Ref, Struct
from mcp_bindgen.load.protocol import load_released
from mcp_runtime.core.method import AnyMethod, Method, RequestMethod
from mcp_runtime.core.model import WireModel

REQUEST_META = "RequestMetaObject"


@cache
def package(revision: str) -> ModuleType:
    """Import the generated package of a revision."""
    return import_module(f"mcp_bindings.v{revision.replace('-', '_')}")


def exports(revision: str) -> list[str]:
    """Return the public names of a revision."""
    return [name for name in dir(package(revision)) if not name.startswith("_")]


def models(revision: str) -> Iterator[tuple[str, type[WireModel]]]:
    """Iterate over the model classes of a revision by the names of their definitions."""
    for struct in load_released(revision).structs():
        yield struct.name, getattr(package(revision), struct.name)


def sample(revision: str, definition: str) -> Any:
    """Return the smallest JSON value of a definition."""
    protocol = load_released(revision)
    return minimal_definition(protocol, protocol.definitions[definition])


def full(revision: str, definition: str) -> Any:
    """Return a JSON value of a definition with every declared property, and one that is not declared."""
    protocol = load_released(revision)
    target = protocol.definitions[definition]
    if not isinstance(target, Struct):
        return minimal(protocol, Ref(name=definition))
    return {field.wire_name: minimal(protocol, field.type) for field in target.fields} | {"x-unknown": [1, {"y": None}]}


def request_meta(revision: str) -> dict[str, Any]:
    """Return the `_meta` that every request of a revision must have."""
    return sample(revision, REQUEST_META) if REQUEST_META in load_released(revision).definitions else {}


def python_name(method: Method[Any]) -> str:
    """Return the expected stub name for a method: the name of its message in snake case, without the kind."""
    words = re.findall(r"[A-Z][a-z]*", re.sub(r"(Request|Notification)$", "", method.message))
    return "_".join(words).lower()


def methods_of(revision: str) -> Mapping[str, AnyMethod]:
    """Return the methods of a revision by name."""
    methods: Mapping[str, AnyMethod] = package(revision).METHODS
    return methods


def requests_of(revision: str) -> list[RequestMethod[Any, Any]]:
    """Return the methods of a revision that expect a response."""
    return [method for method in methods_of(revision).values() if isinstance(method, RequestMethod)]


def public(class_: Any) -> dict[str, Any]:
    """Return the public attributes of a class, by name."""
    members: dict[str, Any] = class_.__dict__
    return {name: member for name, member in members.items() if not name.startswith("_")}

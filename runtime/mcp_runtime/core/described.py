"""The documentation of a model: its fields, its JSON Schema as `model_json_schema()` returns it, and its signature.

The JSON Schema has descriptions, and no absence defaults. Imported only when a program asks for one of them.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

_NO_DEFAULT = object()


def described(
    model: type[BaseModel], schema: CoreSchema, handler: GetJsonSchemaHandler, absent: tuple[object, ...]
) -> JsonSchemaValue:
    """Return the JSON Schema of a model, with field docstrings as descriptions.

    Args:
        model: the model class.
        schema: its core schema.
        handler: pydantic's JSON Schema handler.
        absent: the defaults that mean absence.
    """
    made = handler(_without_absent_defaults(schema, absent))
    whole = handler.resolve_ref_schema(made)
    if "description" in whole:  # The properties describe themselves.
        whole["description"] = whole["description"].removesuffix(_attributes(model))
    for name, field in documented(model).items():
        stated = whole.get("properties", {}).get(field.alias or name)
        if stated is not None and field.description is not None:
            stated.setdefault("description", field.description)
    return made


def documented(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by name, with their docstrings as descriptions where they have none."""
    fields = model.__pydantic_fields__
    classes = [cls for cls in reversed(model.__mro__) if vars(cls).get("__pydantic_fields__")]
    docs = {name: doc for cls in classes for name, doc in field_docs(cls).items()}
    for name, field in fields.items():
        if field.description is None:
            field.description = docs.get(name)
    return fields


def docstring(model: type[BaseModel]) -> str | None:
    """Return the docstring of a model, followed by those of its fields."""
    own: str | None = vars(model).get("__doc__")
    return own and inspect.cleandoc(own) + _attributes(model)


def _attributes(model: type[BaseModel]) -> str:
    stated = ((name, field.description) for name, field in documented(model).items() if field.description)
    docs = [textwrap.indent(f"{name}: {doc}", " " * 8)[4:] for name, doc in stated]
    return "\n".join(["\n\nAttributes:", *docs]) if docs else ""


def signature(model: type[BaseModel]) -> inspect.Signature:
    """Return the signature of a model's constructor: the names of its fields in Python, and plain types."""
    model.model_rebuild(raise_errors=False)

    def plain() -> None: ...

    plain.__annotations__ = {name: field.annotation for name, field in model.__pydantic_fields__.items()}
    types = get_type_hints(plain)  # without the inside of Annotated
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.is_required() else field.get_default(),
            annotation=types[name],
        )
        for name, field in model.__pydantic_fields__.items()
    ]
    if model.model_config.get("extra") == "allow":
        rest = "properties" + "_" * ("properties" in types)
        parameters.append(inspect.Parameter(rest, inspect.Parameter.VAR_KEYWORD, annotation=Any))
    return inspect.Signature(parameters, return_annotation=None)


def _without_absent_defaults(schema: Any, absent: tuple[object, ...]) -> Any:
    """Return the core schema of a model without defaults that mean absence, since they are not JSON values."""
    if schema["type"] != "model-fields":
        inner = {"schema": _without_absent_defaults(schema["schema"], absent)} if "schema" in schema else {}
        return {**schema, **inner}
    fields = schema["fields"].items()
    return {**schema, "fields": {n: {**f, "schema": _without_absence(f["schema"], absent)} for n, f in fields}}


def _without_absence(schema: Mapping[str, Any], absent: tuple[object, ...]) -> Mapping[str, Any]:
    if schema["type"] != "default" or schema.get("default", _NO_DEFAULT) not in absent:
        return schema
    return {name: part for name, part in schema.items() if name != "default"}


@lru_cache(4096)
def field_docs(cls: type) -> Mapping[str, str]:
    """Return the docstrings of the fields a class declares, by name; empty if its source is not available."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    body = cast(ast.ClassDef, ast.parse(source).body[0]).body
    return dict(_pairs(body))


def _pairs(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement, following in pairwise(body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                yield name, inspect.cleandoc(doc)
            case _:
                pass

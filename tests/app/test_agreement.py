"""A function is called exactly for the arguments that its JSON Schema accepts, for any kind of signature."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_jsonable_python

from mcp_runtime.app.functions import Function
from mcp_runtime.core.json.values import is_array, is_object


class Leaf(BaseModel):
    number: int
    text: str = "x"


class Tree(BaseModel):
    name: str
    leaves: list[Leaf] = []
    inner: "Tree | None" = None


SCALARS = [str, int, float, bool, None, Any, Leaf, Tree, Literal["a", "b"], Literal[1, 2, "c"], Literal[True]]
BOUNDED = [
    Annotated[int, Field(ge=0, lt=5)],
    Annotated[str, Field(min_length=1, max_length=3)],
    Annotated[float, Field(gt=-1, le=1.5)],
    Annotated[list[int], Field(max_length=2)],
    Annotated[int, Field(multiple_of=3)],
]
TYPES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([*SCALARS, *BOUNDED]),
    lambda inner: st.one_of(
        inner.map(lambda type_: list[type_]),  # type: ignore[valid-type]
        inner.map(lambda type_: dict[str, type_]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1] if pair[0] is not pair[1] else pair[0]),
        st.tuples(inner, inner).map(lambda pair: tuple[pair[0], pair[1]]),  # type: ignore[valid-type]
        st.sampled_from([int, str]).map(lambda type_: set[type_]),  # type: ignore[valid-type]
    ),
    max_leaves=4,
)
NUMBERS = st.one_of(st.integers(-5, 5), st.integers(), st.floats(-3, 3).map(float), st.integers(-5, 5).map(float))
SMALL: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), NUMBERS, st.sampled_from(["a", "b", "c", "", "1", "true", "long enough"])
)
NAMES = st.sampled_from(["number", "text", "name", "leaves", "inner", "a", "other"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SMALL,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


def function_of(types: list[Any], defaulted: bool) -> Function:
    names = [f"p{number}" for number in range(len(types))]
    scope: dict[str, Any] = {}
    exec(f"def f({', '.join(f'{name}=None' if defaulted else name for name in names)}): return locals()", scope)
    scope["f"].__annotations__ = dict(zip(names, types, strict=True))
    return Function(scope["f"], "tool", None)


@pytest.mark.parametrize("examples", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_the_schema_and_the_function_agree(examples: int) -> None:
    check = given(st.lists(TYPES, max_size=3), st.booleans(), st.data())(agree)
    settings(max_examples=examples)(check)()


def agree(types: list[Any], defaulted: bool, data: st.DataObject) -> None:
    function = function_of(types, defaulted)
    schema = function.schema
    Draft202012Validator.check_schema(schema)
    assert all(ref.startswith("#/$defs/") for ref in refs(schema))
    given = data.draw(near(schema, schema.get("$defs", {})), label="arguments")
    if not is_object(given):
        return
    validator: Any = Draft202012Validator(schema)
    valid = validator.is_valid(given)
    try:
        values = function.arguments.read(given)
    except ValidationError:
        assert not valid, (schema, given)
        return
    assert valid, (schema, given)
    assert values.keys() == {parameter.name for parameter in function.parameters}
    for name, value in values.items():
        if name in given:
            encoded = to_jsonable_python(value)
            assert validator.is_valid({**given, name: encoded}), (schema, given, value)


@pytest.mark.parametrize(
    ("type_", "given", "whole"),
    [
        (int | Annotated[float, Field(gt=-1)], -1.0, -1),
        (Annotated[float, Field(gt=-1)] | int, -1.0, -1),
        (list[int] | Annotated[list[float], Field(max_length=1)], [1.0, 2.0], [1, 2]),
        (dict[str, int] | Annotated[dict[str, float], Field(max_length=1)], {"a": 1.0, "b": 2.0}, {"a": 1, "b": 2}),
        (tuple[int, int] | tuple[float, Annotated[float, Field(lt=2)]], [1.5, 1.0], (1.5, 1)),
    ],
)
def test_an_integer_fits_though_another_choice_refuses_it_as_a_number(type_: Any, given: Any, whole: Any) -> None:
    function = function_of([type_], defaulted=False)
    validator: Any = Draft202012Validator(function.schema)
    assert validator.is_valid({"p0": given})
    assert function.arguments.read({"p0": given}) == {"p0": whole}


def near(schema: Any, definitions: Any) -> st.SearchStrategy[Any]:
    """Return values that mostly match a schema, with mismatches in any place."""
    return st.one_of(*[_fitting(schema, definitions)] * 6, st.deferred(lambda: VALUES))


def _fitting(schema: Any, definitions: Any) -> st.SearchStrategy[Any]:
    match schema:
        case {"$ref": name}:
            return st.deferred(lambda: near(definitions[name.removeprefix("#/$defs/")], definitions))
        case {"anyOf": choices}:
            return st.one_of(*[near(choice, definitions) for choice in choices])
        case {"enum": values}:
            return st.sampled_from(values)
        case {"const": value}:
            return st.just(value)
        case {"type": "object", "properties": properties}:
            parts = {name: near(part, definitions) for name, part in properties.items()}
            required = {name: parts.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(required, optional=parts)
        case {"type": "object"}:
            return st.dictionaries(NAMES, near(schema.get("additionalProperties", {}), definitions), max_size=2)
        case {"type": "array", "prefixItems": items}:
            return st.tuples(*[near(item, definitions) for item in items]).map(list)
        case {"type": "array"}:
            return st.lists(near(schema.get("items", {}), definitions), max_size=3)
        case {"type": "integer" | "number"}:
            return NUMBERS
        case {"type": "string"}:
            return st.sampled_from(["a", "b", "", "long enough"])
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "null"}:
            return st.none()
        case _:
            return VALUES


def refs(schema: Any) -> list[str]:
    """Return all references in a schema."""
    if is_object(schema):
        own = [str(schema["$ref"])] if isinstance(schema.get("$ref"), str) else []
        return own + [ref for part in schema.values() for ref in refs(part)]
    return [ref for part in schema for ref in refs(part)] if is_array(schema) else []

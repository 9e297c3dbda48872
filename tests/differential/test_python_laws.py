"""Python operations preserve a model: copying, pickling, comparing, printing, and constructing it by hand."""

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from differential.instances import Case
from differential.subjects import REFUSED, Subject, subject
from differential.values import write
from mcp_runtime.core.model import WireModel
from support.samples import REVISIONS

pytestmark = [pytest.mark.differential, pytest.mark.parametrize("revision", REVISIONS)]

SHARE = 3
"""The other differential tests run this many times more cases."""
MAX_SHOWN = 10


def test_a_parsed_value_is_read_as_its_json_text_is(revision: str, cases: int) -> None:
    def from_text(tried: Subject, case: Case, model: Any) -> Any:
        text = json.dumps(case.value)
        if isinstance(model, WireModel):
            return type(model).model_validate_json(text)
        adapter: TypeAdapter[Any] = TypeAdapter(tried.type(case.definition).load())
        return adapter.validate_json(text)

    _holds(revision, cases, from_text)


def test_a_deep_copy_is_equal(revision: str, cases: int) -> None:
    _holds(revision, cases, lambda _, __, model: copy.deepcopy(model))


def test_a_pickled_model_comes_back_equal(revision: str, cases: int) -> None:
    _holds(revision, cases, lambda _, __, model: pickle.loads(pickle.dumps(model)))


def test_two_readings_of_a_text_are_equal(revision: str, cases: int) -> None:
    def read_again(tried: Subject, case: Case, model: Any) -> Any:
        assert isinstance(repr(model), str)
        assert not isinstance(model, WireModel) or repr(model).startswith(f"{type(model).__name__}(")
        assert model != object()
        return tried.decode(case.definition, write(case.value, tried.instances("again").rng))

    _holds(revision, cases, read_again)


def test_the_method_of_a_model_writes_the_same_json(revision: str, cases: int) -> None:
    def same(tried: Subject, case: Case, model: Any) -> Any:
        if isinstance(model, WireModel):
            assert model.model_dump_json().encode() == tried.type(case.definition).encode(model)
            return type(model).model_validate_json(model.model_dump_json())
        return model

    _holds(revision, cases, same)


def test_the_constructor_rebuilds_a_model(revision: str, cases: int) -> None:
    _holds(revision, cases, lambda _, __, model: _rebuilt(model))


def test_the_constructor_accepts_wire_names(revision: str, cases: int) -> None:
    _holds(revision, cases, lambda _, __, model: _rebuilt(model, by_alias=True))


def _rebuilt(model: Any, *, by_alias: bool = False) -> Any:
    if not isinstance(model, WireModel):
        return model
    fields = type(model).model_fields
    names = {name: (field.alias if by_alias else None) or name for name, field in fields.items()}
    stated = {
        names[name]: getattr(model, name)
        for name in model.model_fields_set & fields.keys()
        if name not in type(model).__constants__
    }
    unknown = model.model_extra or {}
    if unknown.keys() & fields.keys():
        return model  # An unknown property of that name can only come from the wire.
    return type(model)(**stated, **unknown)


def _holds(revision: str, cases: int, law: Callable[[Subject, Case, Any], Any]) -> None:
    """Check that a law gives back an equal value, of the same type and with the same JSON, for every accepted case."""
    tried = subject(revision)
    broken: list[str] = []
    for case, model in _accepted(tried, cases):
        try:
            other = law(tried, case, model)
            wire = tried.type(case.definition)
            kept = type(other) is type(model) and other == model and wire.encode(other) == wire.encode(model)
        except Exception as error:
            kept, other = False, error
        if not kept:
            broken.append(f"{revision} {case.definition}: {model!r}\n  becomes {other!r}"[:1500])
    assert not broken, f"{len(broken)} cases\n" + "\n".join(broken[:MAX_SHOWN])


def _accepted(tried: Subject, cases: int) -> Iterator[tuple[Case, Any]]:
    rng = tried.instances("spelling").rng
    for case in tried.instances("laws").random(cases // SHARE):
        model = tried.decode(case.definition, write(case.value, rng))
        if model is not REFUSED:
            yield case, model

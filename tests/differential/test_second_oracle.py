"""The generated models against those of datamodel-code-generator for the same schema.

Where the two disagree, `ROWS` says why: each row changes the schema or the value so that the reason no longer
applies. A disagreement that the rows do not remove fails the test, and so does a row that removes none.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pytest
from datamodel_code_generator import InputFileType, LiteralType, generate
from datamodel_code_generator.enums import DataModelType, StrictTypes, TargetPydanticVersion
from pydantic import TypeAdapter, ValidationError

from differential.subjects import REFUSED, Subject, subject
from differential.values import Json, is_list, is_map, write
from support.samples import REVISIONS

pytestmark = [pytest.mark.differential, pytest.mark.slow]

MAX_SHOWN = 10


def _same(value: Json) -> Json:
    return value


def _without_formats(schema: Json) -> Json:
    if is_map(schema):
        return {k: _without_formats(v) for k, v in schema.items() if k != "format" or not isinstance(v, str)}
    return [_without_formats(item) for item in schema] if is_list(schema) else schema


def _whole_numbers_as_integers(value: Json) -> Json:
    if is_map(value):
        return {name: _whole_numbers_as_integers(inner) for name, inner in value.items()}
    if is_list(value):
        return [_whole_numbers_as_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A reason to disagree, and the change to the schema or to the value that removes it."""

    reason: str
    schema: Callable[[Json], Json] = _same
    value: Callable[[Json], Json] = _same


ROWS = (
    Row(
        reason="It asserts formats (uri, byte), which in JSON Schema are annotations: MCP's strings pass unchanged.",
        schema=_without_formats,
    ),
    Row(
        reason="Its strict integers refuse 1.0, which is an integer in JSON Schema.",
        value=_whole_numbers_as_integers,
    ),
)


@pytest.mark.parametrize("revision", REVISIONS)
def test_disagreements_with_the_other_generator_are_known(revision: str, cases: int, tmp_path: Path) -> None:
    tried = subject(revision)
    stages: list[_Stage] = []
    for count in range(len(ROWS) + 1):
        stages.append(_Stage(tried, ROWS[:count], tmp_path, stages[-1] if stages else None))
    disagreements: list[str] = []
    removed: Counter[str] = Counter()
    rng = tried.instances("spelling").rng
    maker = tried.instances("second oracle")
    for case in chain(maker.random(cases), maker.systematic()):
        text = write(case.value, rng)
        ours = tried.decode(case.definition, text) is not REFUSED
        agreed = (stage for stage in stages if stage.accepts(case.definition, case.value) == ours)
        stage = next(agreed, None)
        if stage is None:
            disagreements.append(f"{revision} {case.definition}: ours {'accepts' if ours else 'refuses'} {text[:1000]}")
        elif stage.rows:
            removed[stage.rows[-1].reason] += 1
    assert not disagreements, f"{len(disagreements)} disagreements\n" + "\n".join(disagreements[:MAX_SHOWN])
    assert [row.reason for row in ROWS if not removed[row.reason]] == [], "rows that never apply"


class _Stage:
    """The models of the other generator, with the reasons of some rows removed."""

    types: dict[str, TypeAdapter[Any]]

    def __init__(self, tried: Subject, rows: tuple[Row, ...], folder: Path, before: "_Stage | None") -> None:
        self.rows = rows
        schema: Json = tried.schema
        for row in rows:
            schema = row.schema(schema)
        self.schema = schema
        if before and before.schema == schema:  # the row changes only the value
            self.types = before.types
            return
        models = _generated(schema, folder / f"other_{tried.revision.replace('-', '_')}_{len(rows)}.py")
        self.types = {name: TypeAdapter(getattr(models, name)) for name in tried.protocol.definitions}

    def accepts(self, definition: str, value: Json) -> bool:
        for row in self.rows:
            value = row.value(value)
        try:
            self.types[definition].validate_json(json.dumps(value))
        except ValidationError:
            return False
        return True


def _generated(schema: Json, path: Path) -> Any:
    text = generate(
        schema,
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_pydantic_version=TargetPydanticVersion.V2_14,
        strict_types=list(StrictTypes),
        strict_nullable=True,
        use_missing_sentinel=True,
        field_constraints=True,
        enum_field_as_literal=LiteralType.All,
        extra_fields="allow",
        disable_timestamp=True,
        formatters=[],
    )
    path.write_text(cast(str, text), "utf-8")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module

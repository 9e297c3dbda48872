"""Shapes -> classes, by datamodel-code-generator (its `generate`, a documented API).

Its text is never inserted into a module. It is parsed, and every class is rebuilt from the few forms that are known
here; a form that is not known makes the shape one that cannot be typed. So nothing that comes from a schema can become
code, whatever the engine does with it. Shapes are given to it in batches, since a call has a price; a batch that fails
is halved until the one shape is found that it cannot do.
"""

import ast
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from mcp_bindgen.tools.rebuild import Class, Unknown, rebuild
from mcp_bindgen.tools.shape import NOT_NULL, Shape

BATCH = 50
"""How many shapes the engine is given at a time."""
MAX_BATCH_NODES = 4_000
"""How many classes a batch may have at most."""
BASE = "mcp_runtime.tools.ToolModel"


def classes_of(shapes: Sequence[Shape]) -> dict[str, tuple[Class, ...]]:
    """Return the classes of each shape by its name; what cannot be typed is not among them."""
    _config()  # An engine that is not there, or that has other options, is no matter of a schema.
    found: dict[str, tuple[Class, ...]] = {}
    owners: dict[str, Class] = {}
    for batch in _batches(shapes):
        for name, classes in _solve(batch).items():
            # Only within a batch does the engine see to it that names differ.
            if all(owners.setdefault(class_.name, class_) is class_ for class_ in classes):
                found[name] = classes
    return found


def _batches(shapes: Sequence[Shape]) -> Iterator[list[Shape]]:
    batch: list[Shape] = []
    size = 0
    for shape in shapes:
        weight = len(shape.definitions)
        if batch and (len(batch) >= BATCH or size + weight > MAX_BATCH_NODES):
            yield batch
            batch, size = [], 0
        batch.append(shape)
        size += weight
    if batch:
        yield batch


def _solve(batch: list[Shape]) -> dict[str, tuple[Class, ...]]:
    try:
        classes = _run({name: schema for shape in batch for name, schema in shape.definitions.items()})
        return {shape.name: _belonging(shape, classes) for shape in batch}
    except Exception:  # Whatever the engine raises on a stranger's schema, the other tools are not to suffer from it.
        if len(batch) == 1:
            return {}
        middle = len(batch) // 2
        return _solve(batch[:middle]) | _solve(batch[middle:])


def _belonging(shape: Shape, classes: dict[str, Class]) -> tuple[Class, ...]:
    """Return the class of a shape and all that it refers to, sorted by name, itself last."""
    waiting, found = [shape.name], dict[str, Class]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = classes[name]
            waiting += classes[name].refers
    return (*(found[name] for name in sorted(found) if name != shape.name), found[shape.name])


def _run(definitions: dict[str, Any]) -> dict[str, Class]:
    from datamodel_code_generator import generate

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = generate({"$defs": definitions}, config=_config())
    if not isinstance(text, str):
        raise Unknown("no module")
    return rebuild(ast.parse(text))


@cache
def _config() -> Any:
    from datamodel_code_generator import InputFileType, LiteralType
    from datamodel_code_generator.config import GenerateConfig
    from datamodel_code_generator.enums import DataModelType
    from datamodel_code_generator.format import PythonVersion

    GenerateConfig.model_rebuild()
    return GenerateConfig(
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        base_class=BASE,
        allow_remote_refs=False,
        collapse_root_models=True,
        disable_timestamp=True,
        enum_field_as_literal=LiteralType.All,
        field_constraints=True,
        field_extra_keys={NOT_NULL},
        formatters=[],
        parent_scoped_naming=True,
        skip_root_model=True,
        strict_nullable=True,
        use_annotated=True,
        use_standard_collections=True,
        use_standard_primitive_types=True,
        use_union_operator=True,
    )

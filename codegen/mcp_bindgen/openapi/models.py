"""Types by datamodel-code-generator: models of bodies and results, and the annotations of arguments.

It gets one bundle of reduced schemas, with an object for the arguments of each tool, and another one for the results.
Its output is parsed: the annotations of these objects become the signatures of tools, and the other classes are the
models. Nothing but models is accepted, so that text of a document that it would print as code cannot run.
"""

import ast
import json
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

from mcp_bindgen.ir.diagnostics import InputError, clip
from mcp_bindgen.openapi.document import Json
from mcp_bindgen.openapi.names import ANNOTATIONS, IMPORTED
from mcp_bindgen.openapi.operations import Operation
from mcp_bindgen.openapi.schemas import Schemas

EXTRA = "datamodel_code_generator"
_ROOT, _RESULTS = "InternalRoot", "InternalResults"


@dataclass(frozen=True, slots=True)
class Models:
    """The types of a module.

    Attributes:
        classes: the source of each model, in order.
        arguments: the annotations of the arguments, by tool and then by their names.
        results: the type that each tool returns.
        names: the names that all of it uses.
    """

    classes: list[str] = field(default_factory=list[str])
    arguments: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    results: dict[str, str] = field(default_factory=dict[str, str])
    names: set[str] = field(default_factory=set[str])


def make_models(operations: Sequence[Operation], schemas: Schemas) -> Models:
    """Return the types of operations.

    Raises:
        InputError: the generator of models is not installed, or cannot express a schema.
    """
    internal = {f"Internal{number}Arguments": each for number, each in enumerate(operations)}
    bundle: dict[str, Json] = {
        name: _object(
            {each.name: each.schema for each in one.arguments}, [each.name for each in one.arguments if each.required]
        )
        for name, one in internal.items()
    }
    results = {one.tool: one.result for one in operations if one.result is not None}
    bundle[_RESULTS] = _object(results, list(results))
    for name in sorted(schemas.used(list(bundle.values()))):
        bundle[name] = schemas.definitions[name]
    found = Models()
    known = IMPORTED | ANNOTATIONS | bundle.keys()
    for node in ast.parse(_generated(bundle)).body:
        if isinstance(node, ast.ImportFrom) or (isinstance(node, ast.ClassDef) and node.name == _ROOT):
            continue
        _refuse_code(node, known)
        parts: list[ast.AST] = [node]
        if isinstance(node, ast.ClassDef) and node.name in internal:
            one = internal[node.name]
            parts = _annotations(node)
            found.arguments[one.tool] = dict(zip((each.name for each in one.arguments), _spelled(parts), strict=True))
        elif isinstance(node, ast.ClassDef) and node.name == _RESULTS:
            parts = _annotations(node)
            found.results.update(zip(results, _spelled(parts), strict=True))
        elif isinstance(node, ast.Expr) and ast.unparse(node).startswith("Internal"):
            continue
        else:
            _share_base(node)
            found.classes.append(ast.unparse(node))
        found.names.update(each.id for part in parts for each in ast.walk(part) if isinstance(each, ast.Name))
    return found


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required}


def _annotations(node: ast.ClassDef) -> list[ast.AST]:
    return [each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]


def _spelled(parts: Iterable[ast.AST]) -> Iterator[str]:
    return map(ast.unparse, parts)


def _share_base(node: ast.stmt) -> None:
    """Give an open model the base that makes it one, in place of a configuration of its own."""
    match node:
        case ast.ClassDef(bases=[ast.Name(id="BaseModel")], body=body) if any(map(_is_open, body)):
            node.bases = [ast.Attribute(ast.Name("http"), "OpenModel")]
            node.body = [each for each in body if not _is_open(each)] or [ast.Pass()]
        case _:
            pass


def _is_open(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(
            value=ast.Call(
                keywords=[
                    ast.keyword(arg="extra", value=ast.Constant(value="allow")),
                    ast.keyword(arg="validate_by_name"),
                ]
            )
        ):
            return True
        case _:
            return False


def _refuse_code(node: ast.stmt, known: Collection[str]) -> None:
    """Refuse everything that is not a model.

    Raises:
        InputError: it is not.
    """
    match node:
        case ast.ClassDef(bases=[base], keywords=[], decorator_list=[], body=body):
            is_model = _is_type(base, known) and all(_is_part(each, known) for each in body)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr="model_rebuild"), args=[], keywords=[])):
            is_model = True
        case _:
            is_model = False
    if not is_model:
        raise InputError.at(EXTRA, f"it wrote something that is not a model: {clip(ast.unparse(node), 80)!r}")


def _is_part(node: ast.stmt, known: Collection[str]) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            return True
        case ast.AnnAssign(annotation=annotation, value=value):
            return _is_type(annotation, known) and (value is None or _is_value(value))
        case ast.Assign(targets=[ast.Name(id="model_config")], value=value):
            return _is_value(value)
        case _:
            return False


def _is_type(node: ast.expr, known: Collection[str]) -> bool:
    """Whether an expression is a type; a string is none, since it would be evaluated."""
    match node:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return name in known
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_type(left, known) and _is_type(right, known)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return _is_literal(inner)
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[first, *rest])):
            return _is_type(first, known) and all(map(_is_value, rest))
        case ast.Subscript(value=outer, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _is_type(outer, known) and all(_is_type(each, known) for each in parts)
        case _:
            return False


def _is_value(node: ast.expr) -> bool:
    match node:
        case ast.Name(id="MISSING"):
            return True
        case ast.Call(func=ast.Name(id="ConfigDict" | "Field"), args=[], keywords=keywords):
            return all(each.arg and _is_literal(each.value) for each in keywords)
        case _:
            return _is_literal(node)


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(map(_is_literal, parts))
        case _:
            return False


def _generated(bundle: dict[str, Json]) -> str:
    if find_spec(EXTRA) is None:
        raise InputError.at(EXTRA, "not installed; run `pip install 'mcp-bindgen[openapi]'`")
    from datamodel_code_generator import generate
    from datamodel_code_generator.enums import DataModelType, InputFileType
    from datamodel_code_generator.format import PythonVersion
    from datamodel_code_generator.parser import LiteralType

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = generate(
            json.dumps({"$defs": bundle}),
            class_name=_ROOT,
            input_file_type=InputFileType.JsonSchema,
            output_model_type=DataModelType.PydanticV2BaseModel,
            target_python_version=PythonVersion.PY_311,
            allow_population_by_field_name=True,
            allow_remote_refs=False,
            collapse_root_models=True,
            disable_timestamp=True,
            enum_field_as_literal=LiteralType.All,
            field_constraints=True,
            formatters=[],
            keep_model_order=True,
            snake_case_field=True,
            strict_nullable=True,
            use_annotated=True,
            use_missing_sentinel=True,
            use_schema_description=True,
            use_standard_collections=True,
            use_union_operator=True,
        )
    return str(found)

"""The generated models: their wire format, the behavior of Python objects, and the names that users import."""

import copy
import inspect
import json
import pickle
from typing import Any, Literal, get_args, get_type_hints

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from functional.bindings import exports, full, models, package, sample
from mcp_bindgen.ir.nodes import Literal as Constants
from mcp_bindgen.ir.nodes import Struct
from mcp_bindgen.load.protocol import load_released
from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_bindings.v2025_11_25 import (
    BaseMetadata,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    CreateMessageResult,
    Icons,
    ListToolsRequest,
    PaginatedRequest,
    PaginatedResult,
    Request,
    Result,
    TaskAugmentedRequestParams,
    TextContent,
    Tool,
    ToolInputSchema,
)
from mcp_runtime.core.model import ABSENT, REQUIRED, WireModel
from support.samples import REVISIONS


def wire(model: WireModel) -> Any:
    return json.loads(model.model_dump_json())


def refused(model: type[WireModel], data: object) -> str:
    with pytest.raises(ValidationError) as caught:
        model.model_validate_json(json.dumps(data))
    return str(caught.value)


class TestConstants:
    def test_the_constructor_fills_them_in(self) -> None:
        assert wire(TextContent(text="x")) == {"type": "text", "text": "x"}
        request = CallToolRequest(id=1, params=CallToolRequestParams(name="x"))
        assert wire(request) == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}

    def test_they_may_be_passed_and_must_be_right(self) -> None:
        assert TextContent(type="text", text="x") == TextContent(text="x")
        with pytest.raises(ValidationError):
            TextContent(type="image", text="x")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_each_is_required_on_the_wire(self, revision: str) -> None:
        checked = 0
        for name, model in models(revision):
            struct = load_released(revision).definitions[name]
            assert isinstance(struct, Struct)
            for field in struct.fields:
                if field.required and isinstance(field.type, Constants) and len(field.type.values) == 1:
                    data = sample(revision, name)
                    model.model_validate_json(json.dumps(data))
                    del data[field.wire_name]
                    assert "Field required" in refused(model, data), f"{name}.{field.wire_name}"
                    checked += 1
        assert checked > 30


class TestAbsence:
    def test_absent_is_none_in_python_and_absent_on_the_wire(self) -> None:
        params = CallToolRequestParams.model_validate_json('{"name": "x"}')
        assert params.arguments is None
        assert wire(params) == {"name": "x"}
        assert wire(CallToolRequestParams(name="x", arguments=None)) == {"name": "x"}

    def test_null_is_refused_where_the_schema_has_none(self) -> None:
        assert "arguments" in refused(CallToolRequestParams, {"name": "x", "arguments": None})

    def test_null_that_is_required_is_written(self) -> None:
        task = {"taskId": "1", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
        read = v2025_11_25.Task.model_validate_json(json.dumps(task))
        assert read.ttl is None
        assert wire(read) == task

    def test_where_null_is_a_value_absence_is_a_sentinel(self) -> None:
        error = v2025_11_25.Error.model_validate_json('{"code": 1, "message": "m"}')
        assert error.data is ABSENT and not error.data
        assert wire(error) == {"code": 1, "message": "m"}
        null = v2025_11_25.Error.model_validate_json('{"code": 1, "message": "m", "data": null}')
        assert null.data is None
        assert wire(null) == {"code": 1, "message": "m", "data": None}
        assert wire(v2025_11_25.Error(code=1, message="m")) == {"code": 1, "message": "m"}
        assert copy.deepcopy(error).data is ABSENT
        assert pickle.loads(pickle.dumps(error)).data is ABSENT


class TestUnknownProperties:
    NAMES = (
        *("x", "copy", "json", "self", "cls", "model_dump", "model_config", "model_fields", "structured_content"),
        *("__class__", "__dict__", "__init__", "_meta_", "type", "list", "", "a b", "\u2028"),
    )

    def test_they_are_kept_and_written_back(self) -> None:
        data: dict[str, Any] = {"content": [], **{name: {"deep": [None, 1, 2.5]} for name in self.NAMES}}
        result = CallToolResult.model_validate_json(json.dumps(data))
        assert wire(result) == data
        assert wire(copy.deepcopy(result)) == data
        assert wire(pickle.loads(pickle.dumps(result))) == data
        assert result.model_dump()["content"] == []

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_every_model_keeps_them(self, revision: str) -> None:
        for name, model in models(revision):
            data = full(revision, name)
            assert wire(model.model_validate_json(json.dumps(data))) == data, name

    def test_python_names_are_not_wire_names(self) -> None:
        result = CallToolResult.model_validate_json('{"content": [], "is_error": 5}')
        assert result.is_error is None
        assert wire(result) == {"content": [], "is_error": 5}


class TestAliases:
    def test_both_spellings_make_a_model(self) -> None:
        tool = Tool(name="x", input_schema=ToolInputSchema())
        assert Tool.model_validate(wire(tool)) == tool
        spelled: dict[str, Any] = {"name": "x", "inputSchema": ToolInputSchema()}
        assert tool == Tool(**spelled)
        assert wire(tool) == {"name": "x", "inputSchema": {"type": "object"}}

    def test_meta_has_no_underscore(self) -> None:
        assert wire(CallToolResult(content=[], meta={"a": 1})) == {"content": [], "_meta": {"a": 1}}

    def test_prefixes_of_metadata_are_left_out(self) -> None:
        meta = v2026_07_28.RequestMetaObject.model_validate(sample("2026-07-28", "RequestMetaObject"))
        assert meta.protocol_version == "x"
        assert meta.client_info is None or meta.client_info.name


@pytest.mark.parametrize("revision", REVISIONS)
class TestEveryModel:
    def test_copies_pickles_and_compares(self, revision: str) -> None:
        for name, model in models(revision):
            for data in (sample(revision, name), full(revision, name)):
                instance = model.model_validate_json(json.dumps(data))
                assert copy.copy(instance) == instance and copy.copy(instance) is not instance
                assert copy.deepcopy(instance) == instance
                assert instance.model_copy(deep=True) == instance
                assert pickle.loads(pickle.dumps(instance)) == instance
                assert repr(instance).startswith(f"{name}(")
                assert model.model_validate(instance.model_dump()) == instance
                assert instance != object()

    @pytest.mark.slow
    def test_describes_itself(self, revision: str) -> None:
        for name, model in models(revision):
            schema = model.model_json_schema()
            assert schema.get("title") == name or "$ref" in schema or "$defs" in schema, name

    def test_has_a_sound_order_of_bases(self, revision: str) -> None:
        for name, model in models(revision):
            order = model.__mro__
            assert order[-3:] == (WireModel, BaseModel, object), name
            assert len({cls.__name__ for cls in order}) == len(order), name

    def test_is_documented(self, revision: str) -> None:
        for name, model in models(revision):
            doc = inspect.cleandoc(model.__dict__["__doc__"])
            assert not doc.startswith(("See ", f"{name} of the protocol")), f"nothing describes {name}"
            assert (
                f"https://modelcontextprotocol.io/specification/{revision}/schema#" in doc
                or f"https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/{revision}" in doc
            ), name

    def test_has_resolvable_annotations(self, revision: str) -> None:
        for name, model in models(revision):
            assert set(model.model_fields) <= set(get_type_hints(model)), name


@pytest.mark.slow
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_export_can_be_imported_and_used(revision: str) -> None:
    for name in exports(revision):
        value = getattr(package(revision), name)
        if name in load_released(revision).definitions:
            adapter: TypeAdapter[Any] = TypeAdapter(value)
            assert adapter.json_schema()
            data = sample(revision, name)
            assert adapter.dump_python(adapter.validate_json(json.dumps(data)), mode="json") == data


def test_models_are_mutable() -> None:
    tool = Tool(name="x", input_schema=ToolInputSchema())
    tool.name = "y"
    tool.description = "d"
    assert wire(tool) == {"name": "y", "description": "d", "inputSchema": {"type": "object"}}


class TestInheritance:
    def test_a_class_inherits_only_from_what_it_extends(self) -> None:
        assert issubclass(CallToolResult, Result)
        assert issubclass(CallToolRequestParams, TaskAugmentedRequestParams)
        assert issubclass(Tool, BaseMetadata) and issubclass(Tool, Icons)
        assert issubclass(v2025_11_25.ListToolsResult, PaginatedResult)
        assert not issubclass(CallToolRequest, Request)
        assert not issubclass(ListToolsRequest, PaginatedRequest)

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_a_subclass_keeps_every_field(self, revision: str) -> None:
        """Only properties that the constructor fills in may differ: a result declares its own type."""
        for name, model in models(revision):
            for base in model.__mro__[1:]:
                if base is WireModel:
                    break
                assert issubclass(base, WireModel)
                for attribute, field in base.model_fields.items():
                    own = model.model_fields[attribute]
                    assert own.annotation == field.annotation, f"{name}.{attribute}"
                    assert own.default == field.default or REQUIRED in own.metadata, f"{name}.{attribute}"


class TestKnownValues:
    def test_levels_are_ordered_as_in_the_schema(self) -> None:
        levels = "debug info notice warning error critical alert emergency".split()
        for revision in REVISIONS:
            assert list(get_args(package(revision).LoggingLevel)) == levels

    def test_known_values_of_an_open_string_are_visible(self) -> None:
        hint = str(get_type_hints(CreateMessageResult, include_extras=True)["stop_reason"])
        for value in ("endTurn", "stopSequence", "maxTokens", "toolUse"):
            assert repr(value) in hint
        instance = CreateMessageResult(
            role="assistant", model="m", content=TextContent(text=""), stop_reason="whatever"
        )
        assert wire(instance)["stopReason"] == "whatever"

    def test_a_closed_set_is_a_literal(self) -> None:
        assert v2025_11_25.Role == Literal["user", "assistant"]


def test_the_tag_selects_the_class_of_a_union() -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(ContentBlock)
    with pytest.raises(ValidationError, match="Input tag 'smell' found using 'type'"):
        adapter.validate_json('{"type": "smell"}')
    assert isinstance(adapter.validate_json('{"type": "text", "text": "x"}'), TextContent)

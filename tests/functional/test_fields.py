"""What the model base infers from an annotation and a default, and what a user's subclass can rely on."""

import inspect
import json
import pydoc
import warnings
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import AfterValidator, Field, PrivateAttr, ValidationError, create_model

from mcp_bindings import v2026_07_28 as modern
from mcp_bindings.v2025_11_25 import CallToolRequestParams, ListToolsResult, TextContent, Tool, ToolInputSchema
from mcp_runtime.core.model import ABSENT, Absent, Exactly, Integer, WireModel

NAN, INFINITY = float("nan"), float("inf")


def wire(model: WireModel) -> Any:
    return json.loads(model.model_dump_json())


def tool(**more: Any) -> Tool:
    return Tool(name="x", input_schema=ToolInputSchema(), **more)


class Shape(WireModel):
    kind: Literal["shape"] = "shape"
    one: Literal[1] = 1
    flag: Literal[True] = True
    half: Annotated[float, Exactly(0.5)] = 0.5
    nothing: Literal[None] = None
    note: str | None = None
    data: Any | Absent = ABSENT


class Exact(WireModel):
    one: Literal[1] = 1
    flag: Literal[True] | None = None
    zero: list[Literal[0]]
    off: dict[str, Literal[False]]
    pair: tuple[str, Literal[1]] | None = None


class Loose(WireModel):
    number: Literal[1, 2] = 1
    other: Literal[True] = 1  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]
    count: Integer = 0
    short: Annotated[str | None, AfterValidator(lambda text: text)] = None
    renamed: Annotated[str | None, Field(alias="x-renamed")] = None


CONSTANTS = {"kind": "shape", "one": 1, "flag": True, "half": 0.5, "nothing": None}


class TestInference:
    def test_constants_are_filled_in_and_written(self) -> None:
        assert wire(Shape()) == CONSTANTS

    @pytest.mark.parametrize("name", CONSTANTS)
    def test_constants_are_required_on_the_wire(self, name: str) -> None:
        assert Shape.model_validate_json(json.dumps(CONSTANTS)) == Shape()
        with pytest.raises(ValidationError, match="Field required"):
            Shape.model_validate_json(json.dumps({key: value for key, value in CONSTANTS.items() if key != name}))

    @pytest.mark.parametrize(("name", "value"), [("one", 2), ("flag", False), ("half", 0.25), ("nothing", 0)])
    def test_constants_are_exact(self, name: str, value: object) -> None:
        with pytest.raises(ValidationError):
            Shape.model_validate_json(json.dumps({**CONSTANTS, name: value}))

    @pytest.mark.parametrize(
        ("name", "wrong"),
        [("one", True), ("one", "1"), ("flag", 1), ("flag", 1.0), ("zero", False), ("off", 0), ("pair", True)],
    )
    def test_numbers_and_booleans_are_different_constants(self, name: str, wrong: object) -> None:
        right: dict[str, Any] = {"one": 1, "flag": True, "zero": [0, 0.0, -0.0], "off": {"a": False}}
        containers: dict[str, object] = {"zero": [wrong], "off": {"a": wrong}, "pair": ("x", wrong)}
        given = {**right, name: containers.get(name, wrong)}
        assert wire(Exact(**right)) == wire(Exact.model_validate_json(json.dumps(right))) == right
        with pytest.raises(ValidationError, match=r"Input should be (0|1|True|False)"):
            Exact.model_validate(given)
        with pytest.raises(ValidationError, match=r"Input should be (0|1|True|False)"):
            Exact.model_validate_json(json.dumps(given))

    def test_a_constant_may_be_spelled_with_a_fraction_of_zero(self) -> None:
        exact = Exact.model_validate_json('{"one": 1.0, "flag": true, "zero": [0.0], "off": {}}')
        assert exact.model_dump_json() == '{"one":1,"flag":true,"zero":[0],"off":{}}'

    def test_the_json_schema_of_constants_is_that_of_pydantic(self) -> None:
        properties = Exact.model_json_schema()["properties"]
        assert properties["one"]["const"] == 1 and properties["flag"]["const"] is True

    def test_a_nullable_property_is_absent_by_a_sentinel(self) -> None:
        assert Shape().data is ABSENT
        assert wire(Shape(data=None)) == {**CONSTANTS, "data": None}
        assert Shape.model_validate_json(json.dumps({**CONSTANTS, "data": None})).data is None

    def test_none_is_absence_in_python_and_refused_where_validation_is_strict(self) -> None:
        loose: dict[str, Any] = {"short": None, "x-renamed": None}
        assert Loose(**loose) == Loose.model_validate(loose) == Loose()
        with pytest.raises(ValidationError, match="2 validation errors"):
            Loose.model_validate(loose, strict=True)

    def test_other_defaults_work_as_in_pydantic(self) -> None:
        assert Loose.model_validate_json("{}").number == 1
        assert wire(Loose()) == {"number": 1, "other": 1, "count": 0}

    @pytest.mark.parametrize("name", ["short", "x-renamed"])
    def test_an_optional_property_is_never_null(self, name: str) -> None:
        assert wire(Loose.model_validate_json(json.dumps({name: "a"})))[name] == "a"
        with pytest.raises(ValidationError):
            Loose.model_validate_json(json.dumps({name: None}))

    @pytest.mark.parametrize("annotation", [Any, object, Any | None, str, dict[str, Any]])
    def test_a_default_of_none_needs_an_optional_type(self, annotation: Any) -> None:
        vague = type("Vague", (WireModel,), {"__annotations__": {"x": annotation}, "x": None, "__module__": __name__})
        with pytest.raises(TypeError, match=r"Vague.x: annotate .* as `T \| None`; .* default to ABSENT"):
            vague()


class Documented(Tool):
    price: float
    """Price of a call."""

    unit: str = Field("EUR", description="Currency.")
    """Shown after the price."""


class Priced(Tool):
    price: float
    currency: str | None = None
    _cache: dict[str, int] = PrivateAttr(default_factory=dict[str, int])

    @cached_property
    def label(self) -> str:
        self._cache = {"a": 1}
        return f"{self.name}: {self.price}"


class TestSubclasses:
    priced = Priced(name="x", input_schema=ToolInputSchema(), price=1.5)
    expected: ClassVar[dict[str, Any]] = {"name": "x", "inputSchema": {"type": "object"}, "price": 1.5}

    def test_their_fields_are_written_wherever_they_are_used(self) -> None:
        assert wire(self.priced) == self.expected
        assert wire(ListToolsResult(tools=[self.priced])) == {"tools": [self.expected]}
        assert json.loads(ListToolsResult(tools=[self.priced]).model_dump_json())["tools"][0]["price"] == 1.5
        assert ListToolsResult(tools=[self.priced]).model_dump()["tools"] == [self.expected]

    def test_in_params_too(self) -> None:
        class Params(CallToolRequestParams):
            tenant: str

        from mcp_bindings.v2025_11_25 import CallToolRequest

        request = CallToolRequest(id=1, params=Params(name="x", tenant="acme"))
        assert wire(request)["params"] == {"name": "x", "tenant": "acme"}

    def test_none_is_omitted(self) -> None:
        assert "currency" not in wire(self.priced)
        assert wire(Priced(**self.expected, currency="EUR"))["currency"] == "EUR"

    def test_private_attributes_and_cached_properties_work(self) -> None:
        priced = self.priced.model_copy()
        assert priced.label == "x: 1.5"
        assert wire(priced) == self.expected


class TestAssignment:
    def test_an_undeclared_property_is_written(self) -> None:
        instance = tool()
        instance.acme = 5  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
        assert wire(instance)["acme"] == 5

    @pytest.mark.parametrize(("wrong", "right"), [("inputSchema", "input_schema"), ("_meta", "meta")])
    def test_a_wire_name_is_refused(self, wrong: str, right: str) -> None:
        instance = tool()
        with pytest.raises(AttributeError, match=f"Tool has no attribute '{wrong}'; assign to '{right}'"):
            setattr(instance, wrong, ToolInputSchema())
        assert wire(instance) == {"name": "x", "inputSchema": {"type": "object"}}

    @pytest.mark.parametrize("name", ["_acme", "__acme"])
    def test_a_private_name_is_refused(self, name: str) -> None:
        with pytest.raises(AttributeError, match=f"Tool cannot keep '{name}'; declare it as a PrivateAttr"):
            setattr(tool(), name, 1)

    @pytest.mark.parametrize("name", ["inputSchema", "input_schema"])
    def test_a_copy_takes_both_spellings(self, name: str) -> None:
        schema = ToolInputSchema(properties={"a": {}})
        copied = tool().model_copy(update={name: schema, "_meta": {"a": 1}, "acme": 5})
        assert copied.meta == {"a": 1}
        assert wire(copied) == {"name": "x", "inputSchema": wire(schema), "_meta": {"a": 1}, "acme": 5}

    def test_a_field_under_both_names_is_refused(self) -> None:
        with pytest.raises(ValueError, match="passed under both its names: input_schema"):
            tool(inputSchema=ToolInputSchema())


class TestHelp:
    """What a program, a shell or an editor shows of a model."""

    @pytest.mark.parametrize("model", [Tool, ListToolsResult, modern.CallToolResult, modern.RequestMetaObject, Exact])
    def test_signature_and_help_have_python_names_and_plain_types(self, model: type[WireModel]) -> None:
        signature = inspect.signature(model)
        assert [*signature.parameters][:-1] == [*model.model_fields]
        for text in (str(signature), pydoc.plain(pydoc.render_doc(model))):
            assert not [word for word in ("_meta", "resultType", "Annotated", "FieldInfo") if word in text]

    def test_a_signature_says_what_must_be_passed(self) -> None:
        parameters = inspect.signature(modern.CallToolResult).parameters
        assert parameters["content"].default is inspect.Parameter.empty
        assert parameters["result_type"].default == "complete"
        assert parameters["is_error"].annotation == bool | None
        assert parameters["structured_content"].default is ABSENT

    def test_help_has_the_docstrings_of_fields(self) -> None:
        class Sold(Documented):
            """A tool that costs money."""

        for model in (Tool, ListToolsResult, modern.CallToolResult, Sold):
            lines = [line.strip(" |") for line in pydoc.plain(pydoc.render_doc(model)).splitlines()]
            described = {name: (field.description or "").split("\n")[0] for name, field in model.model_fields.items()}
            assert described and [f"{n}: {doc}" for n, doc in described.items() if f"{n}: {doc}" not in lines] == []

    @pytest.mark.parametrize("model", [Tool, modern.CallToolResult])
    def test_a_json_schema_says_nothing_twice(self, model: type[WireModel]) -> None:
        schema = model.model_json_schema()
        assert schema["description"] == inspect.cleandoc(vars(model)["__doc__"])
        assert "Attributes:" not in json.dumps(schema)

    def test_a_model_without_a_docstring_has_none(self) -> None:
        assert Shape.__doc__ is None
        assert "description" not in Shape.model_json_schema()

    def test_fields_are_described_by_their_docstrings(self) -> None:
        for model in (Tool, ListToolsResult, modern.CallToolResult, Documented):
            assert all(field.description for field in model.model_fields.values()), model
        assert Tool.model_fields["input_schema"].description == Documented.model_fields["input_schema"].description
        descriptions = {name: field.description for name, field in Documented.model_fields.items()}
        assert (descriptions["price"], descriptions["unit"]) == ("Price of a call.", "Currency.")
        assert Priced.model_fields["price"].description is None

    def test_descriptions_leave_the_json_schema_of_a_model_unchanged(self) -> None:
        first, second = (create_model(name, __base__=Tool, cost=(int, 1)) for name in ("Cost", "Cost"))
        assert first.model_fields["name"].description
        assert first.model_json_schema() == second.model_json_schema()

    def test_a_constructor_of_a_subclass_has_its_own_signature(self) -> None:
        class Own(Tool):
            def __init__(self, name: str) -> None:
                super().__init__(name=name, input_schema=ToolInputSchema())

        assert Own("x").name == "x"  # builds the class
        assert [*inspect.signature(Own).parameters] == ["name"]

    @pytest.mark.parametrize("name", ["titel", "imputSchema", "descripton"])
    def test_a_misspelt_keyword_gets_a_warning_where_it_is(self, name: str) -> None:
        meant = {"titel": "title", "imputSchema": "input_schema", "descripton": "description"}[name]
        with pytest.warns(UserWarning, match=f"Tool has no field '{name}': did you mean '{meant}'?") as warned:
            tool(**{name: "a"})
        assert warned[0].filename == __file__

    @pytest.mark.parametrize(("name", "meant"), [("titel", "title"), ("descripton", "description"), ("nam", "name")])
    def test_a_misspelt_attribute_gets_a_warning_where_it_is_set(self, name: str, meant: str) -> None:
        each = tool()
        with pytest.warns(UserWarning, match=f"Tool has no field '{name}': did you mean '{meant}'?") as warned:
            setattr(each, name, "a")
        assert warned[0].filename == __file__
        assert getattr(each, name) == "a", "it is kept like any other"

    def test_other_properties_and_decoding_do_not_warn(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tool(acme=5, **{"acme.org/title": 1}).title = "a"
            for name in ("acme", "acme_org"):
                setattr(tool(), name, 5)
            Tool.model_validate_json('{"name": "x", "inputSchema": {"type": "object"}, "titel": "a"}')


class TestNumbers:
    @pytest.mark.parametrize("number", [NAN, INFINITY, -INFINITY])
    def test_a_number_that_is_not_finite_is_refused_everywhere(self, number: float) -> None:
        with pytest.raises(ValueError, match="not a JSON number"):
            CallToolRequestParams(name="x", arguments={"a": [number]})
        with pytest.raises(ValueError, match="not a JSON number"):
            tool(acme=number)
        instance = CallToolRequestParams(name="x", arguments={"a": 1})
        with pytest.raises(ValueError, match="not a JSON number"):
            instance.arguments = {"a": number}
        with pytest.raises(ValueError, match="not a JSON number"):
            instance.model_copy(update={"arguments": {"a": number}})
        assert instance.arguments is not None
        instance.arguments["a"] = number
        with pytest.raises(ValueError, match="not a JSON number"):
            instance.model_dump_json()

    def test_their_names_may_be_text(self) -> None:
        assert wire(TextContent(text="NaN, Infinity and -Infinity"))["text"] == "NaN, Infinity and -Infinity"


@pytest.mark.parametrize(
    "text",
    ['{"name": NaN}', '{"name": "x", "a": NaN}', '{"name": "x", "a": 1e400}', '{"name": "x", "name": "x"}'],
)
def test_text_that_is_not_i_json_is_refused(text: str) -> None:
    from mcp_bindings.v2025_11_25 import METHODS

    params = METHODS["tools/call"].params
    assert params is not None
    for read in (CallToolRequestParams.model_validate_json, params.decode):
        for data in (text, text.encode()):
            with pytest.raises(ValidationError, match="Invalid JSON"):
                read(data)


class TestJsonSchema:
    def test_properties_are_described_and_absence_is_not_a_default(self) -> None:
        schema = Tool.model_json_schema()
        assert schema["properties"]["name"]["description"] and schema["description"]
        assert not any("default" in stated for stated in schema["properties"].values())
        assert schema["required"] == ["name", "inputSchema"]

    def test_a_subclass_has_its_own(self) -> None:
        schema = Priced.model_json_schema(mode="serialization")
        assert schema["properties"]["price"] == {"title": "Price", "type": "number"}
        assert schema["properties"]["name"]["description"]
        assert schema["required"] == ["name", "inputSchema", "price"]

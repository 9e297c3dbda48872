"""`ask` and `sample`: forms from pydantic models and generated text, in both eras."""

import json
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

from mcp_bindings import v2025_06_18 as older
from mcp_bindings import v2025_11_25 as mcp
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime import Refusal, testing
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from support.apps import text_of


class Plan(BaseModel):
    team: str = Field(description="The person or team responsible.", min_length=2)
    days: int = 1
    urgent: bool = False
    size: Literal["small", "large"] = "small"


class Tea(Enum):
    GREEN = "green"
    BLACK = "black"


Size = Annotated[Literal["s"], Field(title="Small")] | Annotated[Literal["l"], Field(title="Large")]


class Cup(BaseModel):
    size: Size
    tea: Tea = Tea.GREEN
    name: str | None = None


class Order(Cup):
    sizes: list[Size] = Field(description="All that fit.", min_length=1)
    extras: list[Literal["milk", "sugar"]] = ["milk"]
    teas: list[Tea] = []


FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Nested(BaseModel):
    plans: dict[str, Plan]


def planning(version: Any, form: Any = Plan) -> Any:
    app = version.App("test")

    async def plan(ctx: Any) -> str:
        answer: Any = await ctx.elicit("When?", form)
        return answer.reason if isinstance(answer, Refusal) else answer.model_dump_json()

    plan.__annotations__["ctx"] = version.Context
    app.tool()(plan)
    return app


@pytest.mark.parametrize("version", [older, mcp, modern], ids=lambda version: version.REVISION)
async def test_a_filled_in_form_becomes_an_object_of_the_model(version: Any) -> None:
    async with testing.connect(planning(version), elicit=[{"team": "ops", "days": 2.0}, "decline", "cancel"]) as client:
        texts = [text_of(await client.call_tool(name="plan")) for _ in range(3)]
        assert texts == [
            '{"team":"ops","days":2,"urgent":false,"size":"small"}',
            "the user declined",
            "the user dismissed the form",
        ]
        schema = testing.received(client).asked[0].requested_schema.model_dump(mode="json")
        assert schema["required"] == ["team"]
        assert schema["properties"]["team"]["description"] == "The person or team responsible."


def form_asked(client: Any) -> dict[str, Any]:
    found: dict[str, Any] = testing.received(client).asked[0].requested_schema.model_dump(mode="json")["properties"]
    return found


@pytest.mark.parametrize("version", [older, mcp, modern], ids=lambda version: version.REVISION)
async def test_choices_have_labels_in_the_spelling_of_the_client(version: Any) -> None:
    async with testing.connect(planning(modern, Cup), version.Client, elicit=[{"size": "s"}]) as client:
        assert text_of(await client.call_tool(name="plan")) == '{"size":"s","tea":"green","name":null}'
        asked = form_asked(client)
    if version is older:
        labels: dict[str, Any] = {"enum": ["s", "l"], "enumNames": ["Small", "Large"]}
    else:
        labels = {"oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}
    assert asked["size"] == {"type": "string", "title": "Size", **labels}
    assert asked["tea"] == {"type": "string", "title": "Tea", "enum": ["green", "black"], "default": "green"}
    assert asked["name"] == {"type": "string", "title": "Name"}


async def test_labels_in_an_app_of_2025_06_18() -> None:
    async with testing.connect(planning(older, Cup), elicit=["decline"]) as client:
        await client.call_tool(name="plan")
        assert form_asked(client)["size"]["enumNames"] == ["Small", "Large"]


@pytest.mark.parametrize("version", [mcp, modern], ids=lambda version: version.REVISION)
async def test_several_choices_are_a_list(version: Any) -> None:
    answer = {"size": "l", "sizes": ["s", "l"], "extras": [], "teas": ["black"]}
    async with testing.connect(planning(version, Order), elicit=[answer]) as client:
        assert text_of(await client.call_tool(name="plan")) == (
            '{"size":"l","tea":"green","name":null,"sizes":["s","l"],"extras":[],"teas":["black"]}'
        )
        asked = form_asked(client)
    labels = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
    assert asked["sizes"] == {
        "type": "array",
        "title": "Sizes",
        "description": "All that fit.",
        "minItems": 1,
        "items": {"anyOf": labels},
    }
    assert asked["extras"]["items"] == {"type": "string", "enum": ["milk", "sugar"]}
    assert asked["teas"]["items"]["enum"] == ["green", "black"]


async def test_a_question_has_the_key_that_it_is_given() -> None:
    app = modern.App("test")

    @app.tool()
    async def plan(ctx: modern.Context) -> str:
        """Plan."""
        return str(bool(await ctx.elicit("When?", Cup, options=CallOptions(key="cup"))))

    sent: list[Any] = []
    options = ClientOptions(trace=lambda way, message: sent.append(json.loads(message)))
    async with testing.connect(app, elicit=[{"size": "s"}], options=options) as client:
        assert text_of(await client.call_tool(name="plan")) == "True"
    [asked] = [message["result"] for message in sent if "inputRequests" in message.get("result", {})]
    assert list(asked["inputRequests"]) == ["cup"]


@pytest.mark.parametrize("version", [older, modern], ids=lambda version: version.REVISION)
async def test_a_question_can_be_asked_without_a_state(version: Any) -> None:
    app = modern.App("test")
    asked = {"name": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": FORM}}}

    @app.tool()
    def greet(ctx: modern.Context) -> str | modern.InputRequiredResult:
        """Greet somebody."""
        answers: dict[str, Any] = ctx.exchange.params.input_responses or {}
        if "name" not in answers:
            return modern.InputRequiredResult.model_validate({"resultType": "input_required", "inputRequests": asked})
        return f"Hello, {answers['name'].content['name']}!"

    sent: list[str] = []
    options = ClientOptions(trace=lambda way, message: sent.append(message.decode()))
    async with testing.connect(app, version.Client, elicit=[{"name": "Ada"}], options=options) as client:
        assert text_of(await client.call_tool(name="greet")) == "Hello, Ada!"
    assert "requestState" not in "".join(sent)


async def test_an_answer_that_does_not_match_is_a_protocol_error(caplog: pytest.LogCaptureFixture) -> None:
    async with testing.connect(planning(mcp), elicit=[{"team": "o"}]) as client:
        assert (await client.call_tool(name="plan")).is_error
    assert "team: String should have at least 2 characters" in caplog.text


class Recursive(BaseModel):
    inner: "Recursive | None" = None


class Uncallable(BaseModel):
    call: Callable[[], int]


@pytest.mark.parametrize("version", [older, mcp, modern], ids=lambda version: version.REVISION)
@pytest.mark.parametrize(
    ("form", "reason"),
    [
        (Nested, "Nested is not a form: plans must be a string, a number, a boolean or a choice"),
        (Recursive, "Recursive is not a form: it must be"),
        (Uncallable, "Uncallable is not a form: it must be"),
        (RootModel[int], "is not a form: it must be"),
        (dict[str, int], "dict is not a form: it must be"),
        (bytes, "bytes is not a form: it must be"),
    ],
)
async def test_the_error_for_a_form_names_its_wrong_fields(
    version: Any, form: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with testing.connect(planning(version, form), elicit=[]) as client:
        assert (await client.call_tool(name="plan")).is_error
        assert testing.received(client).asked == []
    assert reason in caplog.text and "pydantic" not in caplog.text


@pytest.mark.parametrize("version", [older, mcp, modern], ids=lambda version: version.REVISION)
async def test_the_clients_model_generates_text(version: Any) -> None:
    app = version.App("test")

    async def poem(ctx: Any) -> str:
        return str(await ctx.sample("A poem.", system_prompt="Be brief."))

    poem.__annotations__["ctx"] = version.Context
    app.tool()(poem)
    async with testing.connect(app, sample=["Roses."]) as client:
        assert text_of(await client.call_tool(name="poem")) == "Roses."
        [asked] = testing.received(client).asked
        assert (asked.messages[0].content.text, asked.system_prompt, asked.max_tokens) == ("A poem.", "Be brief.", 1000)

"""`ask` and `sample`: forms from pydantic models and generated text, in both eras."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcp_bindings import v2025_06_18 as older
from mcp_bindings import v2025_11_25 as mcp
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime import testing
from mcp_runtime.app import ask, sample
from support.apps import text_of


class Plan(BaseModel):
    team: str = Field(description="The person or team responsible.", min_length=2)
    days: int = 1
    urgent: bool = False
    size: Literal["small", "large"] = "small"


class Nested(BaseModel):
    plans: dict[str, Plan]


def planning(version: Any, form: type[BaseModel] = Plan) -> Any:
    app = version.App("test")

    async def plan(ctx: Any) -> str:
        answer = await ask(ctx, "When?", form)
        return "nothing" if answer is None else answer.model_dump_json()

    plan.__annotations__["ctx"] = version.Context
    app.tool()(plan)
    return app


@pytest.mark.parametrize("version", [older, mcp, modern], ids=lambda version: version.REVISION)
async def test_a_filled_in_form_becomes_an_object_of_the_model(version: Any) -> None:
    async with testing.connect(planning(version), elicit=[{"team": "ops", "days": 2.0}, "decline", "cancel"]) as client:
        texts = [text_of(await client.call_tool(name="plan")) for _ in range(3)]
        assert texts == ['{"team":"ops","days":2,"urgent":false,"size":"small"}', "nothing", "nothing"]
        schema = testing.heard_by(client).asked[0].requested_schema.model_dump(mode="json")
        assert schema["required"] == ["team"]
        assert schema["properties"]["team"]["description"] == "The person or team responsible."


async def test_an_answer_that_does_not_match_is_a_protocol_error(caplog: pytest.LogCaptureFixture) -> None:
    async with testing.connect(planning(mcp), elicit=[{"team": "o"}]) as client:
        assert (await client.call_tool(name="plan")).is_error
    assert "team: String should have at least 2 characters" in caplog.text


async def test_a_model_that_is_not_a_form_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with testing.connect(planning(mcp, Nested), elicit=[]) as client:
        assert (await client.call_tool(name="plan")).is_error
    assert "Nested is not a form" in caplog.text


@pytest.mark.parametrize("version", [older, mcp, modern], ids=lambda version: version.REVISION)
async def test_the_clients_model_generates_text(version: Any) -> None:
    app = version.App("test")

    async def poem(ctx: Any) -> str:
        return await sample(ctx, "A poem.", system_prompt="Be brief.")

    poem.__annotations__["ctx"] = version.Context
    app.tool()(poem)
    async with testing.connect(app, sample=["Roses."]) as client:
        assert text_of(await client.call_tool(name="poem")) == "Roses."
        [asked] = testing.heard_by(client).asked
        assert (asked.messages[0].content.text, asked.system_prompt, asked.max_tokens) == ("A poem.", "Be brief.", 1000)

"""Elicitation in forms (client/elicitation, "Form Mode"): a server asks the user through the client.

See `mcp_runtime.url_elicitation` for web pages, and `mcp_runtime.forms` for validating answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from pydantic import BaseModel

from mcp_runtime.caller import CallOptions
from mcp_runtime.errors import RemoteProtocolError
from mcp_runtime.features.elicitation.forms import Form
from mcp_runtime.method import RequestMethod
from mcp_runtime.protocol.names import ELICITATION_CREATE
from mcp_runtime.remote import Stub


class Action(StrEnum):
    """How a user responded: accepted, declined or cancelled."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormAnswer:
    """The outcome of a form.

    Args:
        action: how the user responded.
        content: the fields by name if the form was accepted, otherwise empty.
    """

    action: Action
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def ask_form(
    client: Stub, message: str, schema: BaseModel | Mapping[str, Any], *, options: CallOptions | None = None
) -> FormAnswer:
    """Ask the user of a client to fill in a form; raises like `Connection.request` as well.

    Never ask for secrets in a form: the client sees them, and so may the model. Use a web page for that
    (`mcp_runtime.url_elicitation`).

    Args:
        client: the client (``ctx.client``), of 2025-06-18 or later.
        message: tells the user what is needed, and why.
        schema: the fields: the revision's ``requestedSchema``, or a mapping keyed by wire names.
        options: timeouts; allow for the time that people need.

    Raises:
        RemoteProtocolError: the user accepted, but the answer does not match the schema.
        MissingCapability: the client does not support forms.
        UnusableSchema: answers cannot be checked against the schema.
        ModuleNotFoundError: the validation library is not installed (``mcp-bindgen[validation]``).
    """
    spelled: Mapping[str, Any] = schema.model_dump(mode="json") if isinstance(schema, BaseModel) else schema
    form = Form(spelled, is_trusted=True)  # before the user is asked for nothing
    result = await create(client, {"message": message, "requestedSchema": spelled}, options)
    action = Action(result.action)
    if action is not Action.ACCEPT:
        return FormAnswer(action=action)
    content: Mapping[str, Any] = result.model_dump(mode="json").get("content") or {}
    wrong = form.problems(content)
    if wrong:
        where, _, reason = wrong[0].partition(": ")
        more = f"; and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        revision = client.__binding__.revision
        raise RemoteProtocolError(
            revision=revision, method=ELICITATION_CREATE, pointer=f"/content{where}", reason=f"{reason}{more}"
        )
    return FormAnswer(action=action, content=content)


async def create(client: Stub, params: Mapping[str, Any], options: CallOptions | None) -> Any:
    """Send ``elicitation/create`` with params keyed by wire names; return its result."""
    method = cast("RequestMethod[Any, Any]", client.__binding__.methods[ELICITATION_CREATE])
    assert method.params is not None
    return await client.__caller__.request(method, method.params.build(params), options)

"""Elicitation in forms (client/elicitation, "Form Mode"): a server asks a person through the client.

See `mcp_runtime.url_elicitation` for web pages, and `mcp_runtime.forms` for what fits a form.
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
    """What a person did: agreed, refused, or went away."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormAnswer:
    """What became of a form; `content` has the fields by name if it was accepted, else nothing."""

    action: Action
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])


async def ask_form(
    client: Stub, message: str, schema: BaseModel | Mapping[str, Any], *, options: CallOptions | None = None
) -> FormAnswer:
    """Ask the person behind a client to fill in a form; raises as `Connection.request` does.

    Never ask for secrets in a form: the client sees them, and the model may. Send people to a web page for that.

    Args:
        client: the client (``ctx.client``), of 2025-06-18 or later.
        message: tells what is wanted, and what for.
        schema: the fields: the revision's ``requestedSchema``, or the same by wire names.
        options: limits; people take their time.

    Raises:
        RemoteProtocolError: the person agreed, but what came does not fit the schema.
        MissingCapability: the client has no forms.
        UnusableSchema: the schema is not one that answers can be checked against.
        ModuleNotFoundError: the library that validates is not installed (``mcp-bindgen[validation]``).
    """
    spelled: Mapping[str, Any] = schema.model_dump(mode="json") if isinstance(schema, BaseModel) else schema
    form = Form(spelled, is_trusted=True)  # before a person is asked in vain
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
    """Send ``elicitation/create`` with params by wire names; returns its result."""
    method = cast("RequestMethod[Any, Any]", client.__binding__.methods[ELICITATION_CREATE])
    assert method.params is not None
    return await client.__caller__.request(method, method.params.build(params), options)

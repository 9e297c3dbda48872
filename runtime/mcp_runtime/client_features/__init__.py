"""Elicitation, sampling and roots beyond the typed requests: forms, web pages, review of what a model gets."""

from typing import TYPE_CHECKING

from mcp_runtime.lazy import door

if TYPE_CHECKING:
    from mcp_runtime.client_features.changes import Change, listening
    from mcp_runtime.client_features.forms import (
        Action,
        Form,
        FormAnswer,
        UnusableSchema,
        ask_form,
        choices,
        defaults,
        problems,
    )
    from mcp_runtime.client_features.roots import PathRefused, Root, Roots, inside
    from mcp_runtime.client_features.sampling import (
        REJECTED,
        Denied,
        MessagesOutOfOrder,
        SamplingRejected,
        check_messages,
        reviewed,
    )
    from mcp_runtime.client_features.url_elicitation import (
        UrlElicitation,
        UrlElicitations,
        UrlView,
        Visits,
        inspect_url,
        required_elicitations,
    )
else:
    __getattr__, __dir__ = door(
        "mcp_runtime.client_features",
        {
            "forms": "Action Form FormAnswer UnusableSchema ask_form choices defaults problems",
            "changes": "Change listening",
            "roots": "PathRefused Root Roots inside",
            "sampling": "REJECTED Denied MessagesOutOfOrder SamplingRejected check_messages reviewed",
            "url_elicitation": "UrlElicitation UrlElicitations UrlView Visits inspect_url required_elicitations",
        },
    )

__all__ = [
    "REJECTED",
    "Action",
    "Change",
    "Denied",
    "Form",
    "FormAnswer",
    "MessagesOutOfOrder",
    "PathRefused",
    "Root",
    "Roots",
    "SamplingRejected",
    "UnusableSchema",
    "UrlElicitation",
    "UrlElicitations",
    "UrlView",
    "Visits",
    "ask_form",
    "check_messages",
    "choices",
    "defaults",
    "inside",
    "inspect_url",
    "listening",
    "problems",
    "required_elicitations",
    "reviewed",
]

"""Rules on messages: which exist, how a request may be answered, and the JSON-RPC frames around them."""

from collections.abc import Callable
from operator import attrgetter

from mcp_bindgen.diff.rule import (
    NO_ACTION,
    NOTHING,
    Change,
    Reading,
    Rule,
    added,
    on,
    pair,
    replaced,
)
from mcp_bindgen.diff.sites import AlternativeSite, EnvelopeSite, ErrorSite, FrameSite, MethodSite, ResultTypeSite
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.spell import spell

_OPEN_CODES = "any integer is a valid code: a receiver that does not know it cannot reject the message, only misread it"


def _added(*, request: bool) -> Callable[[MethodSite], Reading | None]:
    def read(site: MethodSite) -> Reading | None:
        new = site.after if site.before is None else None
        way = f" ({site.way})" if site.way else ""
        return (NOTHING, f"{new.name}{way}") if new and new.is_request is request else None

    return read


REQUEST_METHOD_ADDED, REQUEST_METHOD_REMOVED = pair(
    ("request-method-added", "A request, or a direction for one, was added that older receivers do not support."),
    ("request-method-removed", "A request was removed, or is no longer sent in this direction."),
    check=on(MethodSite, _added(request=True)),
    change=Change.WIDENS,
    advice=("Send it only to peers of the new revision.", "Stop sending it to peers of the new revision."),
    to_receivers=(
        "Answer it, at least with the error for unknown methods (-32601).",
        "Keep answering it for peers of the old revision.",
    ),
    breaks_source=(False, True),
)
NOTIFICATION_METHOD_ADDED, NOTIFICATION_METHOD_REMOVED = pair(
    ("notification-method-added", "A notification, or a direction for one, was added. Older receivers ignore it."),
    (
        "notification-method-removed",
        "A notification was removed, or is no longer sent in this direction." " Peers that still send it are ignored.",
    ),
    check=on(MethodSite, _added(request=False)),
    advice=(NO_ACTION, "Use another way to detect the event."),
    breaks_source=(False, True),
)


def _of_request(site: object) -> Change:
    """Return what a new name does: receivers ignore a notification that they do not know."""
    is_request = isinstance(site, MethodSite) and site.before is not None and site.before.is_request
    return Change.BOTH if is_request else Change.NONE


METHOD_RENAMED = Rule(
    id="method-renamed",
    purpose="The method name of a request or notification changed, but nothing else.",
    change=Change.BOTH,
    advice="Use the name from the peer's revision.",
    to_receivers="Accept both names.",
    check=replaced(MethodSite, attrgetter("name")),
    severity=Severity.WARNING,
    change_at=_of_request,
    breaks_source=True,
)
RESULT_ALTERNATIVE_ADDED, RESULT_ALTERNATIVE_REMOVED = pair(
    ("result-alternative-added", "A request may now be answered with an additional kind of result."),
    ("result-alternative-removed", "A request can no longer be answered with this kind of result."),
    check=added(AlternativeSite, attrgetter("name")),
    change=Change.WIDENS,
    advice=("Answer this way only if the peer uses the new revision.", "Answer with one of the remaining kinds."),
    to_receivers=("Check which kind of result arrived.", "Keep handling it for peers of the old revision."),
    breaks_source=(True, True),
)
RESULT_TYPE_ADDED, RESULT_TYPE_REMOVED = pair(
    ("result-type-added", "A type was added to the union of results."),
    ("result-type-removed", "A type was removed from the union of results."),
    check=added(ResultTypeSite),
    advice=(
        "No action needed: the findings on methods say which request gets it.",
        "No action needed: the findings on methods say which request got it.",
    ),
)
JSONRPC_MESSAGE_FORM_ADDED, JSONRPC_MESSAGE_FORM_REMOVED = pair(
    ("jsonrpc-message-form-added", "A form of JSON-RPC message was added, such as a batch."),
    ("jsonrpc-message-form-removed", "A form of JSON-RPC message was removed, such as a batch."),
    check=added(FrameSite, spell),
    change=Change.WIDENS,
    advice=("Send it only to peers of the new revision.", "Send its messages one by one."),
    to_receivers=("Accept it.", "Keep accepting it from peers of the old revision."),
    breaks_source=(True, True),
)
ENVELOPE_MEMBER_DECLARED, ENVELOPE_MEMBER_UNDECLARED = pair(
    ("envelope-member-declared", "The definition of a message now declares a JSON-RPC frame property."),
    ("envelope-member-undeclared", "The definition of a message no longer declares a JSON-RPC frame property."),
    check=added(EnvelopeSite),
    advice=("Pass the property if you build whole messages yourself.", "Read the property from the frame itself."),
    breaks_source=(True, True),
)


ERROR_CODE_ADDED, ERROR_CODE_REMOVED = pair(
    ("error-code-added", "An error code was added; any integer is a valid code."),
    ("error-code-removed", "An error code was removed."),
    check=added(ErrorSite),
    advice=(
        "Send it only to peers of the new revision, and treat an unknown code like any other failure.",
        "Answer with one of the remaining codes, and keep handling it for peers of the old revision.",
    ),
    breaks_source=(False, True),
    severity=Severity.WARNING,
)
ERROR_CODE_RENUMBERED = Rule(
    id="error-code-renumbered",
    purpose="The code of an error changed.",
    change=Change.BOTH,
    advice="Use the code from the peer's revision.",
    to_receivers="Accept both codes.",
    check=replaced(ErrorSite),
    breaks_source=True,
    unprovable=_OPEN_CODES,
)

"""Rules on messages: which exist, how a request may be answered, and the JSON-RPC frames around them."""

from collections.abc import Callable
from operator import attrgetter

from mcp_bindgen.diff.rule import NOTHING, Change, Reading, Rule, Severity, SourceBreak, added, mirrors, on, replaced
from mcp_bindgen.diff.sites import AlternativeSite, EnvelopeSite, ErrorSite, FrameSite, MethodSite, ResultTypeSite
from mcp_bindgen.ir.spell import spell

_OPEN_CODES = "any integer is a valid code: a receiver that does not know it cannot reject the message, only misread it"


def _added(*, request: bool) -> Callable[[MethodSite], Reading | None]:
    def read(site: MethodSite) -> Reading | None:
        new = site.after if site.before is None else None
        way = f" ({site.way})" if site.way else ""
        return (NOTHING, f"{new.name}{way}") if new and new.is_request is request else None

    return read


REQUEST_METHOD_ADDED, REQUEST_METHOD_REMOVED = mirrors(
    Rule(
        id="request-method-added",
        purpose="A request, or a direction for one, was added that older receivers do not support.",
        change=Change.WIDENS,
        advice="Send it only to peers of the new revision.",
        to_receivers="Answer it, at least with the error for unknown methods (-32601).",
        check=on(MethodSite, _added(request=True)),
    ),
    Rule(
        id="request-method-removed",
        purpose="A request was removed, or is no longer sent in this direction.",
        advice="Stop sending it to peers of the new revision.",
        to_receivers="Keep answering it for peers of the old revision.",
        breaks_source=True,
    ),
)
NOTIFICATION_METHOD_ADDED, NOTIFICATION_METHOD_REMOVED = mirrors(
    Rule(
        id="notification-method-added",
        purpose="A notification, or a direction for one, was added. Older receivers ignore it.",
        check=on(MethodSite, _added(request=False)),
    ),
    SourceBreak(
        id="notification-method-removed",
        purpose="A notification was removed, or is no longer sent in this direction."
        " Peers that still send it are ignored.",
        advice="Use another way to detect the event.",
    ),
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
RESULT_ALTERNATIVE_ADDED, RESULT_ALTERNATIVE_REMOVED = mirrors(
    Rule(
        id="result-alternative-added",
        purpose="A request may now be answered with an additional kind of result.",
        change=Change.WIDENS,
        advice="Answer this way only if the peer uses the new revision.",
        to_receivers="Check which kind of result arrived.",
        check=added(AlternativeSite, attrgetter("name")),
        breaks_source=True,
    ),
    Rule(
        id="result-alternative-removed",
        purpose="A request can no longer be answered with this kind of result.",
        advice="Answer with one of the remaining kinds.",
        to_receivers="Keep handling it for peers of the old revision.",
    ),
)
RESULT_TYPE_ADDED, RESULT_TYPE_REMOVED = mirrors(
    Rule(
        id="result-type-added",
        purpose="A type was added to the union of results.",
        advice="No action needed: the findings on methods say which request gets it.",
        check=added(ResultTypeSite),
    ),
    Rule(
        id="result-type-removed",
        purpose="A type was removed from the union of results.",
        advice="No action needed: the findings on methods say which request got it.",
    ),
)
JSONRPC_MESSAGE_FORM_ADDED, JSONRPC_MESSAGE_FORM_REMOVED = mirrors(
    Rule(
        id="jsonrpc-message-form-added",
        purpose="A form of JSON-RPC message was added, such as a batch.",
        change=Change.WIDENS,
        advice="Send it only to peers of the new revision.",
        to_receivers="Accept it.",
        check=added(FrameSite, spell),
        breaks_source=True,
    ),
    Rule(
        id="jsonrpc-message-form-removed",
        purpose="A form of JSON-RPC message was removed, such as a batch.",
        advice="Send its messages one by one.",
        to_receivers="Keep accepting it from peers of the old revision.",
    ),
)
ENVELOPE_MEMBER_DECLARED, ENVELOPE_MEMBER_UNDECLARED = mirrors(
    SourceBreak(
        id="envelope-member-declared",
        purpose="The definition of a message now declares a JSON-RPC frame property.",
        advice="Pass the property if you build whole messages yourself.",
        check=added(EnvelopeSite),
    ),
    Rule(
        id="envelope-member-undeclared",
        purpose="The definition of a message no longer declares a JSON-RPC frame property.",
        advice="Read the property from the frame itself.",
    ),
)


ERROR_CODE_ADDED, ERROR_CODE_REMOVED = mirrors(
    Rule(
        id="error-code-added",
        purpose="An error code was added; any integer is a valid code.",
        advice="Send it only to peers of the new revision, and treat an unknown code like any other failure.",
        severity=Severity.WARNING,
        check=added(ErrorSite),
    ),
    Rule(
        id="error-code-removed",
        purpose="An error code was removed.",
        advice="Answer with one of the remaining codes, and keep handling it for peers of the old revision.",
        breaks_source=True,
    ),
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

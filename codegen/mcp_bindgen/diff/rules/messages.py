"""Rules on messages: which exist, how a request may be answered, and the JSON-RPC frames around them."""

from collections.abc import Callable

from mcp_bindgen.diff.rule import NOTHING, Change, Reading, Rule, Severity, on
from mcp_bindgen.diff.sites import (
    AlternativeSite,
    EnvelopeSite,
    ErrorSite,
    FrameSite,
    MethodSite,
    ResultTypeSite,
)
from mcp_bindgen.ir.nodes import Method
from mcp_bindgen.ir.spell import spell

_OPEN_CODES = "any integer is a valid code: a receiver that does not know it cannot reject the message, only misread it"


def _on_its_way(method: Method, site: MethodSite) -> str:
    return f"{method.name} ({site.way})" if site.way else method.name


def _added(*, request: bool) -> Callable[[MethodSite], Reading | None]:
    def read(site: MethodSite) -> Reading | None:
        is_new = site.before is None and site.after is not None and site.after.is_request is request
        return (NOTHING, _on_its_way(site.after, site)) if is_new and site.after else None

    return read


def _removed(*, request: bool) -> Callable[[MethodSite], Reading | None]:
    def read(site: MethodSite) -> Reading | None:
        is_gone = site.after is None and site.before is not None and site.before.is_request is request
        return (_on_its_way(site.before, site), NOTHING) if is_gone and site.before else None

    return read


REQUEST_METHOD_ADDED = Rule(
    id="request-method-added",
    purpose="A request, or a direction for one, was added that older receivers do not support.",
    change=Change.WIDENS,
    advice="Send it only to peers of the new revision.",
    to_receivers="Answer it, at least with the error for unknown methods (-32601).",
    check=on(MethodSite, _added(request=True)),
    mirror="request-method-removed",
    one_sided=True,
)
REQUEST_METHOD_REMOVED = Rule(
    id="request-method-removed",
    purpose="A request was removed, or is no longer sent in this direction.",
    change=Change.NARROWS,
    advice="Stop sending it to peers of the new revision.",
    to_receivers="Keep answering it for peers of the old revision.",
    check=on(MethodSite, _removed(request=True)),
    breaks_source=True,
    mirror="request-method-added",
    one_sided=True,
)
NOTIFICATION_METHOD_ADDED = Rule(
    id="notification-method-added",
    purpose="A notification, or a direction for one, was added. Older receivers ignore it.",
    advice="No action needed.",
    check=on(MethodSite, _added(request=False)),
    mirror="notification-method-removed",
    one_sided=True,
)
NOTIFICATION_METHOD_REMOVED = Rule(
    id="notification-method-removed",
    purpose="A notification was removed, or is no longer sent in this direction. Peers that still send it are ignored.",
    advice="Use another way to detect the event.",
    check=on(MethodSite, _removed(request=False)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="notification-method-added",
    one_sided=True,
)


def _renamed(site: MethodSite) -> Reading | None:
    before, after = site.before, site.after
    if before is None or after is None or before.name == after.name:
        return None
    return before.name, after.name


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
    check=on(MethodSite, _renamed),
    severity=Severity.WARNING,
    change_at=_of_request,
    breaks_source=True,
    mirror="method-renamed",
)
RESULT_ALTERNATIVE_ADDED = Rule(
    id="result-alternative-added",
    purpose="A request may now be answered with an additional kind of result.",
    change=Change.WIDENS,
    advice="Answer this way only if the peer uses the new revision.",
    to_receivers="Check which kind of result arrived.",
    check=on(AlternativeSite, lambda s: (NOTHING, s.after.name) if s.after and not s.before else None),
    breaks_source=True,
    mirror="result-alternative-removed",
)
RESULT_ALTERNATIVE_REMOVED = Rule(
    id="result-alternative-removed",
    purpose="A request can no longer be answered with this kind of result.",
    change=Change.NARROWS,
    advice="Answer with one of the remaining kinds.",
    to_receivers="Keep handling it for peers of the old revision.",
    check=on(AlternativeSite, lambda s: (s.before.name, NOTHING) if s.before and not s.after else None),
    breaks_source=True,
    mirror="result-alternative-added",
)
RESULT_TYPE_ADDED = Rule(
    id="result-type-added",
    purpose="A type was added to the union of results.",
    advice="No action needed: the findings on methods say which request gets it.",
    check=on(ResultTypeSite, lambda s: (NOTHING, s.after) if s.after and not s.before else None),
    mirror="result-type-removed",
)
RESULT_TYPE_REMOVED = Rule(
    id="result-type-removed",
    purpose="A type was removed from the union of results.",
    advice="No action needed: the findings on methods say which request got it.",
    check=on(ResultTypeSite, lambda s: (s.before, NOTHING) if s.before and not s.after else None),
    mirror="result-type-added",
)
JSONRPC_MESSAGE_FORM_ADDED = Rule(
    id="jsonrpc-message-form-added",
    purpose="A form of JSON-RPC message was added, such as a batch.",
    change=Change.WIDENS,
    advice="Send it only to peers of the new revision.",
    to_receivers="Accept it.",
    check=on(FrameSite, lambda s: (NOTHING, spell(s.after)) if s.after and not s.before else None),
    breaks_source=True,
    mirror="jsonrpc-message-form-removed",
)
JSONRPC_MESSAGE_FORM_REMOVED = Rule(
    id="jsonrpc-message-form-removed",
    purpose="A form of JSON-RPC message was removed, such as a batch.",
    change=Change.NARROWS,
    advice="Send its messages one by one.",
    to_receivers="Keep accepting it from peers of the old revision.",
    check=on(FrameSite, lambda s: (spell(s.before), NOTHING) if s.before and not s.after else None),
    breaks_source=True,
    mirror="jsonrpc-message-form-added",
)
ENVELOPE_MEMBER_DECLARED = Rule(
    id="envelope-member-declared",
    purpose="The definition of a message now declares a JSON-RPC frame property.",
    advice="Pass the property if you build whole messages yourself.",
    check=on(EnvelopeSite, lambda s: (NOTHING, s.after) if s.after and not s.before else None),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="envelope-member-undeclared",
    one_sided=True,
)
ENVELOPE_MEMBER_UNDECLARED = Rule(
    id="envelope-member-undeclared",
    purpose="The definition of a message no longer declares a JSON-RPC frame property.",
    advice="Read the property from the frame itself.",
    check=on(EnvelopeSite, lambda s: (s.before, NOTHING) if s.before and not s.after else None),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="envelope-member-declared",
    one_sided=True,
)


def _codes(site: ErrorSite) -> Reading:
    before, after = (NOTHING if code is None else str(code) for code in (site.before, site.after))
    return before, after


ERROR_CODE_ADDED = Rule(
    id="error-code-added",
    purpose="An error code was added; any integer is a valid code.",
    advice="Send it only to peers of the new revision, and treat an unknown code like any other failure.",
    severity=Severity.WARNING,
    check=on(ErrorSite, lambda s: _codes(s) if s.before is None else None),
    mirror="error-code-removed",
    one_sided=True,
)
ERROR_CODE_REMOVED = Rule(
    id="error-code-removed",
    purpose="An error code was removed.",
    advice="Answer with one of the remaining codes, and keep handling it for peers of the old revision.",
    severity=Severity.WARNING,
    check=on(ErrorSite, lambda s: _codes(s) if s.after is None else None),
    breaks_source=True,
    mirror="error-code-added",
    one_sided=True,
)
ERROR_CODE_RENUMBERED = Rule(
    id="error-code-renumbered",
    purpose="The code of an error changed.",
    change=Change.BOTH,
    advice="Use the code from the peer's revision.",
    to_receivers="Accept both codes.",
    check=on(ErrorSite, lambda s: _codes(s) if s.before is not None and s.after is not None else None),
    breaks_source=True,
    mirror="error-code-renumbered",
    unprovable=_OPEN_CODES,
)

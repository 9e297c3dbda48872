"""Rules on messages: which exist, how a request may be answered, and the frames around them."""

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

_OPEN_CODES = "any integer is a valid code: a receiver that does not know it cannot refuse the message, only misread it"


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
    purpose="A request was added, or a direction in which it travels, that an older receiver does not know.",
    change=Change.WIDENS,
    advice="Send it only to peers of the new revision.",
    to_receivers="Answer it, if only with the error for unknown methods (-32601).",
    check=on(MethodSite, _added(request=True)),
    mirror="request-method-removed",
    one_sided=True,
)
REQUEST_METHOD_REMOVED = Rule(
    id="request-method-removed",
    purpose="A request was removed, or no longer travels in this direction.",
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
    purpose="A notification was added, or a direction in which it travels. Older receivers ignore it.",
    advice="Nothing to do.",
    check=on(MethodSite, _added(request=False)),
    mirror="notification-method-removed",
    one_sided=True,
)
NOTIFICATION_METHOD_REMOVED = Rule(
    id="notification-method-removed",
    purpose="A notification was removed, or no longer travels in this direction. Peers that still send it are ignored.",
    advice="Use another way to learn what it said.",
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
    """Say whom a new name breaks: a receiver ignores a notification that it does not know."""
    is_request = isinstance(site, MethodSite) and site.before is not None and site.before.is_request
    return Change.BOTH if is_request else Change.NONE


METHOD_RENAMED = Rule(
    id="method-renamed",
    purpose="A request or notification has a new method name and is otherwise the same.",
    change=Change.BOTH,
    advice="Send each peer the name that its revision uses.",
    to_receivers="Accept both names.",
    check=on(MethodSite, _renamed),
    severity=Severity.WARNING,
    change_at=_of_request,
    breaks_source=True,
    mirror="method-renamed",
)
RESULT_ALTERNATIVE_ADDED = Rule(
    id="result-alternative-added",
    purpose="A request may be answered with another kind of result.",
    change=Change.WIDENS,
    advice="Answer so only if the request comes from a peer of the new revision.",
    to_receivers="Look at which kind of result arrived.",
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
    purpose="The union of results has another member.",
    advice="Nothing to do: findings on each method say which request gets it.",
    check=on(ResultTypeSite, lambda s: (NOTHING, s.after) if s.after and not s.before else None),
    mirror="result-type-removed",
)
RESULT_TYPE_REMOVED = Rule(
    id="result-type-removed",
    purpose="The union of results has one member less.",
    advice="Nothing to do: findings on each method say which request got it.",
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
    purpose="The definition of a message now declares a property of its frame.",
    advice="Pass the property when you build the whole message yourself.",
    check=on(EnvelopeSite, lambda s: (NOTHING, s.after) if s.after and not s.before else None),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="envelope-member-undeclared",
    one_sided=True,
)
ENVELOPE_MEMBER_UNDECLARED = Rule(
    id="envelope-member-undeclared",
    purpose="The definition of a message no longer declares a property of its frame.",
    advice="Read the property from the frame.",
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
    purpose="An error code was added.",
    change=Change.WIDENS,
    advice="Send it only to peers of the new revision.",
    to_receivers="Treat an unknown code like any other failure.",
    check=on(ErrorSite, lambda s: _codes(s) if s.before is None else None),
    mirror="error-code-removed",
    one_sided=True,
    unprovable=_OPEN_CODES,
)
ERROR_CODE_REMOVED = Rule(
    id="error-code-removed",
    purpose="An error code was removed.",
    change=Change.NARROWS,
    advice="Answer with one of the remaining codes.",
    to_receivers="Keep handling it for peers of the old revision.",
    check=on(ErrorSite, lambda s: _codes(s) if s.after is None else None),
    breaks_source=True,
    mirror="error-code-added",
    one_sided=True,
    unprovable=_OPEN_CODES,
)
ERROR_CODE_RENUMBERED = Rule(
    id="error-code-renumbered",
    purpose="An error has another code.",
    change=Change.BOTH,
    advice="Send each peer the code that its revision uses.",
    to_receivers="Accept both codes.",
    check=on(ErrorSite, lambda s: _codes(s) if s.before is not None and s.after is not None else None),
    breaks_source=True,
    mirror="error-code-renumbered",
    unprovable=_OPEN_CODES,
)

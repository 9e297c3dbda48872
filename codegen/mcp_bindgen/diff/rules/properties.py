"""Rules on the properties of objects that messages carry."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from mcp_bindgen.diff.rule import (
    NO_ACTION,
    NOTHING,
    Change,
    Reading,
    Rule,
    added,
    changed,
    on,
    pair,
    replaced,
)
from mcp_bindgen.diff.sites import ForbiddenSite, Ground, MoveSite, PropertySite, RestSite, UnsentSite
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.nodes import Field, Kind
from mcp_bindgen.ir.spell import spell


def typed(field: Field) -> str:
    """Spell the type of a property."""
    return spell(field.type)


def _optional(ground: Ground) -> Callable[[Any], bool]:
    return lambda site: not site.after.required and site.ground is ground


def now_required(site: PropertySite | UnsentSite) -> Reading | None:
    """Return the readings of a property that became required."""
    is_changed = site.before and site.after and site.after.required and not site.before.required
    return ("optional", "required") if is_changed else None


PROPERTY_ADDED_OPTIONAL, PROPERTY_REMOVED_OPTIONAL = pair(
    ("property-added-optional", "An optional property was added."),
    ("property-removed-optional", "An optional property was removed. Peers that still send it are ignored."),
    check=added(PropertySite, typed, _optional(Ground.OPEN)),
    advice=(NO_ACTION, "Do not rely on it."),
    breaks_source=(False, True),
)
PROPERTY_ADDED_REQUIRED, PROPERTY_REMOVED_REQUIRED = pair(
    ("property-added-required", "A required property was added."),
    ("property-removed-required", "A required property was removed."),
    check=added(PropertySite, typed, lambda site: site.after.required),
    change=Change.NARROWS,
    advice=("Always send it.", "Keep sending it to peers of the old revision."),
    to_receivers=("Accept its absence from peers of the old revision.", "Accept its absence."),
    breaks_source=(True, True),
)
PROPERTY_NOW_REQUIRED, PROPERTY_NOW_OPTIONAL = pair(
    ("property-now-required", "An optional property became required."),
    ("property-now-optional", "A required property became optional."),
    check=on(PropertySite, now_required),
    change=Change.NARROWS,
    advice=("Always send it.", "Keep sending it to peers of the old revision."),
    to_receivers=("Accept its absence from peers of the old revision.", "Accept its absence."),
    breaks_source=(True, True),
)
PROPERTY_RENAMED = Rule(
    id="property-renamed",
    purpose="A property was renamed.",
    change=Change.BOTH,
    advice="Use the name from the peer's revision.",
    to_receivers="Accept both names.",
    check=replaced(PropertySite, attrgetter("wire_name")),
    severity=Severity.WARNING,
    breaks_source=True,
)
ADDITIONAL_PROPERTIES_CLOSED, ADDITIONAL_PROPERTIES_OPENED = pair(
    ("additional-properties-closed", "Undeclared properties are now rejected."),
    ("additional-properties-opened", "Undeclared properties are now accepted."),
    check=on(RestSite, lambda site: ("open", "closed") if site.before and not site.after else None),
    change=Change.NARROWS,
    advice=("Send declared properties only.", "Send declared properties only to peers of the old revision."),
    to_receivers=(
        "Ignore undeclared properties from peers of the old revision.",
        "Ignore properties that you do not know.",
    ),
    breaks_source=(True, True),
)
PROPERTY_MOVED = Rule(
    id="property-moved",
    purpose="A property moved into or out of a sibling object.",
    change=Change.BOTH,
    advice="Send the property where the peer's revision expects it.",
    to_receivers="Accept the property in both places.",
    check=changed(MoveSite),
    severity=Severity.WARNING,
    breaks_source=True,
)
PROPERTY_CONSTRAINT_ADDED, PROPERTY_CONSTRAINT_DROPPED = pair(
    ("property-constraint-added", "A keyword of an open JSON Schema now has a declared type."),
    (
        "property-constraint-dropped",
        "A keyword of an open JSON Schema no longer has a declared type: any value is valid.",
    ),
    check=added(PropertySite, typed, _optional(Ground.SCHEMA)),
    change=Change.NARROWS,
    advice=("Send only values of the declared type.", "Keep to the old type for peers of the old revision."),
    to_receivers=("Expect any value from peers of the old revision.", "Check its type before you use it."),
    breaks_source=(True, True),
)
PROPERTY_ADDED_TO_CLOSED, PROPERTY_REMOVED_FROM_CLOSED = pair(
    ("property-added-to-closed", "A property was added to a closed object; peers of the old revision reject it."),
    ("property-removed-from-closed", "A property of a closed object was removed and is now rejected."),
    check=added(PropertySite, typed, lambda site: site.ground is Ground.CLOSED),
    change=Change.WIDENS,
    advice=("Send it only to peers of the new revision.", "Stop sending it to peers of the new revision."),
    to_receivers=("Accept it.", "Keep accepting it from peers of the old revision."),
    breaks_source=(False, True),
)
PROPERTY_FORBIDDEN, PROPERTY_ALLOWED = pair(
    ("property-forbidden", "A property is now rejected, whatever its value."),
    ("property-allowed", "A property that was rejected, whatever its value, is now accepted."),
    check=on(ForbiddenSite, lambda site: (site.before or NOTHING, site.after) if site.after == Kind.NEVER else None),
    change=Change.NARROWS,
    advice=("Stop sending it to peers of the new revision.", "Send it only to peers of the new revision."),
    to_receivers=("Ignore it from peers of the old revision.", "Accept it."),
    breaks_source=(True, True),
)
CAPABILITY_ADDED, CAPABILITY_REMOVED = pair(
    ("capability-added", "A capability was added."),
    ("capability-removed", "A capability was removed."),
    check=added(PropertySite, typed, _optional(Ground.CAPABILITIES)),
    advice=("Declare it if your program supports it.", "Do not rely on the feature that it announced."),
    breaks_source=(False, True),
)

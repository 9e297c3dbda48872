"""Rules on the properties of objects that messages carry."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from mcp_bindgen.diff.rule import Change, Reading, Rule, Severity, SourceBreak, added, changed, mirrors, on, replaced
from mcp_bindgen.diff.sites import Ground, MoveSite, PropertySite, RestSite, UnsentSite
from mcp_bindgen.ir.nodes import Field
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


PROPERTY_ADDED_OPTIONAL, PROPERTY_REMOVED_OPTIONAL = mirrors(
    Rule(
        id="property-added-optional",
        purpose="An optional property was added.",
        check=added(PropertySite, typed, _optional(Ground.OPEN)),
    ),
    SourceBreak(
        id="property-removed-optional",
        purpose="An optional property was removed. Peers that still send it are ignored.",
        advice="Do not rely on it.",
    ),
)
PROPERTY_ADDED_REQUIRED, PROPERTY_REMOVED_REQUIRED = mirrors(
    Rule(
        id="property-added-required",
        purpose="A required property was added.",
        change=Change.NARROWS,
        advice="Always send it.",
        to_receivers="Accept its absence from peers of the old revision.",
        check=added(PropertySite, typed, lambda site: site.after.required),
        breaks_source=True,
    ),
    Rule(
        id="property-removed-required",
        purpose="A required property was removed.",
        advice="Keep sending it to peers of the old revision.",
        to_receivers="Accept its absence.",
    ),
)
PROPERTY_NOW_REQUIRED, PROPERTY_NOW_OPTIONAL = mirrors(
    Rule(
        id="property-now-required",
        purpose="An optional property became required.",
        change=Change.NARROWS,
        advice="Always send it.",
        to_receivers="Accept its absence from peers of the old revision.",
        check=on(PropertySite, now_required),
        breaks_source=True,
    ),
    Rule(
        id="property-now-optional",
        purpose="A required property became optional.",
        advice="Keep sending it to peers of the old revision.",
        to_receivers="Accept its absence.",
    ),
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
ADDITIONAL_PROPERTIES_CLOSED, ADDITIONAL_PROPERTIES_OPENED = mirrors(
    Rule(
        id="additional-properties-closed",
        purpose="Undeclared properties are now rejected.",
        change=Change.NARROWS,
        advice="Send declared properties only.",
        to_receivers="Ignore undeclared properties from peers of the old revision.",
        check=on(RestSite, lambda site: ("open", "closed") if site.before and not site.after else None),
        breaks_source=True,
    ),
    Rule(
        id="additional-properties-opened",
        purpose="Undeclared properties are now accepted.",
        advice="Send declared properties only to peers of the old revision.",
        to_receivers="Ignore properties that you do not know.",
    ),
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
PROPERTY_CONSTRAINT_ADDED, PROPERTY_CONSTRAINT_DROPPED = mirrors(
    Rule(
        id="property-constraint-added",
        purpose="A keyword of an open JSON Schema now has a declared type.",
        change=Change.NARROWS,
        advice="Send only values of the declared type.",
        to_receivers="Expect any value from peers of the old revision.",
        check=added(PropertySite, typed, _optional(Ground.SCHEMA)),
        breaks_source=True,
    ),
    Rule(
        id="property-constraint-dropped",
        purpose="A keyword of an open JSON Schema no longer has a declared type: any value is valid.",
        advice="Keep to the old type for peers of the old revision.",
        to_receivers="Check its type before you use it.",
    ),
)
PROPERTY_ADDED_TO_CLOSED, PROPERTY_REMOVED_FROM_CLOSED = mirrors(
    Rule(
        id="property-added-to-closed",
        purpose="A property was added to a closed object; peers of the old revision reject it.",
        change=Change.WIDENS,
        advice="Send it only to peers of the new revision.",
        to_receivers="Accept it.",
        check=added(PropertySite, typed, lambda site: site.ground is Ground.CLOSED),
    ),
    Rule(
        id="property-removed-from-closed",
        purpose="A property of a closed object was removed and is now rejected.",
        advice="Stop sending it to peers of the new revision.",
        to_receivers="Keep accepting it from peers of the old revision.",
        breaks_source=True,
    ),
)
CAPABILITY_ADDED, CAPABILITY_REMOVED = mirrors(
    Rule(
        id="capability-added",
        purpose="A capability was added.",
        advice="Declare it if your program supports it.",
        check=added(PropertySite, typed, _optional(Ground.CAPABILITIES)),
    ),
    SourceBreak(
        id="capability-removed",
        purpose="A capability was removed.",
        advice="Do not rely on the feature that it announced.",
    ),
)

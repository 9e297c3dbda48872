"""Rules on the properties of objects that messages carry."""

from collections.abc import Callable

from mcp_bindgen.diff.rule import NOTHING, Change, Reading, Rule, Severity, on
from mcp_bindgen.diff.sites import Ground, MoveSite, PropertySite, RestSite
from mcp_bindgen.ir.spell import spell

_Read = Callable[[PropertySite], Reading | None]


def _added(*grounds: Ground, required: bool) -> _Read:
    def read(site: PropertySite) -> Reading | None:
        new = site.after if site.before is None else None
        return (NOTHING, spell(new.type)) if new and new.required is required and site.ground in grounds else None

    return read


def _removed(*grounds: Ground, required: bool) -> _Read:
    def read(site: PropertySite) -> Reading | None:
        old = site.before if site.after is None else None
        return (spell(old.type), NOTHING) if old and old.required is required and site.ground in grounds else None

    return read


def _now(*, required: bool) -> _Read:
    readings = ("optional", "required") if required else ("required", "optional")

    def read(site: PropertySite) -> Reading | None:
        before, after = site.before, site.after
        if before is None or after is None or before.required == after.required:
            return None
        return readings if after.required is required else None

    return read


def _renamed(site: PropertySite) -> Reading | None:
    before, after = site.before, site.after
    if before is None or after is None or before.wire_name == after.wire_name:
        return None
    return before.wire_name, after.wire_name


def _to_closed(site: PropertySite) -> Reading | None:
    is_new = site.ground is Ground.CLOSED and site.before is None
    return (NOTHING, spell(site.after.type)) if is_new and site.after else None


def _from_closed(site: PropertySite) -> Reading | None:
    is_gone = site.ground is Ground.CLOSED and site.after is None
    return (spell(site.before.type), NOTHING) if is_gone and site.before else None


PROPERTY_ADDED_OPTIONAL = Rule(
    id="property-added-optional",
    purpose="An optional property was added.",
    advice="No action needed.",
    check=on(PropertySite, _added(Ground.OPEN, required=False)),
    mirror="property-removed-optional",
    one_sided=True,
)
PROPERTY_ADDED_REQUIRED = Rule(
    id="property-added-required",
    purpose="A required property was added.",
    change=Change.NARROWS,
    advice="Always send it.",
    to_receivers="Accept its absence from peers of the old revision.",
    check=on(PropertySite, _added(*Ground, required=True)),
    breaks_source=True,
    mirror="property-removed-required",
    one_sided=True,
)
PROPERTY_REMOVED_OPTIONAL = Rule(
    id="property-removed-optional",
    purpose="An optional property was removed. Peers that still send it are ignored.",
    advice="Do not rely on it.",
    check=on(PropertySite, _removed(Ground.OPEN, required=False)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="property-added-optional",
    one_sided=True,
)
PROPERTY_REMOVED_REQUIRED = Rule(
    id="property-removed-required",
    purpose="A required property was removed.",
    change=Change.WIDENS,
    advice="Keep sending it to peers of the old revision.",
    to_receivers="Accept its absence.",
    check=on(PropertySite, _removed(*Ground, required=True)),
    breaks_source=True,
    mirror="property-added-required",
    one_sided=True,
)
PROPERTY_NOW_REQUIRED = Rule(
    id="property-now-required",
    purpose="An optional property became required.",
    change=Change.NARROWS,
    advice="Always send it.",
    to_receivers="Accept its absence from peers of the old revision.",
    check=on(PropertySite, _now(required=True)),
    breaks_source=True,
    mirror="property-now-optional",
)
PROPERTY_NOW_OPTIONAL = Rule(
    id="property-now-optional",
    purpose="A required property became optional.",
    change=Change.WIDENS,
    advice="Keep sending it to peers of the old revision.",
    to_receivers="Accept its absence.",
    check=on(PropertySite, _now(required=False)),
    breaks_source=True,
    mirror="property-now-required",
)
PROPERTY_RENAMED = Rule(
    id="property-renamed",
    purpose="A property was renamed.",
    change=Change.BOTH,
    advice="Use the name from the peer's revision.",
    to_receivers="Accept both names.",
    check=on(PropertySite, _renamed),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="property-renamed",
)
ADDITIONAL_PROPERTIES_CLOSED = Rule(
    id="additional-properties-closed",
    purpose="Undeclared properties are now rejected.",
    change=Change.NARROWS,
    advice="Send declared properties only.",
    to_receivers="Ignore undeclared properties from peers of the old revision.",
    check=on(RestSite, lambda site: ("open", "closed") if site.before and not site.after else None),
    breaks_source=True,
    mirror="additional-properties-opened",
)
ADDITIONAL_PROPERTIES_OPENED = Rule(
    id="additional-properties-opened",
    purpose="Undeclared properties are now accepted.",
    change=Change.WIDENS,
    advice="Send declared properties only to peers of the old revision.",
    to_receivers="Ignore properties that you do not know.",
    check=on(RestSite, lambda site: ("closed", "open") if site.after and not site.before else None),
    breaks_source=True,
    mirror="additional-properties-closed",
)
PROPERTY_MOVED = Rule(
    id="property-moved",
    purpose="A property moved into or out of a sibling object.",
    change=Change.BOTH,
    advice="Send the property where the peer's revision expects it.",
    to_receivers="Accept the property in both places.",
    check=on(MoveSite, lambda site: (site.before, site.after)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="property-moved",
)
PROPERTY_CONSTRAINT_ADDED = Rule(
    id="property-constraint-added",
    purpose="A keyword of an open JSON Schema now has a declared type.",
    change=Change.NARROWS,
    advice="Send only values of the declared type.",
    to_receivers="Expect any value from peers of the old revision.",
    check=on(PropertySite, _added(Ground.SCHEMA, required=False)),
    breaks_source=True,
    mirror="property-constraint-dropped",
    one_sided=True,
)
PROPERTY_CONSTRAINT_DROPPED = Rule(
    id="property-constraint-dropped",
    purpose="A keyword of an open JSON Schema no longer has a declared type: any value is valid.",
    change=Change.WIDENS,
    advice="Keep to the old type for peers of the old revision.",
    to_receivers="Check its type before you use it.",
    check=on(PropertySite, _removed(Ground.SCHEMA, required=False)),
    breaks_source=True,
    mirror="property-constraint-added",
    one_sided=True,
)
PROPERTY_ADDED_TO_CLOSED = Rule(
    id="property-added-to-closed",
    purpose="A property was added to a closed object; peers of the old revision reject it.",
    change=Change.WIDENS,
    advice="Send it only to peers of the new revision.",
    to_receivers="Accept it.",
    check=on(PropertySite, _to_closed),
    mirror="property-removed-from-closed",
    one_sided=True,
)
PROPERTY_REMOVED_FROM_CLOSED = Rule(
    id="property-removed-from-closed",
    purpose="A property of a closed object was removed and is now rejected.",
    change=Change.NARROWS,
    advice="Stop sending it to peers of the new revision.",
    to_receivers="Keep accepting it from peers of the old revision.",
    check=on(PropertySite, _from_closed),
    breaks_source=True,
    mirror="property-added-to-closed",
    one_sided=True,
)
CAPABILITY_ADDED = Rule(
    id="capability-added",
    purpose="A capability was added.",
    advice="Declare it if your program supports it.",
    check=on(PropertySite, _added(Ground.CAPABILITIES, required=False)),
    mirror="capability-removed",
    one_sided=True,
)
CAPABILITY_REMOVED = Rule(
    id="capability-removed",
    purpose="A capability was removed.",
    advice="Do not rely on the feature that it announced.",
    check=on(PropertySite, _removed(Ground.CAPABILITIES, required=False)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="capability-added",
    one_sided=True,
)

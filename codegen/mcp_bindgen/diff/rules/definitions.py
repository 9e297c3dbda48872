"""Rules on definitions: which exist, their names, and the Python classes generated from them.

None of these changes is visible in a message. Properties of definitions that messages carry have wire rules; the rules
on properties here are for definitions outside the messages that both revisions share, such as abstract bases and
envelopes.
"""

from mcp_bindgen.diff.rule import NO_ACTION, Reading, Rule, SourceBreak, added, changed, on, pair, replaced
from mcp_bindgen.diff.rules.properties import now_required, typed
from mcp_bindgen.diff.sites import AliasSite, BaseSite, DefinitionSite, OrderSite, ReferenceSite, UnsentSite
from mcp_bindgen.ir.nodes import Field

DEFINITION_ADDED, DEFINITION_REMOVED = pair(
    ("definition-added", "A definition was added."),
    ("definition-removed", "A definition was removed, and its class with it."),
    check=changed(DefinitionSite),
    advice=(NO_ACTION, "Remove imports of it."),
    breaks_source=(False, True),
)
DEFINITION_RENAMED = SourceBreak(
    id="definition-renamed",
    purpose="A definition was renamed.",
    advice="Import it under its new name.",
    check=changed(DefinitionSite),
)
DEFINITION_SPLIT, DEFINITION_MERGED = pair(
    ("definition-split", "A definition was split into several."),
    ("definition-merged", "Several definitions were merged into one."),
    check=changed(DefinitionSite),
    advice=("Use the one that applies.", "Use the remaining one."),
    breaks_source=(True, True),
)
DEFINITION_NAME_REUSED = SourceBreak(
    id="definition-name-reused",
    purpose="A name was reused for a different definition; code that uses it may fail silently.",
    advice="Check every use of the name.",
    check=changed(DefinitionSite),
)
BASE_ADDED, BASE_REMOVED = pair(
    ("base-added", "A definition now extends an additional base."),
    ("base-removed", "A definition no longer extends a base."),
    check=added(BaseSite),
    advice=(NO_ACTION, "Annotate with both classes where either is accepted."),
    breaks_source=(False, True),
)


TYPE_NAMED, TYPE_INLINED = pair(
    ("type-named", "An inline type became a definition."),
    ("type-inlined", "A definition became an inline type."),
    check=changed(ReferenceSite),
    advice=(
        "No action needed: the class keeps its name unless another finding says otherwise.",
        "If the old class was removed, use the class generated for the property.",
    ),
    breaks_source=(False, True),
)
REF_RETARGETED = Rule(
    id="ref-retargeted",
    purpose="A type reference names a different definition with the same content.",
    advice="Use the class with the new name in constructor calls and annotations.",
    check=changed(ReferenceSite),
    breaks_source=True,
)
OBJECT_DECLARED, OBJECT_UNDECLARED = pair(
    ("object-declared", "An object with arbitrary properties now declares some: a dict became a class."),
    ("object-undeclared", "An object with declared properties now has arbitrary ones: a class became a dict."),
    check=changed(ReferenceSite),
    advice=("Construct the class and read its attributes.", "Build a dict and read its keys."),
    breaks_source=(True, True),
)


def _is_demanded(field: Field) -> bool:
    """Whether a constructor requires the property; it fills in constants itself."""
    return field.required and not field.is_constant


def _retyped(site: UnsentSite) -> Reading | None:
    return (typed(site.before), typed(site.after)) if site.retyped and site.before and site.after else None


MEMBER_ADDED_OPTIONAL, MEMBER_REMOVED_OPTIONAL = pair(
    ("member-added-optional", "An optional field was added to a class outside the messages that both sides have."),
    (
        "member-removed-optional",
        "An optional field was removed from a class outside the messages that both sides have.",
    ),
    check=added(UnsentSite, typed, lambda site: not _is_demanded(site.after)),
    advice=(NO_ACTION, "Stop using it."),
    breaks_source=(False, True),
)
MEMBER_ADDED_REQUIRED, MEMBER_REMOVED_REQUIRED = pair(
    ("member-added-required", "A required field was added to a class outside the messages that both sides have."),
    ("member-removed-required", "A required field was removed from a class outside the messages that both sides have."),
    check=added(UnsentSite, typed, lambda site: _is_demanded(site.after)),
    advice=("Pass it.", "Stop using it."),
    breaks_source=(True, True),
)
MEMBER_NOW_REQUIRED, MEMBER_NOW_OPTIONAL = pair(
    ("member-now-required", "A field of a class outside the messages that both sides have became required."),
    ("member-now-optional", "A field of a class outside the messages that both sides have may now be None."),
    check=on(UnsentSite, now_required),
    advice=("Pass it.", "Check it for None."),
    breaks_source=(True, True),
)
MEMBER_TYPE_CHANGED = SourceBreak(
    id="member-type-changed",
    purpose="The type of a field of a class outside the messages that both sides have changed.",
    advice="Check every use of it.",
    check=on(UnsentSite, _retyped),
)
PARAMS_REORDERED = SourceBreak(
    id="params-reordered",
    purpose="The order of the params of a message changed: callers that pass them by position pass other ones.",
    advice="Pass them by name.",
    check=replaced(OrderSite, ", ".join),
)
ALIAS_CHANGED = SourceBreak(
    id="alias-changed",
    purpose="The target of a type alias outside the messages that both sides have changed.",
    advice="Check every use of the name.",
    check=changed(AliasSite),
)

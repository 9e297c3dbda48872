"""Rules on definitions: which exist, their names, and the Python classes generated from them.

None of these changes is visible in a message. Properties of definitions that messages carry have wire rules; the rules
on properties here are for definitions outside the messages that both revisions share, such as abstract bases and
envelopes.
"""

from mcp_bindgen.diff.rule import Reading, Rule, SourceBreak, added, changed, mirrors, on
from mcp_bindgen.diff.rules.properties import now_required, typed
from mcp_bindgen.diff.sites import AliasSite, BaseSite, DefinitionSite, ReferenceSite, UnsentSite
from mcp_bindgen.ir.nodes import Field

DEFINITION_ADDED, DEFINITION_REMOVED = mirrors(
    Rule(id="definition-added", purpose="A definition was added.", check=changed(DefinitionSite)),
    SourceBreak(
        id="definition-removed",
        purpose="A definition was removed, and its class with it.",
        advice="Remove imports of it.",
    ),
)
DEFINITION_RENAMED = SourceBreak(
    id="definition-renamed",
    purpose="A definition was renamed.",
    advice="Import it under its new name.",
    check=changed(DefinitionSite),
)
DEFINITION_SPLIT, DEFINITION_MERGED = mirrors(
    SourceBreak(
        id="definition-split",
        purpose="A definition was split into several.",
        advice="Use the one that applies.",
        check=changed(DefinitionSite),
    ),
    Rule(
        id="definition-merged",
        purpose="Several definitions were merged into one.",
        advice="Use the remaining one.",
    ),
)
DEFINITION_NAME_REUSED = SourceBreak(
    id="definition-name-reused",
    purpose="A name was reused for a different definition; code that uses it may fail silently.",
    advice="Check every use of the name.",
    check=changed(DefinitionSite),
)
BASE_ADDED, BASE_REMOVED = mirrors(
    Rule(id="base-added", purpose="A definition now extends an additional base.", check=added(BaseSite)),
    SourceBreak(
        id="base-removed",
        purpose="A definition no longer extends a base.",
        advice="Annotate with both classes where either is accepted.",
    ),
)


TYPE_NAMED, TYPE_INLINED = mirrors(
    Rule(
        id="type-named",
        purpose="An inline type became a definition.",
        advice="No action needed: the class keeps its name unless another finding says otherwise.",
        check=changed(ReferenceSite),
    ),
    SourceBreak(
        id="type-inlined",
        purpose="A definition became an inline type.",
        advice="If the old class was removed, use the class generated for the property.",
    ),
)
REF_RETARGETED = Rule(
    id="ref-retargeted",
    purpose="A type reference names a different definition with the same content.",
    advice="Use the class with the new name in constructor calls and annotations.",
    check=changed(ReferenceSite),
    breaks_source=True,
)
OBJECT_DECLARED, OBJECT_UNDECLARED = mirrors(
    SourceBreak(
        id="object-declared",
        purpose="An object with arbitrary properties now declares some: a dict became a class.",
        advice="Construct the class and read its attributes.",
        check=changed(ReferenceSite),
    ),
    Rule(
        id="object-undeclared",
        purpose="An object with declared properties now has arbitrary ones: a class became a dict.",
        advice="Build a dict and read its keys.",
    ),
)


def _is_demanded(field: Field) -> bool:
    """Whether a constructor requires the property; it fills in constants itself."""
    return field.required and not field.is_constant


def _retyped(site: UnsentSite) -> Reading | None:
    return (typed(site.before), typed(site.after)) if site.retyped and site.before and site.after else None


MEMBER_ADDED_OPTIONAL, MEMBER_REMOVED_OPTIONAL = mirrors(
    Rule(
        id="member-added-optional",
        purpose="An optional field was added to a class that no message uses.",
        check=added(UnsentSite, typed, lambda site: not _is_demanded(site.after)),
    ),
    SourceBreak(
        id="member-removed-optional",
        purpose="An optional field was removed from a class that no message uses.",
        advice="Stop using it.",
    ),
)
MEMBER_ADDED_REQUIRED, MEMBER_REMOVED_REQUIRED = mirrors(
    SourceBreak(
        id="member-added-required",
        purpose="A required field was added to a class that no message uses.",
        advice="Pass it.",
        check=added(UnsentSite, typed, lambda site: _is_demanded(site.after)),
    ),
    Rule(
        id="member-removed-required",
        purpose="A required field was removed from a class that no message uses.",
        advice="Stop using it.",
    ),
)
MEMBER_NOW_REQUIRED, MEMBER_NOW_OPTIONAL = mirrors(
    SourceBreak(
        id="member-now-required",
        purpose="A field of a class that no message uses became required.",
        advice="Pass it.",
        check=on(UnsentSite, now_required),
    ),
    Rule(
        id="member-now-optional",
        purpose="A field of a class that no message uses may now be None.",
        advice="Check it for None.",
    ),
)
MEMBER_TYPE_CHANGED = SourceBreak(
    id="member-type-changed",
    purpose="The type of a field of a class that no message uses changed.",
    advice="Check every use of it.",
    check=on(UnsentSite, _retyped),
)
ALIAS_CHANGED = SourceBreak(
    id="alias-changed",
    purpose="The target of a type alias that no message uses changed.",
    advice="Check every use of the name.",
    check=changed(AliasSite),
)

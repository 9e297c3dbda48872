"""Rules on definitions: which exist, their names, and the Python classes generated from them.

None of these changes is visible in a message. Properties of definitions that messages carry have wire rules; the rules
on properties here are for definitions outside the messages that both revisions share, such as abstract bases and
envelopes.
"""

from collections.abc import Callable

from mcp_bindgen.diff.rule import NOTHING, Reading, Rule, Severity, on
from mcp_bindgen.diff.sites import AliasSite, BaseSite, DefinitionSite, Fate, Reference, ReferenceSite, UnsentSite
from mcp_bindgen.ir.nodes import Field, Literal
from mcp_bindgen.ir.spell import spell


def _fate(fate: Fate) -> Callable[[DefinitionSite], Reading | None]:
    return lambda site: (site.before, site.after) if site.fate is fate else None


DEFINITION_ADDED = Rule(
    id="definition-added",
    purpose="A definition was added.",
    advice="No action needed.",
    check=on(DefinitionSite, _fate(Fate.ADDED)),
    mirror="definition-removed",
)
DEFINITION_REMOVED = Rule(
    id="definition-removed",
    purpose="A definition was removed, and its class with it.",
    advice="Remove imports of it.",
    check=on(DefinitionSite, _fate(Fate.REMOVED)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="definition-added",
)
DEFINITION_RENAMED = Rule(
    id="definition-renamed",
    purpose="A definition was renamed.",
    advice="Import it under its new name.",
    check=on(DefinitionSite, _fate(Fate.RENAMED)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="definition-renamed",
)
DEFINITION_SPLIT = Rule(
    id="definition-split",
    purpose="A definition was split into several.",
    advice="Use the one that applies.",
    check=on(DefinitionSite, _fate(Fate.SPLIT)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="definition-merged",
)
DEFINITION_MERGED = Rule(
    id="definition-merged",
    purpose="Several definitions were merged into one.",
    advice="Use the remaining one.",
    check=on(DefinitionSite, _fate(Fate.MERGED)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="definition-split",
)
DEFINITION_NAME_REUSED = Rule(
    id="definition-name-reused",
    purpose="A name was reused for a different definition; code that uses it may fail silently.",
    advice="Check every use of the name.",
    check=on(DefinitionSite, _fate(Fate.REUSED)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="definition-name-reused",
)
BASE_ADDED = Rule(
    id="base-added",
    purpose="A definition now extends an additional base.",
    advice="No action needed.",
    check=on(BaseSite, lambda site: (NOTHING, site.after) if site.after else None),
    mirror="base-removed",
)
BASE_REMOVED = Rule(
    id="base-removed",
    purpose="A definition no longer extends a base.",
    advice="Annotate with both classes where either is accepted.",
    check=on(BaseSite, lambda site: (site.before, NOTHING) if site.before else None),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="base-added",
)


def _reference(kind: Reference) -> Callable[[ReferenceSite], Reading | None]:
    return lambda site: (site.before, site.after) if site.kind is kind else None


TYPE_NAMED = Rule(
    id="type-named",
    purpose="An inline type became a definition.",
    advice="No action needed: the class keeps its name unless another finding says otherwise.",
    check=on(ReferenceSite, _reference(Reference.NAMED)),
    mirror="type-inlined",
)
TYPE_INLINED = Rule(
    id="type-inlined",
    purpose="A definition became an inline type.",
    advice="If the old class was removed, use the class generated for the property.",
    check=on(ReferenceSite, _reference(Reference.INLINED)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="type-named",
)
REF_RETARGETED = Rule(
    id="ref-retargeted",
    purpose="A type reference names a different definition with the same content.",
    advice="Use the class with the new name in constructor calls and annotations.",
    check=on(ReferenceSite, _reference(Reference.RETARGETED)),
    breaks_source=True,
    mirror="ref-retargeted",
)
OBJECT_DECLARED = Rule(
    id="object-declared",
    purpose="An object with arbitrary properties now declares some: a dict became a class.",
    advice="Construct the class and read its attributes.",
    check=on(ReferenceSite, _reference(Reference.DECLARED)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="object-undeclared",
)
OBJECT_UNDECLARED = Rule(
    id="object-undeclared",
    purpose="An object with declared properties now has arbitrary ones: a class became a dict.",
    advice="Build a dict and read its keys.",
    check=on(ReferenceSite, _reference(Reference.UNDECLARED)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="object-declared",
)


def _is_demanded(field: Field) -> bool:
    """Whether a constructor requires the property; it fills in constants itself."""
    return field.required and not (isinstance(field.type, Literal) and len(field.type.values) == 1)


def _added(*, demanded: bool) -> Callable[[UnsentSite], Reading | None]:
    def read(site: UnsentSite) -> Reading | None:
        new = site.after if site.before is None else None
        return (NOTHING, spell(new.type)) if new and _is_demanded(new) is demanded else None

    return read


def _removed(*, demanded: bool) -> Callable[[UnsentSite], Reading | None]:
    def read(site: UnsentSite) -> Reading | None:
        old = site.before if site.after is None else None
        return (spell(old.type), NOTHING) if old and _is_demanded(old) is demanded else None

    return read


def _now(*, required: bool) -> Callable[[UnsentSite], Reading | None]:
    readings = ("optional", "required") if required else ("required", "optional")

    def read(site: UnsentSite) -> Reading | None:
        before, after = site.before, site.after
        is_changed = before and after and before.required is not required and after.required is required
        return readings if is_changed else None

    return read


def _retyped(site: UnsentSite) -> Reading | None:
    is_both = site.retyped and site.before and site.after
    return (spell(site.before.type), spell(site.after.type)) if is_both and site.before and site.after else None


MEMBER_ADDED_OPTIONAL = Rule(
    id="member-added-optional",
    purpose="An optional constructor argument was added to a definition outside the shared messages.",
    advice="No action needed.",
    check=on(UnsentSite, _added(demanded=False)),
    mirror="member-removed-optional",
)
MEMBER_ADDED_REQUIRED = Rule(
    id="member-added-required",
    purpose="A required constructor argument was added to a definition outside the shared messages.",
    advice="Pass it.",
    check=on(UnsentSite, _added(demanded=True)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="member-removed-required",
)
MEMBER_REMOVED_OPTIONAL = Rule(
    id="member-removed-optional",
    purpose="An optional constructor argument was removed from a definition outside the shared messages.",
    advice="Stop using the attribute.",
    check=on(UnsentSite, _removed(demanded=False)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="member-added-optional",
)
MEMBER_REMOVED_REQUIRED = Rule(
    id="member-removed-required",
    purpose="A required constructor argument was removed from a definition outside the shared messages.",
    advice="Stop using the attribute.",
    check=on(UnsentSite, _removed(demanded=True)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="member-added-required",
)
MEMBER_NOW_REQUIRED = Rule(
    id="member-now-required",
    purpose="A constructor argument of a definition outside the shared messages became required.",
    advice="Pass it.",
    check=on(UnsentSite, _now(required=True)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="member-now-optional",
)
MEMBER_NOW_OPTIONAL = Rule(
    id="member-now-optional",
    purpose="An attribute of a definition outside the shared messages may now be None.",
    advice="Check it for None.",
    check=on(UnsentSite, _now(required=False)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="member-now-required",
)
MEMBER_TYPE_CHANGED = Rule(
    id="member-type-changed",
    purpose="The type of a property of a definition outside the shared messages changed.",
    advice="Check every use of the attribute.",
    check=on(UnsentSite, _retyped),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="member-type-changed",
)
ALIAS_CHANGED = Rule(
    id="alias-changed",
    purpose="The target of a type alias outside the shared messages changed.",
    advice="Check every use of the name.",
    check=on(AliasSite, lambda site: (site.before, site.after)),
    severity=Severity.WARNING,
    breaks_source=True,
    mirror="alias-changed",
)

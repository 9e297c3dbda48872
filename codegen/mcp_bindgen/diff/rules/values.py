"""Rules on the values that a property may have."""

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from mcp_bindgen.diff.rule import NOTHING, Change, Check, Reading, Rule, added, on, pair, replaced
from mcp_bindgen.diff.rules.annotations import excerpt, first_difference
from mcp_bindgen.diff.sites import BoundSite, FormSite, OpaqueSite, TypeSite
from mcp_bindgen.diff.types.scalars import contains, effect_of_bound, kind_of
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.nodes import ANY, NULL, Kind, Literal, Primitive, TypeRef
from mcp_bindgen.ir.spell import spell, spell_bounds

UNION_MEMBER_ADDED, UNION_MEMBER_REMOVED = pair(
    ("union-member-added", "A form was added to a value's type."),
    ("union-member-removed", "A form was removed from a value's type."),
    check=added(FormSite, spell, lambda site: site.after != NULL),
    change=Change.WIDENS,
    advice=("Send it only to peers of the new revision.", "Stop sending it to peers of the new revision."),
    to_receivers=("Accept forms that you do not know.", "Keep accepting it from peers of the old revision."),
    breaks_source=(True, True),
)
NULLABLE_ADDED, NULLABLE_REMOVED = pair(
    ("nullable-added", "null is now accepted."),
    ("nullable-removed", "null is no longer accepted."),
    check=added(FormSite, spell, lambda site: site.after == NULL),
    change=Change.WIDENS,
    advice=("Do not send null to peers of the old revision.", "Leave the property out instead."),
    to_receivers=("Accept null.", "Keep accepting null from peers of the old revision."),
    breaks_source=(True, True),
)

# Types with forms in common, or none


def _spelled(forms: tuple[TypeRef, ...]) -> str:
    """Spell a type, including the bounds of a scalar."""
    if len(forms) != 1:
        return " | ".join(map(spell, forms))
    bounds = spell_bounds(forms[0]) if isinstance(forms[0], Primitive) else ""
    return f"{spell(forms[0])} ({bounds})" if bounds else spell(forms[0])


def _scalars(site: TypeSite) -> Iterator[tuple[Primitive | Literal, Primitive | Literal]]:
    """Yield the pair of types at a site if both are scalars."""
    match site.before, site.after:
        case (Primitive() | Literal() as before,), (Primitive() | Literal() as after,):
            yield before, after
        case _:
            return


def _opened(*, strings: bool) -> Callable[[TypeSite], Reading | None]:
    def read(site: TypeSite) -> Reading | None:
        for before, after in _scalars(site):
            if contains(after, before) and (kind_of(after) is Kind.STRING) is strings and after != ANY:
                return spell(before), _spelled(site.after)
        return None

    return read


def _widened(site: TypeSite) -> Reading | None:
    if site.before != site.after and (site.after == (ANY,) or site.before == (_NEVER,)):
        return " | ".join(map(spell, site.before)), _spelled(site.after)
    return _opened(strings=False)(site)


_NEVER = Primitive(kind=Kind.NEVER)
_NUMBERS = {Kind.INTEGER, Kind.NUMBER}


def _number(old: Kind, new: Kind) -> Callable[[TypeSite], Reading | None]:
    def read(site: TypeSite) -> Reading | None:
        for before, after in _scalars(site):
            if (kind_of(before), kind_of(after)) == (old, new):
                return spell(before), spell(after)
        return None

    return read


def _changed(site: TypeSite) -> Reading | None:
    if {(ANY,), (_NEVER,)} & {site.before, site.after}:
        return None
    for before, after in _scalars(site):
        if isinstance(before, Literal) and isinstance(after, Literal):
            return None
        if contains(before, after) or contains(after, before):
            return None
        kinds = kind_of(before), kind_of(after)
        if kinds[0] is not None and (kinds[0] is kinds[1] or {*kinds} == _NUMBERS):
            return None
    return _spelled(site.before), _spelled(site.after)


def _values(site: TypeSite) -> tuple[list[Literal], list[Literal]]:
    """Return the values removed from a closed set and those added, none if either side is not a closed set."""
    for before, after in _scalars(site):
        if isinstance(before, Literal) and isinstance(after, Literal):
            old, new = dict.fromkeys(before.each()), dict.fromkeys(after.each())
            return [value for value in old if value not in new], [value for value in new if value not in old]
    return [], []


def _is_constant(site: TypeSite) -> bool:
    return all(isinstance(side[0], Literal) and len(side[0].values) == 1 for side in (site.before, site.after))


def _constant(*, selects: bool) -> Callable[[TypeSite], Reading | None]:
    def read(site: TypeSite) -> Reading | None:
        gone, come = _values(site)
        is_changed = gone and come and _is_constant(site) and site.selects is selects
        return (spell(gone[0]), spell(come[0])) if is_changed else None

    return read


def _come(site: TypeSite) -> Iterable[Reading]:
    return () if _is_constant(site) else ((NOTHING, spell(value)) for value in _values(site)[1])


ENUM_VALUE_ADDED, ENUM_VALUE_REMOVED = pair(
    ("enum-value-added", "A value was added to a closed set."),
    ("enum-value-removed", "A value was removed from a closed set."),
    check=Check(TypeSite, _come),
    change=Change.WIDENS,
    advice=("Send it only to peers of the new revision.", "Stop sending it to peers of the new revision."),
    to_receivers=("Accept values that you do not know.", "Keep accepting it from peers of the old revision."),
    breaks_source=(True, True),
)
ENUM_OPENED, ENUM_CLOSED = pair(
    ("enum-opened", "A closed set of strings now admits any string."),
    ("enum-closed", "Only listed strings are now accepted."),
    check=on(TypeSite, _opened(strings=True)),
    change=Change.WIDENS,
    advice=(
        "Send only the listed strings to peers of the old revision.",
        "Send nothing else to peers of the new revision.",
    ),
    to_receivers=(
        "Accept values that you do not know.",
        "Keep accepting other strings from peers of the old revision.",
    ),
    breaks_source=(True, True),
)
CONST_CHANGED = Rule(
    id="const-changed",
    purpose="The value of a constant changed.",
    change=Change.BOTH,
    advice="Use the value from the peer's revision.",
    to_receivers="Accept both values.",
    check=on(TypeSite, _constant(selects=False)),
    breaks_source=True,
)
UNION_DISCRIMINATOR_CHANGED = Rule(
    id="union-discriminator-changed",
    purpose="The value of a union's discriminator changed.",
    change=Change.BOTH,
    advice="Use the value from the peer's revision.",
    to_receivers="Accept both values.",
    check=on(TypeSite, _constant(selects=True)),
    breaks_source=True,
)
TYPE_WIDENED, TYPE_NARROWED = pair(
    ("type-widened", "More types are accepted."),
    ("type-narrowed", "Fewer types are accepted."),
    check=on(TypeSite, _widened),
    change=Change.WIDENS,
    advice=("Send only the old types to peers of the old revision.", "Send only the remaining types."),
    to_receivers=("Accept the new types.", "Keep accepting the other types from peers of the old revision."),
    breaks_source=(True, True),
)
TYPE_CHANGED = Rule(
    id="type-changed",
    purpose="The type of a value changed.",
    change=Change.BOTH,
    advice="Use the type from the peer's revision.",
    to_receivers="Accept both types.",
    check=on(TypeSite, _changed),
    breaks_source=True,
)
INTEGER_TO_NUMBER, NUMBER_TO_INTEGER = pair(
    ("integer-to-number", "Fractions are now accepted."),
    ("number-to-integer", "Fractions are no longer accepted."),
    check=on(TypeSite, _number(Kind.INTEGER, Kind.NUMBER)),
    change=Change.WIDENS,
    advice=("Send whole numbers to peers of the old revision.", "Send whole numbers."),
    to_receivers=("Accept fractions.", "Keep accepting fractions from peers of the old revision."),
    breaks_source=(True, True),
)


def _opaque(site: OpaqueSite) -> Reading | None:
    if site.before == site.after:
        return None
    start = first_difference(site.before, site.after)
    return excerpt(site.before, start) or NOTHING, excerpt(site.after, start) or NOTHING


OPAQUE_CHANGED = Rule(
    id="opaque-changed",
    purpose="A part of the schema that types do not express changed.",
    change=Change.BOTH,
    advice="Compare both texts: messages that were valid may now be invalid.",
    check=on(OpaqueSite, _opaque),
)

# Formats and bounds


def _formats(site: TypeSite) -> Reading | None:
    """Return the formats of both sides if they differ and both are scalars of the same kind."""
    for before, after in _scalars(site):
        if isinstance(before, Primitive) and isinstance(after, Primitive) and before.kind is after.kind:
            return (before.format or NOTHING, after.format or NOTHING) if before.format != after.format else None
    return None


def _format(*, was: bool, is_: bool) -> Callable[[TypeSite], Reading | None]:
    def read(site: TypeSite) -> Reading | None:
        readings = _formats(site)
        return readings if readings and tuple(side != NOTHING for side in readings) == (was, is_) else None

    return read


FORMAT_ADDED, FORMAT_REMOVED = pair(
    ("format-added", "A format was added to a string; peers need not check it."),
    ("format-removed", "The format of a string was removed; peers did not have to check it."),
    check=on(TypeSite, _format(was=False, is_=True)),
    advice=("Send strings of that format.", "Do not rely on it."),
    severity=Severity.WARNING,
)
FORMAT_CHANGED = Rule(
    id="format-changed",
    purpose="The format of a string changed; peers need not check it.",
    advice="Accept both.",
    check=on(TypeSite, _format(was=True, is_=True)),
    severity=Severity.WARNING,
)


CONSTRAINT_ADDED, CONSTRAINT_REMOVED = pair(
    ("constraint-added", "A bound was added."),
    ("constraint-removed", "A bound was removed."),
    check=added(BoundSite, attrgetter("text")),
    change=Change.NARROWS,
    advice=("Stay within it.", "Stay within it for peers of the old revision."),
    to_receivers=("Expect values beyond it from peers of the old revision.", "Do not rely on it."),
)
CONSTRAINT_CHANGED = Rule(
    id="constraint-changed",
    purpose="A bound changed.",
    change=Change.BOTH,
    advice="Stay within both.",
    to_receivers="Accept values within either bound.",
    check=replaced(BoundSite, attrgetter("text")),
    change_at=effect_of_bound,
)

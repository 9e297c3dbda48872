"""The keywords of JSON Schema in every dialect since draft 4: one table, and the check of a peer's schema against it.

Evaluating the dialect's own meta-schema takes a hundred times longer.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.values import is_array, is_object, spell_pointer

TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
"""The names of types."""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_limit(value: object) -> bool:
    return _is_number(value) or isinstance(value, bool)  # a flag in draft 4


def _is_step(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


def _are_texts(value: object) -> bool:
    return is_array(value) and all(isinstance(one, str) for one in value)


def _is_type(value: object) -> bool:
    names: list[Any] = value if is_array(value) else [value]
    return all(isinstance(name, str) and name in TYPES for name in names)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


class Keyword(NamedTuple):
    """One keyword.

    Attributes:
        effect: ``annotation``, which refuses no value; ``structure``, what a value is made of; ``bound``, the least or
            greatest of a value, which types have; ``rule``, any other restriction.
        applies: the only type that it has an effect on; empty for any.
        argument: the form of its argument; empty for any.
    """

    effect: str
    applies: str = ""
    argument: str = ""


_FORMS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "count": (_is_count, "a whole number of at least 0"),
    "flag": (_is_flag, "true or false"),
    "limit": (_is_limit, "a number"),
    "list": (is_array, "a list"),
    "named": (is_object, "an object of schemas"),
    "number": (_is_number, "a number"),
    "object": (is_object, "an object"),
    "schemas": (is_array, "a list of schemas"),
    "step": (_is_step, "a number above 0"),
    "text": (_is_text, "a text"),
    "texts": (_are_texts, "a list of texts"),
    "type": (_is_type, "the name of a type"),
}
"""The forms of arguments but ``schema``: how they are recognised, and their description."""
_ROWS: Final = """
$anchor                annotation -      text
$comment               annotation -      -
$defs                  annotation -      named
$dynamicAnchor         annotation -      -
$id                    annotation -      text
$recursiveAnchor       annotation -      -
$schema                annotation -      -
$vocabulary            annotation -      -
contentEncoding        annotation -      -
contentMediaType       annotation -      -
contentSchema          annotation -      -
default                annotation -      -
definitions            annotation -      named
deprecated             annotation -      -
description            annotation -      -
example                annotation -      -
examples               annotation -      -
readOnly               annotation -      -
title                  annotation -      -
writeOnly              annotation -      -
$ref                   structure  -      text
additionalProperties   structure  object schema
allOf                  structure  -      schemas
anyOf                  structure  -      schemas
const                  structure  -      -
enum                   structure  -      list
items                  structure  array  schema
oneOf                  structure  -      schemas
prefixItems            structure  array  schemas
properties             structure  object named
required               structure  object texts
type                   structure  -      type
exclusiveMaximum       bound      number limit
exclusiveMinimum       bound      number limit
maxItems               bound      array  count
maxLength              bound      string count
maximum                bound      number number
minItems               bound      array  count
minLength              bound      string count
minimum                bound      number number
$dynamicRef            rule       -      text
$recursiveRef          rule       -      text
additionalItems        rule       array  schema
contains               rule       array  schema
dependencies           rule       object object
dependentRequired      rule       object object
dependentSchemas       rule       object named
else                   rule       -      schema
format                 rule       string -
if                     rule       -      schema
maxContains            rule       array  count
maxProperties          rule       object count
minContains            rule       array  count
minProperties          rule       object count
multipleOf             rule       number step
not                    rule       -      schema
pattern                rule       string text
patternProperties      rule       object named
propertyNames          rule       object schema
then                   rule       -      schema
unevaluatedItems       rule       array  schema
unevaluatedProperties  rule       object schema
uniqueItems            rule       array  flag
"""
KEYWORDS: Final[Mapping[str, Keyword]] = {
    name: Keyword(*("" if word == "-" else word for word in words))
    for name, *words in map(str.split, _ROWS.strip().splitlines())
}
"""All keywords that refuse values or describe them; others have no effect."""
MEANT: Final = {name: each.applies for name, each in KEYWORDS.items() if each.applies}
"""The type that a schema without one means, by a keyword of it."""
NAMED: Final = frozenset(name for name, each in KEYWORDS.items() if each.argument == "named")
"""Keywords whose argument is an object of schemas, whose names mean nothing."""


def having(*effects: str) -> frozenset[str]:
    """Return the keywords that have one of some effects."""
    return frozenset(name for name, each in KEYWORDS.items() if each.effect in effects)


def malformed(schema: Any) -> str:
    """Return where a schema has an argument of the wrong form, in one line; empty if it has none."""
    left: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while left:
        place, node = left.pop()
        if isinstance(node, bool):
            continue
        if not is_object(node):
            return _wrong(place, "a schema")
        for word, argument in node.items():
            at, form = (*place, word), _form(word, argument)
            if form == "schema":
                left.append((at, argument))
                continue
            if not form:
                continue
            takes, spelled = _FORMS[form]
            if not takes(argument):
                return _wrong(at, spelled)
            if form == "schemas":
                left += [((*at, str(number)), one) for number, one in enumerate(argument)]
            elif form == "named":
                left += [((*at, name), one) for name, one in argument.items()]
    return ""


def _form(word: str, argument: object) -> str:
    if word == "items" and is_array(argument):  # before 2020-12, what is `prefixItems` now
        return "schemas"
    return KEYWORDS[word].argument if word in KEYWORDS else ""


def _wrong(place: tuple[str, ...], form: str) -> str:
    return f"{clipped(spell_pointer(place), 200)} must be {form}"

"""Read the patterns of `match` statements: what they match and bind."""

import ast
from collections.abc import Iterator

from mcp_bindgen.impact.attributes import attribute
from mcp_bindgen.impact.expressions import Expressions, part_of
from mcp_bindgen.impact.narrowing import instances, narrowed, without
from mcp_bindgen.impact.special import as_row
from mcp_bindgen.impact.types import (
    FOREIGN,
    NOTHING,
    UNKNOWN,
    Dump,
    Instance,
    Many,
    Table,
    Type,
    Unknown,
    UserInstance,
    either,
    item_of,
    members,
)


def match_pattern(expressions: Expressions, pattern: ast.pattern, subject: Type) -> Type:
    """Record what a pattern reads, bind its names, and return the type of the values that it matches."""
    match pattern:
        case ast.MatchValue(value=value):
            expressions.type_of(value)
            if isinstance(value, ast.Constant):
                expressions.frame.values(subject, value.value, value)
            return subject
        case ast.MatchSingleton(value=value):
            return NOTHING if value is None else FOREIGN
        case ast.MatchClass():
            return _class(expressions, pattern, subject)
        case ast.MatchAs(pattern=inner, name=name):
            matched = subject if inner is None else match_pattern(expressions, inner, subject)
            if name is not None:
                expressions.frame.env.bind(name, matched)
            return matched
        case ast.MatchOr(patterns=patterns):
            return either([match_pattern(expressions, one, subject) for one in patterns])
        case ast.MatchSequence():
            return _sequence(expressions, pattern, subject)
        case ast.MatchMapping():
            return _mapping(expressions, pattern, subject)
        case _:
            return subject


def _sequence(expressions: Expressions, pattern: ast.MatchSequence, subject: Type) -> Type:
    for i, inner in enumerate(pattern.patterns):
        if not isinstance(inner, ast.MatchStar):
            match_pattern(expressions, inner, part_of(as_row(expressions.frame, subject), i, len(pattern.patterns)))
        elif inner.name is not None:
            expressions.frame.env.bind(inner.name, Many(item_of(subject)))
    return subject


def left_over(expressions: Expressions, pattern: ast.pattern, subject: Type) -> Type:
    """Return the type of the values that a pattern may not match: those that later cases receive."""
    match pattern:
        case ast.MatchClass(cls=cls, patterns=[], kwd_patterns=[]):
            return without(subject, instances(expressions.type_of(cls)))
        case ast.MatchAs(pattern=inner) if inner is not None:
            return left_over(expressions, inner, subject)
        case ast.MatchOr(patterns=patterns):
            for one in patterns:
                subject = left_over(expressions, one, subject)
            return subject
        case _:
            return subject


def _class(expressions: Expressions, pattern: ast.MatchClass, subject: Type) -> Type:
    with expressions.frame.take():
        wanted = instances(expressions.type_of(pattern.cls))
    matched = narrowed(subject, wanted)
    if any(isinstance(member, Instance | UserInstance | Unknown) for member in members(wanted)):
        matched = wanted
    for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
        match_pattern(expressions, inner, attribute(expressions.frame, matched, name, inner))
    for inner in pattern.patterns:
        match_pattern(expressions, inner, matched if matched == FOREIGN else UNKNOWN)
    return matched


def _mapping(expressions: Expressions, pattern: ast.MatchMapping, subject: Type) -> Type:
    for key, inner in zip(pattern.keys, pattern.patterns, strict=True):
        expressions.type_of(key)
        found: list[Type] = []
        for member in members(subject):
            if isinstance(member, Dump | Unknown) and isinstance(key, ast.Constant) and isinstance(key.value, str):
                expressions.frame.unresolved(key.value, "it is a key of a mapping", key)
            found.append(member.value if isinstance(member, Table) else UNKNOWN)
        match_pattern(expressions, inner, either(found))
    if pattern.rest is not None:
        expressions.frame.env.bind(pattern.rest, subject)
    return subject


def texts(pattern: ast.pattern) -> Iterator[tuple[str, ast.AST]]:
    """Iterate over the strings that a pattern compares its subject with, each with its place."""
    match pattern:
        case ast.MatchValue(value=ast.Constant(value=str() as text)):
            yield text, pattern
        case ast.MatchOr(patterns=patterns):
            for one in patterns:
                yield from texts(one)
        case ast.MatchAs(pattern=inner) if inner is not None:
            yield from texts(inner)
        case _:
            return

"""The laws of schema/docs.toml: complete, not stale, in the project's own words, and about things that exist."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast

import pytest

from mcp_bindgen.ingest.revisions import read_docs
from mcp_bindgen.ingest.typescript_types import Body
from mcp_bindgen.ir.document import DocBook, Key, document
from mcp_bindgen.ir.nodes import Literal, Struct
from mcp_bindgen.load.protocol import doc_book, load_released
from support.doc_keys import used_keys
from support.official import official_schema, seed_typescript
from support.samples import REVISIONS, typescript_document

BOOK = doc_book()
RUN = 8
"""This many words in a row are a copy of an official sentence."""

_FILLERS = frozenset("""
    a an the of to in on at by for from with and or nor not is are was were be been being this that these those
    it its as if so such may must should can will would do does has have had which who what when where while
    than then there their they one each any all only also no yes into out up about own same other more
    """.split())


def names_in(word: str) -> list[str]:
    """Split a name at its capitals: ``CallToolRequest`` is ``call tool request``."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", word)]


def stem(word: str) -> str:
    """Cut an ending, so that ``cancelled`` and ``cancels`` are one word."""
    for ending in ("ation", "ing", "ies", "led", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """Iterate over all runs of words in a text, once as written and once with names split into their words."""
    written = re.findall(r"[a-z0-9_/$-]+", text.lower())
    split = [part for word in re.findall(r"\w+", text) for part in names_in(word)]
    for words in (written, split):
        yield from (tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


def descriptions(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        members = cast("dict[str, object]", node)
        if isinstance(text := members.get("description"), str):
            yield text
        node = list(members.values())
    for child in cast("list[object]", node) if isinstance(node, list) else ():
        yield from descriptions(child)


@cache
def official_runs() -> frozenset[tuple[str, ...]]:
    found = {
        run
        for revision in REVISIONS
        for text in descriptions(json.loads(official_schema(revision).read_bytes()))
        for run in runs(text)
    }
    for one in typescript_document(seed_typescript().read_text("utf-8")).declarations:
        found.update(runs(one.doc))
        for member in one.body.properties if isinstance(one.body, Body) else ():
            found.update(runs(member.doc))
    return frozenset(found)


@cache
def uses() -> Mapping[Key, tuple[str, ...]]:
    """Return the revisions in which each line describes something."""
    found: dict[Key, tuple[str, ...]] = {}
    for revision in REVISIONS:
        for key in dict.fromkeys(used_keys(load_released(revision), BOOK)):
            found[key] = (*found.get(key, ()), revision)
    return found


@cache
def vocabulary(revision: str) -> frozenset[str]:
    """Return what a line may name: definitions, methods, properties, and constant values of properties."""
    protocol = load_released(revision)
    found = set(protocol.definitions) | {method.name for method in protocol.methods}
    for definition in protocol.definitions.values():
        for field in definition.fields if isinstance(definition, Struct) else ():
            found.add(field.wire_name)
            if isinstance(field.type, Literal):
                found |= {value for value in field.type.values if isinstance(value, str)}
    return frozenset(found)


class TestBook:
    def test_reads_the_lines_of_all_tables(self) -> None:
        book = DocBook(
            read_docs('[definitions]\nA = "a"\n[properties."*"]\nx = "x"\n[revisions."r".properties.A]\nx = "rx"')
        )
        assert book.lines == {
            ("definitions", "A"): "a",
            ("properties", "*", "x"): "x",
            ("revisions", "r", "properties", "A", "x"): "rx",
        }

    def test_the_nearest_line_is_taken(self) -> None:
        book = DocBook(read_docs("""
            [properties]
            A.x = "A"
            B.x = "B"
            "*".x = "any"
            [revisions.r.properties]
            B.x = "B in r"
            "*".y = "any y in r"
            """))

        def line(revision: str, owners: list[str], name: str) -> str | None:
            found = book.property(revision, owners, name)
            return found and found[1]

        assert line("r", ["A", "B"], "x") == "A"
        assert line("r", ["B", "A"], "x") == "B in r"
        assert line("s", ["B", "A"], "x") == "B"
        assert line("s", ["C"], "x") == "any"
        assert line("r", ["C"], "y") == "any y in r"
        assert line("s", ["C"], "y") is None
        assert book.definition("r", "A") is book.constant("A") is None

    def test_bad_toml(self) -> None:
        with pytest.raises(tomllib.TOMLDecodeError):
            read_docs("[")


class TestCompleteness:
    @pytest.mark.parametrize("revision", REVISIONS)
    def test_everything_is_described(self, revision: str) -> None:
        protocol, missing = document(load_released(revision), BOOK)
        assert missing == ()
        assert all(constant.doc for constant in protocol.constants)

    def test_no_line_is_stale(self) -> None:
        assert BOOK.lines.keys() - uses().keys() == set()

    def test_every_table_is_read(self) -> None:
        shapes = {(key[0], len(key)) for key in BOOK.lines if key[0] != "revisions"}
        assert shapes == {("definitions", 2), ("properties", 3), ("constants", 2)}
        for key in BOOK.lines:
            if key[0] == "revisions":
                assert key[1] in REVISIONS
                assert (key[2], len(key)) in {("definitions", 4), ("properties", 5)}

    def test_a_line_for_one_revision_says_something_else(self) -> None:
        for key, line in BOOK.lines.items():
            if key[0] == "revisions":
                assert BOOK.lines.get(key[2:]) != line, key


class TestWords:
    """Each law lists the lines that break it."""

    def test_every_line_says_more_than_its_key(self) -> None:
        fillers = {stem(word) for word in _FILLERS}

        def new_words(key: Key, line: str) -> set[str]:
            named = {stem(part) for part in names_in(key[-1])}
            stated = {stem(part) for word in re.findall(r"\w+", line) for part in names_in(word)}
            return stated - named - fillers

        assert [key for key, line in BOOK.lines.items() if len(new_words(key, line)) < 2] == []

    def test_every_line_is_in_our_own_words(self) -> None:
        copied = {key: set(runs(line)) & official_runs() for key, line in BOOK.lines.items()}
        assert {key: shared for key, shared in copied.items() if shared} == {}

    def test_what_a_line_names_exists_where_it_is_used(self) -> None:
        unknown = [
            (key, name)
            for key, line in BOOK.lines.items()
            for name in re.findall(r"`([^`]*)`", line)
            if not any(name in vocabulary(revision) for revision in uses()[key])
        ]
        assert unknown == []

    def test_every_line_is_plain_text_and_ends_like_a_sentence(self) -> None:
        def is_plain(line: str) -> bool:
            return line.isascii() and line.isprintable() and "\\" not in line and line.count("`") % 2 == 0

        def is_sentence(line: str) -> bool:
            return line.endswith(".") and not line[0].islower() and len(line) <= 160

        assert [key for key, line in BOOK.lines.items() if not is_plain(line) or not is_sentence(line)] == []


def test_the_law_on_copies_finds_a_copy() -> None:
    """The comparison itself: a sentence of the official file, with other case and quotes, is a copy."""
    document_: Any = json.loads(official_schema("2025-06-18").read_bytes())
    sentence = document_["definitions"]["CallToolResult"]["properties"]["isError"]["description"]
    assert set(runs(sentence.upper().replace(".", ";"))) & official_runs()

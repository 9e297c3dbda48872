"""The documentation comments of a schema.ts: their prose, and the tags that assert something about values.

The assertions are those of typescript-json-schema, which makes the official schema.json: keywords of JSON Schema, those
of `items` and `additionalProperties` behind a dot or a blank (``@items.maxLength 5``), each also with the prefix
``TJS-``. An assertion ends with its line, and may follow other text on it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mcp_bindgen.ingest.json_keywords import ASSERTIONS, Node, read_bounds, spell_value
from mcp_bindgen.ingest.typescript_types import Tags
from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.ir.json_values import is_list, is_object

_NESTED = ("items", "additionalProperties")
_TAG = re.compile(r"@(?:TJS-(?!type\b))?([A-Za-z$][\w-]*(?:\.\w+)?)[ \t]*")
_NEXT = re.compile(r"\s+(?=@[A-Za-z])")
_MARGIN = re.compile(r"^[ \t]*\*? ?")
_LINK = re.compile(r"\{@link(?:code|plain)?\s([^{}]*)\}")

FLAG_TAGS = frozenset({"deprecated", "internal"})
"""The tags whose text says nothing."""
ASSERTION_TAGS = frozenset(
    (*ASSERTIONS, *(f"{owner}.{word}" for owner in _NESTED for word in ASSERTIONS), *_NESTED, "contains", "enum")
)
"""The tags that restrict values; the kinds of numbers, nullability and formats have tags of their own."""
_SPLIT = re.compile(rf"\s+(?=@(?:TJS-)?(?:{'|'.join(map(re.escape, sorted(ASSERTION_TAGS, reverse=True)))})(?![\w.-]))")
_SHORT = re.compile(rf"@(?:TJS-)?({'|'.join(_NESTED)})[ \t]+(?=\w+[ \t]+\S)")
FACT_TAGS = ASSERTION_TAGS | FLAG_TAGS | {"TJS-type", "category", "format", "nullable"}
"""The tags that state structure; others (`example`, `see`) are prose."""
_PROSE = frozenset("""
    $comment $id abstract alpha author beta const copyright default defaultValue description event eventProperty example
    examples experimental file hidden id ignore includeCode inheritDoc interface internal label license link module
    name namespace note override packageDocumentation param private privateRemarks prop property protected public
    readonly remarks returns sealed see since summary template throws title todo type typeParam typedef version virtual
    """.split())
"""The tags that say nothing about which values are valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doc:
    """The content of a documentation comment: prose, and the tags split off from it."""

    text: str = ""
    tags: Tags = field(default_factory=dict[str, str | bool])


def parse_doc(comment: str) -> Doc:
    """Split a `/** */` comment into its prose and its tags.

    `deprecated` and `internal` are flags (True, whatever text follows). Other tags that state structure keep the text
    on their line, and the last one of a name counts. Prose tags keep all text, in paragraphs if they occur again.
    Without prose, `@description` is the prose.
    """
    sections: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    opening, *others = comment[2:-2].strip("*").split("\n")
    for line in (opening.strip(), *(_MARGIN.sub("", other).rstrip() for other in others)):
        for part in [line] if fenced or "@" not in line else _parts(line):
            tag = None if fenced else _TAG.match(part)
            if tag:
                text = part[tag.end() :]
                name = "TJS-type" if tag[1] == "type" and text in ("integer", "number") else tag[1]
                sections.append((name, [text]))
            else:
                sections[-1][1].append(part)
        fenced ^= line.lstrip().startswith("```")
    tags: dict[str, str | bool] = {}
    for name, lines in sections[1:]:
        if name in FLAG_TAGS:
            tags[name] = True
            continue
        if name in FACT_TAGS:
            tags[name] = _LINK.sub(_link_text, lines[0]).strip().strip("`" if name == "category" else None)
            continue
        value = _LINK.sub(_link_text, "\n".join(lines)).strip()
        before = tags.get(name)
        tags[name] = f"{before}\n\n{value}" if isinstance(before, str) else value
    text = _LINK.sub(_link_text, "\n".join(sections[0][1])).strip("\n")
    return Doc(text=text or str(tags.pop("description", "")), tags=tags)


def _parts(line: str) -> Iterator[str]:
    """Split a line at assertions in it, and what begins with a tag that states structure at each tag."""
    for part in (_SHORT.sub(r"@\1.", part) for part in _SPLIT.split(line)):
        tag = _TAG.match(part)
        yield from _NEXT.split(part) if tag and tag[1] in FACT_TAGS else (part,)


def _link_text(link: re.Match[str]) -> str:
    """Return what a reader sees of `A`, `A | b` or `A b`."""
    target, _, label = " ".join(link[1].replace("|", " ", 1).split()).partition(" ")
    return label or target


def fact_tags(tags: Tags) -> dict[str, str | bool]:
    """Return the tags that state structure."""
    return {name: value for name, value in tags.items() if name in FACT_TAGS}


def keywords(tags: Tags) -> Node:
    """Return the assertions of tags as keywords of JSON Schema."""
    found: Node = {}
    for name, text in tags.items():
        owner, _, word = name.rpartition(".")
        if name in ASSERTION_TAGS:
            value: object = _value(word, str(text))
            nested = found.setdefault(owner, {}) if owner else found
            if isinstance(nested, dict):
                nested[word] = value
    return found


def _value(word: str, text: str) -> Any:
    """Return the value of an assertion, which is JSON or a text without quotes."""
    if not text and word == "uniqueItems":
        return True
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return text if word == "pattern" and not isinstance(value, str) else value


def tag_problem(name: str, text: str | bool) -> str:
    """Return why a tag is not read; empty if it is."""
    if name not in ASSERTION_TAGS:
        return "" if name in FACT_TAGS or name in _PROSE else f"'@{name[:40]}' is not a known tag, so it is not read"
    word = name.rpartition(".")[2]
    value: object = _value(word, str(text))
    found = Diagnostics()
    if word in ASSERTIONS:
        read_bounds(ASSERTIONS[word][0], {word: value}, Location(source=""), found)
        is_good = not found.errors
    elif word == "enum":
        is_good = is_list(value) and bool(value)
    else:
        is_good = is_object(value) or isinstance(value, bool)
    return "" if is_good else f"'@{name}' is not read: {spell_value(value)} is not a value for {word}"

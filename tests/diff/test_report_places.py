"""The line of a file that a JSON pointer refers to."""

import json

import pytest

from mcp_bindgen.diff.compatibility import compatibility
from mcp_bindgen.diff.report.model import Side, make_report
from mcp_bindgen.diff.report.options import Options
from mcp_bindgen.diff.report.places import SourceFile
from mcp_bindgen.findings.baseline import Baseline
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from support.findings import finding

JSON = """{
  "$defs": {
    "Tool": {"type": "object",
      "properties": {
        "a/b": {"type": "string"}, "c~d": {
          "anyOf": [{"type": "string"},
                    {"type": "null"}
          ]},
        "\\u0065\\"}": [1, [],
          {}]
      }
    }
  }
}"""

TYPESCRIPT = """
/** A tool. */
export interface Tool extends Base {
  /** Its name. */
  name: string;
  "a/b"?: {
    inner: string;
  };
  [key: string]: unknown;
}
export type Role = "user" | "assistant";
"""


def file(text: str, kind: SourceKind = SourceKind.JSON_SCHEMA) -> SourceFile:
    return SourceFile("schema", SourceText(name="schema", kind=kind, data=text.encode()))


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("/$defs/Tool", 3),
        ("/$defs/Tool/type", 3),
        ("/$defs/Tool/properties/a~1b", 5),
        ("/$defs/Tool/properties/a~1b/type", 5),
        ("/$defs/Tool/properties/c~0d", 5),
        ("/$defs/Tool/properties/c~0d/anyOf/1", 7),
        ("/$defs/Tool/properties/c~0d/anyOf/1/type", 7),
        ('/$defs/Tool/properties/e"}', 9),
        ('/$defs/Tool/properties/e"}/1', 9),
        ('/$defs/Tool/properties/e"}/2', 10),
        ("/definitions/Tool/properties", 4),
        ("/$defs/Tool/properties/gone/type", 4),
        ("/$defs/Gone/properties/x", 2),
        ("/other", 1),
        ("", 1),
    ],
)
def test_a_pointer_into_json_has_a_line(pointer: str, line: int) -> None:
    json.loads(JSON)
    assert file(JSON).locate(pointer).line == line


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("/definitions/Tool", 3),
        ("/$defs/Tool/properties/name", 5),
        ("/$defs/Tool/properties/a~1b", 6),
        ("/$defs/Tool/properties/a~1b/properties/inner", 7),
        ("/$defs/Role", 11),
        ("/$defs/Tool/properties/gone", 3),
        ("/$defs/Gone", 1),
    ],
)
def test_a_pointer_into_typescript_has_a_line(pointer: str, line: int) -> None:
    assert file(TYPESCRIPT, SourceKind.TYPESCRIPT).locate(pointer).line == line


def test_a_finding_names_the_side_that_has_it() -> None:
    def side(name: str, definitions: str) -> Side:
        text = f'{{"$defs": {{\n{definitions}\n}}}}'
        source = SourceText(name=name, kind=SourceKind.JSON_SCHEMA, data=text.encode())
        return Side(name=name, revision=name, file=SourceFile(name, source))

    both = "\n".join(('"Kept": {},', '"Gone": {}')), '"Kept": {}, "Come": {}'
    found = [
        finding("definition-removed", "Gone", "Gone", "-", pointer="/$defs/Gone"),
        finding("definition-added", "Come", "-", "Come", pointer="/$defs/Come"),
        finding("deprecated-added", "Kept", "-", "deprecated", pointer="/$defs/Kept"),
    ]

    def places(old: str, new: str) -> dict[str, tuple[str, int | None]]:
        report = make_report(
            found,
            old=side(old, both[0]),
            new=side(new, both[1]),
            options=Options(),
            baseline=Baseline(),
            compatibility=compatibility(found),
        )
        wheres = {judged.finding.place: judged.where for judged in report.findings}
        return {place: (where.source, where.line) for place, where in wheres.items() if where}

    assert places("old.json", "new.json") == {"Gone": ("old.json", 3), "Come": ("new.json", 2), "Kept": ("new.json", 2)}
    assert places("a.json", "a.json")["Gone"] == ("a.json", 1), "an older state of the same file has other lines"

"""The report as JUnit XML: one test case per finding, failed if it is at the threshold, skipped if it is accepted."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from xml.etree import ElementTree

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Judged, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case, of the suite of its rule.

    Attributes:
        suite: the rule.
        name: what was found.
        text: the details.
        fails: its severity if it fails, empty if it does not.
        accepted: why it is accepted, empty if it is not.
        place: further attributes: a file and a line.
    """

    suite: str
    name: str
    text: str
    fails: str
    accepted: str
    place: Mapping[str, str] = field(default_factory=dict[str, str])


def render(report: Report, *, everything: bool = True) -> str:
    """Return the document, which always contains all findings: one suite per rule, the worst rules first."""
    return document(words.headline(report), map(_case, report.findings))


def document(name: str, cases: Iterable[Case]) -> str:
    """Return a document with one suite per rule."""
    every = sorted(cases, key=lambda case: case.suite)
    root = ElementTree.Element("testsuites", _totals(every), name=words.plain(name))
    for suite_name, group in groupby(every, key=lambda case: case.suite):
        found = tuple(group)
        suite = ElementTree.SubElement(root, "testsuite", _totals(found), name=suite_name)
        for case in found:
            _add(suite, case)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _totals(cases: Sequence[Case]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.fails) for case in cases)),
        "errors": "0",
        "skipped": str(sum(bool(case.accepted) for case in cases)),
    }


def _add(suite: ElementTree.Element, case: Case) -> None:
    name, place = words.plain(case.name), {key: words.plain(text) for key, text in case.place.items()}
    element = ElementTree.SubElement(suite, "testcase", {"classname": case.suite, "name": name, **place})
    text = "\n".join(words.plain(line) for line in case.text.split("\n"))
    if case.accepted:
        ElementTree.SubElement(element, "skipped", message=words.plain(f"accepted: {case.accepted}"))
    elif case.fails:
        ElementTree.SubElement(element, "failure", message=name, type=case.fails).text = text
        return
    ElementTree.SubElement(element, "system-out").text = text


def _case(judged: Judged) -> Case:
    finding = judged.finding
    lines = [f"{finding.rule.purpose} {finding.rule.advice}", f"fingerprint: {finding.fingerprint}"]
    lines += [f"methods: {', '.join(finding.methods)}"] if finding.methods else []
    lines += [f"{pair}: {json.dumps(finding.witnesses[pair])}" for pair in sorted(finding.witnesses)]
    return Case(
        suite=finding.rule.id,
        name=f"{finding.place}: {words.reading(finding)}",
        text="\n".join(words.plain(line) for line in lines),
        fails=judged.severity.value if judged.fails else "",
        accepted=judged.reason if judged.accepted else "",
        place={"file": judged.where.source, "line": str(judged.where.line)} if judged.where else {},
    )

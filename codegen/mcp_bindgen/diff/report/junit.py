"""The report as JUnit XML: one test case per finding, failed if it is at the threshold, skipped if it is accepted."""

import json
from itertools import groupby
from xml.etree import ElementTree

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Judged, Report


def render(report: Report, *, everything: bool = True) -> str:
    """Return the document, which always contains all findings: one suite per rule, the worst rules first."""
    root = ElementTree.Element("testsuites", _totals(report.findings), name=words.plain(words.headline(report)))
    for rule, group in groupby(sorted(report.findings, key=lambda judged: judged.rule.id), key=lambda j: j.rule):
        found = tuple(group)
        suite = ElementTree.SubElement(root, "testsuite", _totals(found), name=rule.id)
        for judged in found:
            _case(suite, judged)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _totals(findings: tuple[Judged, ...]) -> dict[str, str]:
    return {
        "tests": str(len(findings)),
        "failures": str(sum(judged.fails for judged in findings)),
        "errors": "0",
        "skipped": str(sum(judged.accepted for judged in findings)),
    }


def _case(suite: ElementTree.Element, judged: Judged) -> None:
    finding = judged.finding
    place = {"file": judged.where.source, "line": str(judged.where.line)} if judged.where else {}
    name = words.plain(f"{finding.place}: {words.reading(finding)}")
    attributes = {"classname": finding.rule.id, "name": name, **{key: words.plain(text) for key, text in place.items()}}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    lines = [f"{finding.rule.purpose} {finding.rule.advice}", f"fingerprint: {finding.fingerprint}"]
    lines += [f"methods: {', '.join(finding.methods)}"] if finding.methods else []
    lines += [f"{pair}: {json.dumps(finding.witnesses[pair])}" for pair in sorted(finding.witnesses)]
    text = "\n".join(words.plain(line) for line in lines)
    if judged.accepted:
        ElementTree.SubElement(case, "skipped", message=words.plain(f"accepted: {judged.reason}"))
    elif judged.fails:
        failure = ElementTree.SubElement(case, "failure", message=name, type=judged.severity.value)
        failure.text = text
        return
    ElementTree.SubElement(case, "system-out").text = text

"""JUnit XML, which CI services read: one suite per rule, with a test case for each finding."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from xml.etree import ElementTree

from mcp_bindgen.ir.diagnostics import plain


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


def document(name: str, cases: Iterable[Case]) -> str:
    """Return a document with one suite per rule."""
    every = sorted(cases, key=lambda case: case.suite)
    root = ElementTree.Element("testsuites", _totals(every), name=plain(name))
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
    name, place = plain(case.name), {key: plain(text) for key, text in case.place.items()}
    element = ElementTree.SubElement(suite, "testcase", {"classname": case.suite, "name": name, **place})
    text = "\n".join(plain(line) for line in case.text.split("\n"))
    if case.accepted:
        ElementTree.SubElement(element, "skipped", message=plain(f"accepted: {case.accepted}"))
    elif case.fails:
        ElementTree.SubElement(element, "failure", message=name, type=case.fails).text = text
        return
    ElementTree.SubElement(element, "system-out").text = text

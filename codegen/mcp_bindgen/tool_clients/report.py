"""The report on a contract and the server's current tools, in the model of `mcp-bindgen diff`."""

from dataclasses import replace
from pathlib import Path

from mcp_bindgen.diff.baseline import Baseline
from mcp_bindgen.diff.compatibility import Compatibility, Verdict, compatibility, count
from mcp_bindgen.diff.report.model import Report, Side, make_report
from mcp_bindgen.diff.report.options import Options, Role
from mcp_bindgen.diff.report.places import SourceFile
from mcp_bindgen.diff.rule import Severity, View
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.tool_clients.compare import compare
from mcp_bindgen.tool_clients.contract import Contract


def make(old: Contract, new: Contract, *, lock: Path, fail_on: Severity | None, baseline: Baseline) -> Report:
    """Return the report for callers that rely on the contract."""
    findings = tuple(compare(old, new))
    options = Options(view=View.WIRE, role=Role.CLIENT, fail_on=fail_on, severities=baseline.severities)
    judged = compatibility(findings)
    made = make_report(
        findings,
        old=_side(old, lock.name, _file(lock)),
        new=_side(new, "now", None),
        options=options,
        baseline=baseline,
        compatibility=replace(judged, sentence=_sentence(judged)),
    )
    return replace(made, command="mcp-bindgen tools check", is_contract=True)


def _sentence(judged: Compatibility) -> str:
    match judged.verdict:
        case Verdict.BREAKS:
            return f"The server violates it ({count(judged.deciding)})."
        case Verdict.NOT_PROVEN:
            return f"It is not proven that the server keeps it ({count(judged.undecided)})."
        case Verdict.COMPATIBLE:
            return "The contract is kept."


def _side(contract: Contract, name: str, file: SourceFile | None) -> Side:
    version = f"{contract.server} {contract.version}".strip()
    return Side(name=f"{version} ({name})", revision=version, file=file, dated=False)


def _file(lock: Path) -> SourceFile:
    data = lock.read_bytes()
    return SourceFile(str(lock), SourceText(name=str(lock), kind=SourceKind.JSON_SCHEMA, data=data))

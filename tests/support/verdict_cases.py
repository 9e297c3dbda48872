"""Cases for verdicts: a random change of an official schema.json, what the diff says, and what the oracle finds."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from mcp_bindgen.diff.compatibility import Verdict, compatibility
from mcp_bindgen.diff.finding import Finding, Pair, Travel
from mcp_bindgen.diff.wire.compare import compare_messages
from mcp_bindgen.diff.wire.witness import Witnesses
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_sources
from support.judging import DRAWS, Judge
from support.mutants import Json
from support.mutants_of_messages import OPS, mutant
from support.official import official_schema
from support.oracle import TO_CLIENT, TO_SERVER, Side
from support.samples import REVISIONS


@dataclass
class Figures:
    """Counts over cases; a case is counted once for each pair of peers."""

    verdicts: Counter[str] = field(default_factory=Counter[str])
    broken: int = 0
    recalled: int = 0
    wrong_roles: list[str] = field(default_factory=list[str])
    contradicted: list[str] = field(default_factory=list[str])
    missed: list[str] = field(default_factory=list[str])
    undecided: Counter[str] = field(default_factory=Counter[str])
    classes: set[str] = field(default_factory=set[str])

    def __add__(self, other: "Figures") -> "Figures":
        return Figures(
            verdicts=self.verdicts + other.verdicts,
            broken=self.broken + other.broken,
            recalled=self.recalled + other.recalled,
            wrong_roles=self.wrong_roles + other.wrong_roles,
            contradicted=self.contradicted + other.contradicted,
            missed=self.missed + other.missed,
            undecided=self.undecided + other.undecided,
            classes=self.classes | other.classes,
        )

    @property
    def pairs(self) -> int:
        return sum(self.verdicts.values())

    def summary(self) -> str:
        """Return the figures on one line."""
        return (
            f"{self.pairs} pairs, {len(self.classes)} classes: {self.recalled} of {self.broken} breaks recalled,"
            f" {len(self.wrong_roles)} witnesses refuted, {len(self.contradicted)} compatible with a counterexample,"
            f" {self.verdicts['not proven']} not proven ({len(self.missed)} of them with a counterexample)"
        )


@cache
def official(revision: str) -> Json:
    return json.loads(official_schema(revision).read_text("utf-8"))


def read(tree: Json) -> Protocol:
    source = SourceText(name="schema.json", kind=SourceKind.JSON_SCHEMA, data=json.dumps(tree).encode())
    return load_sources([source], "unreleased", Diagnostics())


@cache
def untouched(revision: str) -> Protocol:
    return read(official(revision))


@cache
def side(revision: str) -> Side:
    return Side(official(revision))


def cases(number: int) -> Iterator[tuple[str, str, int]]:
    """Iterate over the changes of so many cases: revision, class of change, seed. Each is a case in both directions."""
    names = list(OPS)
    for index in range(number // 2):
        round_, position = divmod(index, len(names))
        # All revisions come around after as many rounds; the next rounds have other seeds.
        revision = REVISIONS[(position + round_) % len(REVISIONS)]
        yield revision, names[position], round_ // len(REVISIONS)


def run(revision: str, name: str, seed: int, figures: Figures, *, draws: int = DRAWS) -> None:
    """Judge a change and its reverse; count what the diff and the oracle say about each pair of peers."""
    changed = mutant(official(revision), name, seed)
    if changed is None:
        return
    figures.classes.add(name)
    label = f"{revision} {name} {seed}"
    judge_both(label, (side(revision), Side(changed)), (untouched(revision), read(changed)), figures, draws=draws)


def judge_both(
    label: str, sides: tuple[Side, Side], protocols: tuple[Protocol, Protocol], figures: Figures, *, draws: int = DRAWS
) -> None:
    """Judge two schemas in both directions; count what the diff and the oracle say about each pair of peers."""
    (old, new), (before, after) = sides, protocols
    # A message of either version, in either direction, that the other version rejects.
    found = {
        pair: _counterexample(Judge(old, new, draws), pair, label)
        for pair in Pair  # The reverse has the same messages, with the pairs swapped.
    }
    _count(label, (before, after), Judge(old, new), found, figures)
    swapped = dict(zip(Pair, reversed(found.values()), strict=True))
    _count(f"{label} back", (after, before), Judge(new, old), swapped, figures)


def _count(
    label: str,
    protocols: tuple[Protocol, Protocol],
    judge: Judge,
    found: dict[Pair, Json | None],
    figures: Figures,
) -> None:
    witnesses = Witnesses(*protocols)
    findings = [witnesses.testify(finding) for finding in compare_messages(*protocols)]
    verdicts = compatibility(findings).verdicts
    for pair in Pair:
        verdict = verdicts[pair]
        figures.verdicts[verdict] += 1
        for finding in findings:
            if pair in finding.witnesses and not is_confirmed(judge, finding, pair):
                figures.wrong_roles.append(
                    f"{label} {pair}: {finding.rule.id} {json.dumps(finding.witnesses[pair])[:300]}"
                )
        if verdict is Verdict.NOT_PROVEN:
            figures.undecided[label] += 1
        if found[pair] is None:
            continue
        figures.broken += 1
        figures.recalled += verdict is Verdict.BREAKS
        is_gated = any(pair in f.proven and pair in f.gates for f in findings)
        row = f"{label} {pair}: {json.dumps(found[pair])[:400]}"
        if verdict is Verdict.COMPATIBLE and not is_gated:
            figures.contradicted.append(row)
        elif verdict is Verdict.NOT_PROVEN:
            figures.missed.append(row)


def _counterexample(judge: Judge, pair: Pair, label: str) -> Json | None:
    for travel in Travel:
        from_old = (pair is Pair.OLD_CLIENT) == (travel is Travel.TO_SERVER)
        rng = random.Random(f"{label} {pair} {travel}")
        found = judge.counterexample(from_old=from_old, travel=travel.value, rng=rng)
        if found is not None:
            return found
    return None


def is_confirmed(judge: Judge, finding: Finding, pair: Pair) -> bool:
    """Whether the oracle agrees that one side may send a witness and the other rejects it."""
    message = finding.witnesses[pair]
    if not finding.methods and any(carrier.part == "message" for carrier in finding.carriers):
        client, server = (judge.old, judge.new) if pair is Pair.OLD_CLIENT else (judge.new, judge.old)
        is_response = isinstance(message, dict) and "method" not in message
        return any(
            (sender.responds(travel) if is_response else sender.takes(travel, "", message, sends=True))
            and sender.takes_frame(message)
            and not receiver.takes_frame(message)
            for travel, sender, receiver in ((TO_SERVER, client, server), (TO_CLIENT, server, client))
        )
    for carrier in finding.carriers:
        from_old = (pair is Pair.OLD_CLIENT) == (carrier.travel is Travel.TO_SERVER)
        sender, receiver = (judge.old, judge.new) if from_old else (judge.new, judge.old)
        # An embedded request travels in the result of another request.
        methods = [carrier.method, *sender.messages[TO_SERVER], *sender.messages[TO_CLIENT]]
        for method in methods:
            travels = (carrier.travel,) if method == carrier.method else Travel
            for travel in travels:
                sends = sender.takes(travel.value, method, message, sends=True)
                if sends and not receiver.takes(travel.value, method, message):
                    return True
    return False

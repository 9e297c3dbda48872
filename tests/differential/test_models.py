"""The generated models against `jsonschema`: the same verdict on every value, and accepted values round-trip."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import pytest

from differential.instances import Case
from differential.subjects import REFUSED, Subject, subject
from differential.values import Json, Path, at, differences, read, write
from support.samples import REVISIONS

pytestmark = [pytest.mark.differential, pytest.mark.parametrize("revision", REVISIONS)]

MAX_SHOWN = 10


def test_models_and_schema_agree_on_random_values(revision: str, cases: int) -> None:
    tried = subject(revision)
    verdicts = _agree(tried, tried.instances("random").random(cases))
    assert sum(verdicts.values()) == cases
    assert verdicts[True] > cases // 2, "most cases are refused: the test says little about accepted values"
    assert verdicts[False] > cases // 10, "few cases are refused: the test says little about refused values"


def test_models_and_schema_agree_on_every_property(revision: str, cases: int) -> None:
    """With few cases, on every fourth value of the properties."""
    tried = subject(revision)
    _agree(tried, islice(tried.instances("systematic").systematic(), None, None, 1 if cases >= 3000 else 4))


def _agree(tried: Subject, cases: Iterable[Case]) -> Counter[bool]:
    """Compare the two readings of every case; return how many were accepted and how many refused."""
    verdicts: Counter[bool] = Counter()
    faults: list[str] = []
    rng = tried.instances("spelling").rng
    for case in cases:
        expected = tried.judge.accepts(case.definition, case.value)
        text = write(case.value, rng)
        assert expected or not case.valid, f"{case.definition} should be valid: {text}"
        verdicts[expected] += 1
        fault = _fault(tried, case, text, expected)
        if fault:
            faults.append(f"{tried.revision} {case.definition}: {fault}\n  {text[:2000]}")
    assert not faults, f"{len(faults)} disagreements\n" + "\n".join(faults[:MAX_SHOWN])
    return verdicts


def _fault(tried: Subject, case: Case, text: str, expected: bool) -> str | None:
    """Return what is wrong with the model's reading of a case, or None."""
    model = tried.decode(case.definition, text)
    accepted = model is not REFUSED
    if accepted != expected:
        verdict = {True: "accepts", False: "refuses"}
        return f"the model {verdict[accepted]}, the schema {verdict[expected]}"
    if not accepted:
        return None
    written = tried.type(case.definition).encode(model)
    back = read(written)
    lost = [path for path in differences(case.value, back) if not _is_respelled(tried, case, back, path)]
    if lost:
        return f"comes back changed at {lost} as {written.decode()[:2000]}"
    return None


def _is_respelled(tried: Subject, case: Case, back: Json, path: Path) -> bool:
    """Whether the only change at a path is that the integer 1.0 is now written as 1."""
    if not tried.admits_integer(case.definition, path):
        return False
    before, after = at(case.value, path), at(back, path)
    return type(before) is float and type(after) is int and bool(before == after)

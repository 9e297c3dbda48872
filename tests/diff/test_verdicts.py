"""A verdict is proven, or it is not given: random changes, judged by the diff and by an oracle without its code.

`CASES` sets the number of cases of the slow test.
"""

import os
from itertools import islice

import pytest

from support.mutants_of_messages import OPS
from support.verdict_cases import Figures, cases, run

QUICK = 500
SLOW = int(os.environ.get("CASES", "1000"))
CHUNKS = 25
"""The quick cases run in parts, which workers share."""
MIN_CLASSES = 60
MIN_RECALL = 0.97
MAX_UNDECIDED = 0.03
"""The share of pairs of peers without a verdict."""


def figures(part: int, parts: int, number: int) -> Figures:
    found = Figures()
    for revision, name, seed in islice(cases(number), part, None, parts):
        run(revision, name, seed, found)
    return found


def check(found: Figures) -> None:
    """What no case may show: a false verdict, or a message that proves nothing."""
    assert found.contradicted == []
    assert found.wrong_roles == []


def test_there_are_enough_classes() -> None:
    assert len(OPS) >= MIN_CLASSES


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_verdict_is_false(chunk: int) -> None:
    check(figures(chunk, CHUNKS, QUICK))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_cases_have_no_false_verdict_and_few_pairs_without_one() -> None:
    found = figures(0, 1, SLOW)
    print(found.summary())
    check(found)
    assert len(found.classes) >= MIN_CLASSES
    assert found.recalled >= MIN_RECALL * found.broken
    assert sum(found.undecided.values()) <= MAX_UNDECIDED * found.pairs

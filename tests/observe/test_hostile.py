"""An observer reports what is wrong with any message, and continues."""

import json
import random
from typing import Any

import pytest

from mcp_bindgen.live.bindings import packages_of
from mcp_bindgen.live.bindings import revisions as released
from mcp_bindgen.live.recording.readings import Reader
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.observe.observer import Observer
from observe.faults import CLIENT, FAULTS, Said

ODD: tuple[Any, ...] = (None, True, False, 0, -1, 1.5, 2**70, "", "x", "\x1b[2J", "x" * 2000, [], {}, [[]], {"": None})
NAMES = ("id", "method", "result", "error", "params", "_meta", "task")
TALKS = [fault.lines for fault in FAULTS]
CASES = 800


def changed(value: Any, chance: random.Random) -> Any:
    """Return a JSON value in which something was replaced, left out or added."""
    if is_object(value) and value and chance.random() < 0.85:
        name = chance.choice(list(value))
        match chance.randrange(6):
            case 0:
                return {other: kept for other, kept in value.items() if other != name}
            case 1:
                return {**value, chance.choice(NAMES): chance.choice(ODD)}
            case _:
                return {**value, name: changed(value[name], chance)}
    if is_array(value) and value and chance.random() < 0.8:
        index = chance.randrange(len(value))
        return [*value[:index], changed(value[index], chance), *value[index + 1 :]]
    return chance.choice(ODD)


def odd_talk(chance: random.Random) -> list[Said]:
    """Return a conversation in which lines were changed, repeated, or sent by the other side."""
    said: list[Said] = []
    for who, line in (*chance.choice(TALKS), *chance.choice(TALKS)):
        try:
            value = json.loads(line)
        except ValueError:
            value = {}
        text = json.dumps(changed(value, chance)).encode() if chance.random() < 0.4 else line
        speaker = chance.choice("<>") if chance.random() < 0.1 else who
        said += [(speaker, text)] * chance.choice((1, 1, 1, 2))
    return said


@pytest.mark.parametrize("seed", range(4))
def test_odd_conversations_are_checked_to_their_end(seed: int) -> None:
    chance = random.Random(seed)
    bindings = [package.BINDING for package in packages_of(released())]
    for _ in range(CASES // 4):
        watching = Observer(bindings)
        for who, line in odd_talk(chance):
            for finding in watching.take(Side.CLIENT if who == CLIENT else Side.SERVER, line):
                text_of_finding = f"{finding.pointer}{finding.reason}{finding.method}{finding.id}"
                assert text_of_finding.isprintable() and len(text_of_finding) < 3000, finding


def test_odd_logs_are_read_to_their_end() -> None:
    chance = random.Random(9)
    reader = Reader(released())
    for number in range(CASES // 10):
        for _, line in odd_talk(chance):
            assert reader.read(line, number).kind

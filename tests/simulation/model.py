"""The oracle's tables: the states and events of each lifecycle, as the specification describes them.

Nothing here imports the runtime, whose own tables would hide their faults. `explore` walks through every state of a
table on its own, `page` shows it, and `judge` holds the histories of simulated worlds against it.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

FORBIDDEN: Final = "-"


class Lifecycle(NamedTuple):
    """What may happen to one thing, and in which order.

    Attributes:
        name: its name.
        about: one sentence for the documentation.
        start: the first state.
        finals: the states in which it may stay.
        rows: maps each state and event to the next state, or to `FORBIDDEN`.
    """

    name: str
    about: str
    start: str
    finals: frozenset[str]
    rows: Mapping[str, Mapping[str, str]]

    @property
    def events(self) -> tuple[str, ...]:
        """The events, in the order of the table."""
        return tuple(self.rows[self.start])


def lifecycle(name: str, about: str, finals: str, table: str) -> Lifecycle:
    """Read a table: the events in its first line, then a state per line, and the state that follows each event."""
    head, *lines = (line.split() for line in table.strip().splitlines())
    rows = {state: dict(zip(head, following, strict=True)) for state, *following in lines}
    return Lifecycle(name, about, next(iter(rows)), frozenset(finals.split()), rows)


LIFECYCLES: Final = tuple(
    lifecycle(**row)
    for row in tomllib.loads((Path(__file__).parent / "lifecycles.toml").read_text("utf-8"))["lifecycle"]
)
SESSION, SENT, RECEIVED, CALL, QUESTION, STREAM, SUBSCRIPTION, TASK = LIFECYCLES


def explore(table: Lifecycle) -> Iterator[str]:
    """Walk through a table; yield what is wrong with it."""
    reached, waiting = {table.start}, [table.start]
    while waiting:
        following = set(table.rows[waiting.pop()].values()) - {FORBIDDEN} - reached
        reached |= following
        waiting += following
    yield from (f"{table.name}: {state} cannot be reached" for state in table.rows.keys() - reached)
    yield from (f"{table.name}: {state} has no row" for state in reached - table.rows.keys())
    for event in table.events:
        if all(row[event] == FORBIDDEN for row in table.rows.values()):
            yield f"{table.name}: {event} is allowed in no state"
    for state in reached & table.rows.keys():
        ends, waiting = {state}, [state]
        while waiting:
            following = set(table.rows[waiting.pop()].values()) - {FORBIDDEN} - ends
            ends |= following
            waiting += following & table.rows.keys()
        if not ends & table.finals:
            yield f"{table.name}: {state} has no way to an end"


def diagram(table: Lifecycle) -> str:
    """Draw a table as arrows, a line for each; what changes nothing is left out."""
    lines = [f"(start) --> {table.start}"]
    for state, row in table.rows.items():
        by_next: dict[str, list[str]] = {}
        for event, following in row.items():
            if following not in (FORBIDDEN, state):
                by_next.setdefault(following, []).append(event)
        lines += [f"{state} --{', '.join(events)}--> {following}" for following, events in by_next.items()]
    return "\n".join([*lines, *(f"{state} --> (end)" for state in sorted(table.finals))])


def page() -> str:
    """Return the diagrams and tables of all lifecycles, in Markdown."""
    parts: list[str] = []
    for table in LIFECYCLES:
        head = f"| state | {' | '.join(table.events)} |\n|---{'|---' * len(table.events)}|"
        rows = [f"| {state} | {' | '.join(row.values())} |" for state, row in table.rows.items()]
        drawn = f"<!-- not run: a diagram -->\n```text\n{diagram(table)}\n```"
        parts.append(f"## {table.name.capitalize()}\n\n{table.about}\n\n{drawn}\n\n" + "\n".join([head, *rows]))
    return "\n\n".join(parts) + "\n"

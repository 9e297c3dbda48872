"""A world: one server and its clients, what they do, and the network between them. A seed makes it, as JSON."""

import asyncio
import json
import logging
import random
import warnings
from functools import partial
from typing import Any, Final

from mcp_runtime.core.connection.transport import ACCEPTED, Channel, Outcome, Receiver, TransportError
from mcp_runtime.core.server import serving
from simulation import hostile, web
from simulation.client import World, live
from simulation.duties import LEGACY, MODERN
from simulation.loop import Loop, Stuck, simulate
from simulation.net import Event, History, Net, Stream, Weather, held
from simulation.server import LEVELS, Spent, make_server

CALM: Final[dict[str, Any]] = {"clients": 1, "stalls": 0, "limits": {}}
"""What differs in a world with a hostile client."""


def make(seed: int) -> World:
    """Make a world."""
    chance = random.Random(seed)
    some = chance.choice
    delay = some((0, 0, 0.01, 0.3, 3, 60))
    world: World = {
        "seed": seed,
        "server": some((*LEGACY, MODERN)),
        "client": some((*LEGACY, MODERN, MODERN)),
        "speaks": some(("all", "all", "own")),
        "era": some(("auto", "auto", "auto", "legacy", "modern")),
        "weather": {"delay": delay, "pieces": some((1, 2, 5)), "capacity": some((300, 1 << 16, 1 << 16))},
        "stalls": some((0, 0, 0, 0.5, 5)),
        "limits": {
            **{"max_in_flight": some((1, 2, 256)), "max_queued": some((0, 2, 10_000))},
            **{"progress_rate": some((1, 2, 20, None)), "log_rate": some((1, 3, 100, None))},
        },
        "patience": {"timeout": some((2, 30, 60)), "max_time": some((10, 100, 600)), "max_extension": some((1.5, 3))},
        "clients": some((1, 1, 2)),
        "calls": [],
        "close": None,
        "stop": None,
    }
    if world["stalls"]:
        world["limits"] |= {"progress_rate": None, "log_rate": None}
    if chance.random() < 0.15:
        weather = {"delay": 0, "pieces": 5, "capacity": some((300, 1 << 16))}
        script = hostile.make(chance, world["server"], world["speaks"])
        return world | {"hostile": script, **CALM, "weather": weather}
    world["pings"] = delay < 1 and not world["stalls"] and chance.random() < 0.3
    for number in range(chance.randint(1, 8)):
        world["calls"].append(_call(chance, number, world["clients"]))
    if chance.random() < 0.22:
        over_http = web.make(chance, world["calls"])
        return world | {
            "web": over_http,
            "speaks": "all",
            **CALM,
            "limits": {"progress_rate": None},
            "weather": {"delay": 0, "pieces": 5},
        }
    if not world["stalls"] and delay < 10 and chance.random() < 0.3:
        world |= chance.choice(({}, {"server": MODERN, "client": MODERN, "era": "auto"}))
        is_modern = world["client"] == world["server"] == MODERN and world["era"] != "legacy"
        world["limits"] |= {"max_queued": 10_000} if is_modern else {"max_in_flight": 256}
        world["patience"] |= {"timeout": 2000, "max_time": 5000}
        for number, call in enumerate(world["calls"]):
            call |= {"timeout": None, "max_time": None}
            call["cancel"] = chance.choice((None, call["cancel"], chance.uniform(0, 9)))
            if number % 2 == 0:
                call |= {"steps": _dialogue(chance), "progress": False}
    elif not world["stalls"] and delay < 10 and chance.random() < 0.5:
        if chance.random() < 0.25:
            return _with_tasks(chance, world)
        _watched(chance, world)
    elif world["weather"]["capacity"] > 300 and not world["stalls"]:
        kind = chance.random()
        world["echo"] = kind < 0.25
        if kind > 0.6:
            _heavy(chance, world)
    end = chance.choice((None, None, "cut", "close", "stop"))
    if end is not None:
        at = (world["weather"] if end == "cut" else world)[end] = chance.choice((1.05, 2.05, chance.uniform(0, 40)))
        for call in world["calls"][::3]:
            call["at"] = chance.choice((call["at"], max(0, at + chance.uniform(-1, 1))))
        if world["patience"]["timeout"] < 2000 and chance.random() < 0.5:
            world["limits"] |= {"max_in_flight": 1, "max_queued": 10_000}
            for call in world["calls"][:2]:  # the second waits at the end
                call |= {"client": 0, "at": max(0, at - 0.5), "steps": [["wait", 2], *call["steps"]]}
    return world


def _with_tasks(chance: random.Random, world: World) -> World:
    """Make tasks of the calls: some ask, some are cancelled."""
    revision = chance.choice(("2025-11-25", MODERN))
    world |= {"server": revision, "client": revision, "speaks": "all", "era": "auto"}
    world["tasks"] = {"poll": chance.choice((0.1, 1, 3))}
    world["weather"] |= {"capacity": 1 << 16, "delay": min(0.3, world["weather"]["delay"])}
    world["limits"] |= {"max_in_flight": 256}
    world["patience"] |= {"timeout": 2000, "max_time": 5000}
    for call in world["calls"]:
        steps = [step for step in call["steps"] if step[0] in ("wait", "fail", "crash", "big")]
        for _ in range(chance.choice((0, 1, 2))):
            asked = ["ask", chance.choice((0, 2))] if revision == MODERN else web.questions(chance)
            steps.insert(chance.randint(0, len(steps)), asked)
        steps.insert(0, ["defer"])
        call |= {"task": True, "steps": steps, "timeout": None, "max_time": None, "progress": False}
    return world


def _heavy(chance: random.Random, world: World) -> None:
    """Let clients send more than a server holds at once: there is room for one of their large calls."""
    world["limits"] |= {"max_bytes": 150_000}
    world["weather"] |= {"capacity": 1 << 20}
    for call in world["calls"]:
        call |= {"pad": chance.choice((0, 40_000)), "steps": call["steps"][:4]}


def _watched(chance: random.Random, world: World) -> None:
    """Let clients watch resources and the list of tools, and calls change them."""
    world |= {"client": chance.choice((world["client"], MODERN)), "era": chance.choice((world["era"], "auto"))}
    world["limits"] |= {"max_in_flight": 256, "max_waiting": chance.choice((2, 1000))}
    world["weather"] |= {"capacity": 1 << 16, "delay": min(2, world["weather"]["delay"])}
    world["patience"] |= {"timeout": 2000, "max_time": 5000}
    world["watches"] = [
        {
            **{"tag": f"watch {number}", "uri": f"a:/{number}{chance.choice(('', '', '/'))}"},
            **{"client": chance.randrange(world["clients"]), "tools": chance.random() < 0.5},
            **{"at": chance.uniform(0, 8), "seconds": chance.choice((chance.uniform(0, 9), 30, 300))},
        }
        for number in range(chance.choice((1, 1, 2, 4)))
    ]
    for call in world["calls"]:
        call |= {"timeout": None, "max_time": None}
        for _ in range(chance.choice((1, 3, 9))):
            uri = f"a:/{chance.randrange(len(world['watches']))}{chance.choice(('', '', '/', '/part', 'x'))}"
            call["steps"] += [["wait", chance.uniform(0, 3)], ["change", chance.choice((uri, uri, uri, None))]]


def _call(chance: random.Random, number: int, clients: int) -> dict[str, Any]:
    steps = [_step(chance, number) for number in range(chance.choice((0, 1, 1, 2, 4, 8)))]
    is_long = chance.random() < 0.15
    if is_long:
        gap = chance.choice((0.1, 0.9, 0.9))
        steps = [step for number in range(20) for step in (["wait", gap], ["report", number, None, 1])]
    return {
        "tag": f"call {number}",
        "client": chance.randrange(clients),
        "at": chance.choice((0, 0, 0.1, chance.uniform(0, 20))),
        "steps": steps,
        "timeout": 2 if is_long else chance.choice((None, None, 1, 5)),
        "max_time": chance.choice((None, None, 12)),
        "progress": is_long or chance.random() < 0.6,
        "log_level": chance.choice((None, *LEVELS)),
        "cancel": chance.choice((None, None, None, 0, chance.uniform(0, 8))),
    }


def _dialogue(chance: random.Random) -> list[Any]:
    """Return steps with questions; each takes the client some seconds to answer."""
    steps: list[Any] = []
    for _ in range(chance.choice((1, 1, 2, 5))):
        steps += chance.choice(([], [], [["log", "error", "line", 2]]))
        steps += [["wait", chance.choice((0, 0, 0.5, 3))], web.questions(chance)]
    return [*steps, *chance.choice(([], [["wait", 1]], [["wait", 6]], [["fail", 7]]))]


def _step(chance: random.Random, number: int) -> list[Any]:
    match chance.randrange(12):
        case 0 | 1 | 2 | 3:
            return ["wait", chance.choice((0, 0.02, 0.5, 1, 4, chance.uniform(0, 10)))]
        case 4 | 5 | 6 | 7:
            progress = number + chance.choice((1, 1, 1, -0.8))
            return ["report", progress, chance.choice((None, 10)), chance.choice((1, 1, 4, 5))]
        case 8 | 9:
            return ["log", chance.choice((*LEVELS, "mixed", "mixed")), f"line {number}", chance.choice((1, 1, 8, 30))]
        case 10:
            return ["fail", chance.choice((-32602, -32000, 7))]
        case _:
            return chance.choice((["crash"], ["big", 5000], ["stubborn", 1.0], ["report", 0, None, 1]))


def run(world: World) -> tuple[list[Event], Loop]:
    """Play a world; return all that happened, and its loop."""
    made: list[History] = []
    log = logging.getLogger("mcp_runtime")
    before = log.handlers, log.propagate

    async def main(loop: Loop) -> None:
        history = History(loop)
        made.append(history)
        net = Net(history)
        history.has_echo = world.get("echo", False)
        server = make_server(world, history)
        log.handlers, log.propagate = [_Log(history)], False
        with net.open():
            streams = [
                Stream(net, number, Weather(**world["weather"]))
                for number in range(0 if "web" in world else world["clients"])
            ]
            opened: dict[int, Any] = {}
            servers = [
                asyncio.ensure_future(_serve(world["stop"], net.history, number, serving(s.server, server), opened))
                for number, s in enumerate(streams)
            ]
            if "web" in world:
                await web.play(
                    world, partial(make_server, world, history, Spent(history, world["web"].get("away"))), history
                )
            elif "hostile" in world:
                await _attack(world, history, streams[0])
            else:
                await asyncio.gather(*(live(world, history, number, s, opened) for number, s in enumerate(streams)))
            await asyncio.gather(*servers)
            await asyncio.sleep(20 + (world["stop"] or 0) + (world["close"] or 0))
        left = asyncio.all_tasks() - {asyncio.current_task()}
        pipes = sum(pipe.is_open for stream in streams for pipe in (stream.there, stream.back))
        tasks = sorted(task.get_name() for task in left)
        told = [str(warning.message) for warning in warned if "never awaited" in str(warning.message)]
        kept = {"tasks": tasks, "failures": loop.failures, "pipes": pipes, "timers": loop.timers, "warnings": told}
        history.note("world", "ends", kept)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", RuntimeWarning)
            simulate(main, world["seed"], world["stalls"])
    except Stuck:
        made[0].note("world", "is stuck")
    except Exception as error:
        made[0].note("world", "fails", repr(error))
    finally:
        log.handlers, log.propagate = before
    return made[0], made[0].loop


class _Log(logging.Handler):
    """Records the log lines of the runtime."""

    def __init__(self, history: History) -> None:
        super().__init__(logging.WARNING)
        self._history = history

    def emit(self, record: logging.LogRecord) -> None:
        self._history.note("log", record.levelname, record.getMessage())


async def _serve(stop: float | None, history: History, number: int, served: Any, opened: dict[int, Any]) -> None:
    who = f"server {number}"
    async with served as connection:
        opened[number] = connection
        if stop is not None:
            history.loop.call_later(stop, lambda: asyncio.ensure_future(_stop(history, who, connection)))
        reason = await connection.wait_closed()
    history.note(who, "is closed", reason)
    history.note(who.replace("server", "client"), "holds", held(connection))


class _Deaf(Receiver):
    """Takes what a hostile client receives."""

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        return ACCEPTED

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        return ACCEPTED

    def connection_lost(self, reason: TransportError | None) -> None: ...


def is_asking(message: Any) -> bool:
    """Whether a message is a result that asks."""
    return message.__class__ is dict and "requestState" in message.get("result", {})


async def _attack(world: World, history: History, stream: Stream) -> None:
    """Be a hostile client: send the lines, at their times."""
    await stream.client.start(_Deaf())
    for at, line, _ in hostile.Reference(world).lines():
        await asyncio.sleep(at - history.loop.time())
        states = [
            data["result"]["requestState"] for _, _, what, data in history if what == "received" and is_asking(data)
        ]
        for message in line.replace("STATE", states[-1] if states else "").split("\n"):
            stream.client.send(message.encode())
    await asyncio.sleep(10)
    await stream.client.close()


async def _stop(history: History, who: str, connection: Any) -> None:
    if connection.closed_because is None:
        history.note(who, "stops")
        await connection.aclose()


def show(history: list[Event]) -> str:
    """Return a history as text, a line for each event."""
    return "\n".join(f"{at:.6f} {who}: {what} {json.dumps(data)}" for at, who, what, data in history)

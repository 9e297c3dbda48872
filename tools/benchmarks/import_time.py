"""Import: CPU time and peak memory of fresh interpreters, minus those of an idle one.

Each revision is measured twice: up to where Client, Server and the method table are there, and up to where one message
of each kind of the opening has been decoded. The floor of the first is `from pydantic import BaseModel, TypeAdapter`,
that of the second one trivial pydantic class and one message decoded. The peer has all its revisions in one import.
"""

import json
import sys
from collections.abc import Iterator
from functools import partial
from statistics import median

from measure import PEER_PYTHON, Row, at_most, clean_environment, in_turn, less, ratio, run_python
from messages import opening

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
PYDANTIC = "from pydantic import BaseModel, TypeAdapter"
ONE_MODEL = "from pydantic import BaseModel\nclass M(BaseModel):\n    x: int\nM.model_validate_json(b'{\"x\": 1}')"

# The peak memory of a process; Linux has it for the program alone, getrusage only together with the parent.
_PEAK = """
import sys
try:
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
except (OSError, StopIteration):
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1))
"""


def _ours(revision: str) -> str:
    return f"from mcp_bindings.v{revision.replace('-', '_')} import METHODS, Client, Server"


def _ours_ready(revision: str) -> str:
    lines = [_ours(revision)]
    for method, params, result in opening(revision):
        lines += [
            f"METHODS[{method!r}].params.decode({_json(params)!r})",
            f"METHODS[{method!r}].result.decode({_json(result)!r})",
        ]
    return "\n".join(lines)


def _peer_ready(module: str, revision: str) -> str:
    lines = [f"import {module}, mcp_types.methods as m"]
    for method, params, result in opening(revision):
        lines += [
            f"m.parse_client_request({method!r}, {revision!r}, {params!r})",
            f"m.parse_server_result({method!r}, {revision!r}, {result!r})",
        ]
    return "\n".join(lines)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def measure(quick: bool) -> Iterator[Row]:
    ours = {"bare": "pass", "pydantic": PYDANTIC, "one model": ONE_MODEL}
    ours |= {f"import {revision}": _ours(revision) for revision in REVISIONS}
    ours |= {f"ready {revision}": _ours_ready(revision) for revision in REVISIONS}
    peer = {
        "peer bare": "pass",
        "peer import": "import mcp_types.methods",
        "peer ready": _peer_ready("mcp_types", "2025-11-25"),
        "peer sdk import": "import mcp",
        "peer sdk ready": _peer_ready("mcp", "2025-11-25"),
    }
    peaks: dict[str, list[float]] = {}
    with clean_environment() as environment:
        programs = {name: (code, sys.executable) for name, code in ours.items()}
        if PEER_PYTHON:
            programs |= {name: (code, PEER_PYTHON) for name, code in peer.items()}

        def run(name: str) -> float:
            code, python = programs[name]
            usage = run_python(["-c", code + _PEAK], environment, python)
            peaks.setdefault(name, []).append(int(usage.output) / 1024)
            return usage.cpu * 1000

        samples = in_turn({name: partial(run, name) for name in programs}, 5 if quick else 21)

    times = {name: less(samples[name], samples["peer bare" if name.startswith("peer") else "bare"]) for name in samples}

    def figure(name: str) -> float | None:
        return median(times[name]) if name in times else None

    def memory(name: str, start: str) -> float | None:
        return median(peaks[name]) - median(peaks[start]) if name in peaks else None

    steps = (("import", "peer import", "pydantic", 1.25), ("ready", "peer ready", "one model", 1.2))
    for step, peer_name, least, most in steps:
        floor = times[least]
        for revision in REVISIONS:
            mine = times[f"{step} {revision}"]
            yield Row(
                what=f"import {revision}" + (", first messages decoded" if step == "ready" else ""),
                unit="ms",
                ours=median(mine),
                peer=figure(peer_name),
                floor=median(floor),
                judged=((ratio(mine, floor), at_most(most, "x floor")),),
            )
    yield Row(
        what="  the peer's whole SDK (import mcp)", unit="ms", peer=figure("peer sdk import"), floor=figure("pydantic")
    )
    yield Row(
        what="  the peer's whole SDK, first messages decoded",
        unit="ms",
        peer=figure("peer sdk ready"),
        floor=figure("one model"),
    )
    base = memory("one model", "bare")
    for revision in REVISIONS:
        own = memory(f"ready {revision}", "bare")
        assert own is not None and base is not None
        yield Row(
            what=f"peak memory {revision}, first messages decoded",
            unit="MB",
            ours=own,
            peer=memory("peer ready", "peer bare"),
            floor=base,
            judged=((own - base, at_most(4, " MB over floor")),),
        )

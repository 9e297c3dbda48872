"""The decorated tracker of the examples and its official SDK counterparts: other clients observe no difference."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from interop.processes import PEERS, SDK1, SDK2, Side, interpreter

pytestmark = pytest.mark.interop

TRACKER = Path(__file__).parents[2] / "examples" / "tracker_server.py"
TWINS = [(SDK1, PEERS / "fastmcp_tracker.py"), (SDK2, PEERS / "mcpserver_tracker.py")]
SEEN: dict[str, Any] = {
    "server": "tracker",
    "tools": ["search", "open_issue", "close_issue", "summarize", "reindex"],
    "search": [False, {"result": [{"number": 1, "title": "Crash at start", "state": "open", "labels": ["bug"]}]}],
    "open": [False, {"number": 3, "title": "New", "state": "open", "labels": ["a"]}],
    "close": [False, {"number": 1, "title": "Crash at start", "state": "closed", "labels": ["bug"]}],
    "summarize": [False, {"result": "SUMMARIZE: DARK MODE"}],
    "reindex": [False, {"result": 3}],
    "wrong": True,
    "missing": True,
    "resources": ["tracker://issues", "tracker://labels"],
    "templates": ["tracker://issues/{number}"],
    "issue": {"number": 2, "title": "Dark mode", "state": "open", "labels": []},
    "prompt": "What is the next step on 'Dark mode'? Be friendly.",
    "logged": ["info"],
    "progress": [[1, 3, "issue 1"], [2, 3, "issue 2"], [3, 3, "issue 3"]],
}


def seen(client: Side, *server: str) -> Any:
    command = [interpreter(client.runs), str(PEERS / "sdk_tracker_client.py"), *server]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("client", [SDK1, SDK2], ids=lambda side: side.name)
def test_third_party_clients_use_decorated_functions(client: Side) -> None:
    assert seen(client, interpreter(""), str(TRACKER)) == SEEN


@pytest.mark.parametrize(("side", "twin"), TWINS, ids=lambda part: getattr(part, "name", None))
def test_the_same_scenario_passes_with_the_official_sdk(side: Side, twin: Path) -> None:
    assert seen(side, interpreter(side.runs), str(twin)) == SEEN

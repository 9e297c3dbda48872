"""A body of many small values takes little memory."""

import json
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from mcp_runtime.core.json.text import MAX_VALUES
from support.http import BOTH, SESSION, call, hello, request
from support.ports import free_port

SERVER = """
import sys
from mcp_bindings import App
from mcp_runtime import serve_http

app = App("bombs")

@app.tool()
async def count(items: list) -> str:
    "Count."
    return str(len(items))

serve_http(app, port=int(sys.argv[1]), started=lambda url: print(url, flush=True))
"""
MOST = 60 << 20
"""How many bytes of memory one request may take, in addition to what the server has; all together about 100 MB."""
WEIGHTS = {"[]": 3, "{}": 4, "[[[]]]": 7, '{"a":1}': 5, '{"a":[]}': 7, "1e5": 1, '"x"': 1, '"é"': 1, "-9e9": 1}
"""What values in a list count, with the comma before them."""


def highest(process: "subprocess.Popen[str]") -> int:
    """Return the most memory that a process has had, in bytes."""
    [line] = [line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10


@pytest.mark.slow
@pytest.mark.parametrize("value", WEIGHTS)
def test_a_body_takes_little_memory(value: str) -> None:
    command = [sys.executable, "-c", SERVER, str(free_port())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip() + "/mcp"
            with httpx2.Client(headers={**BOTH, "content-type": "application/json"}, timeout=60) as http:
                begun = http.post(url, content=json.dumps(request("initialize", hello("2025-11-25"))))
                session = {SESSION: begun.headers[SESSION], "mcp-protocol-version": "2025-11-25"}
                ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                assert http.post(url, content=json.dumps(ready), headers=session).status_code == 202
                before = highest(process)
                items = ",".join([value] * ((MAX_VALUES - 100) // WEIGHTS[value]))
                body = json.dumps(call("count", items=[0])).replace("[0]", f"[{items}]").encode()
                answer = http.post(url, content=body, headers=session)
                assert "result" in answer.json()
                assert highest(process) - before < MOST
        finally:
            process.kill()

"""A server of the legacy era, written without the runtime, that handles `server/discover` in an unusual way.

Run as ``legacy_program.py HOW``: ``silent``, ``crash``, ``late``, ``garbage``, or an error code, with ``null`` after
it for an answer that does not name its request. Modern ways are ``legacy-only`` (it lists legacy revisions only) and
``other`` (it speaks another modern revision only); ``same`` refuses the one that it says it speaks.
"""

import json
import sys
import time
from typing import Any

HOW = sys.argv[1:]


def tell(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def discovered(id_: Any) -> None:
    match HOW:
        case ["silent"]:
            pass
        case ["crash"]:
            sys.exit(3)
        case ["late"]:
            time.sleep(0.5)
            tell(id=id_, error={"code": -32601, "message": "late"})
        case ["garbage"]:
            tell(id=id_, result={"supportedVersions": "all"})
        case ["legacy-only"]:
            tell(id=id_, result={"supportedVersions": ["2025-06-18"], "capabilities": {}, "resultType": "complete"})
        case ["other" | "same"]:
            revision = "2099-01-01" if HOW == ["other"] else "2026-07-28"
            error = {"code": -32022, "message": "no", "data": {"supported": [revision], "requested": "x"}}
            tell(id=id_, error=error)
        case [code, *null]:
            tell(id=None if null else id_, error={"code": int(code), "message": "what?"})
        case _:
            raise SystemExit(f"how? {HOW}")


def main() -> None:
    initialized = 0
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "server/discover":
                discovered(message["id"])
            case "initialize":
                initialized += 1
                version = message["params"]["protocolVersion"]
                info = {"name": "old", "version": str(initialized)}
                tell(id=message["id"], result={"protocolVersion": version, "capabilities": {}, "serverInfo": info})
            case "ping":
                tell(id=message["id"], result={})
            case _:
                pass


if __name__ == "__main__":
    main()

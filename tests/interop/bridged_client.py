"""Our client, written for 2025-11-25 and bridged to older revisions; it runs the scenarios of the negotiated one.

python -m interop.bridged_client REVISION COMMAND [ARGUMENT ...]        # in tests/
"""

import argparse
import asyncio
import json

from interop.our_client import Scenarios, scenarios
from interop.our_host import HOSTS, Host
from interop.peers import offer
from interop.peers.offer import Json
from mcp_bindings import v2025_11_25 as newest
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio


class Bridged(Scenarios):
    """The scenarios with the models of 2025-11-25, whatever revision is negotiated."""

    def __init__(self, client: newest.Client, host: Host) -> None:
        super().__init__(client, host)
        self._revision = newest.REVISION
        self._models = newest
        self._methods = newest.METHODS


async def main() -> None:
    """Print what the client observes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("revision")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    host = HOSTS[newest.REVISION]()
    finer: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}}
    options = ClientOptions(
        name=offer.CLIENT_NAME,
        version=offer.CLIENT_VERSION,
        roots=[newest.Root.model_validate(offer.ROOTS[0])],
        capabilities=finer,
    )
    async with connect_stdio(*arguments.command) as peer:
        assert isinstance(host, newest.ClientHandlers)
        client = await newest.Client.open(peer, handlers=host, options=options)
        for name, scenario in scenarios(Bridged(client, host), arguments.revision).items():
            try:
                async with asyncio.timeout(40):
                    print(json.dumps({"scenario": name, "saw": await scenario()}), flush=True)
            except Exception as failure:
                failed = f"{type(failure).__name__}: {failure}"
                print(json.dumps({"scenario": name, "failed": failed}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())

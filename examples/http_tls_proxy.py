"""Terminates TLS in front of a server: `python http_tls_proxy.py CERTIFICATE KEY` prints its URL.

It does what HAProxy, stunnel or a load balancer does: the server itself uses plain HTTP, on this machine only. The
request is unchanged, so the server must accept the host name that clients use (`hosts`).
"""

import argparse
import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import uvicorn
from sum_server import Calculator

from mcp_bindings import asgi_app


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()


async def main(certificate: str, key: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    app = asgi_app(Calculator(), hosts=["localhost"])
    inner = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(inner.serve())
    while not inner.started:
        await asyncio.sleep(0.01)
    port = inner.servers[0].sockets[0].getsockname()[1]

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    proxy = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
    print(f"https://localhost:{proxy.sockets[0].getsockname()[1]}/mcp", flush=True)
    await serving
    proxy.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("certificate")
    parser.add_argument("key")
    given = parser.parse_args()
    if not (Path(given.certificate).is_file() and Path(given.key).is_file()):
        parser.error(f"{given.certificate} or {given.key} is not a file")
    asyncio.run(main(**vars(given)))

"""An MCP endpoint inside a FastAPI application, next to its own pages: `uvicorn http_fastapi:api`."""

import argparse

from fastapi import FastAPI
from starlette.routing import Route
from sum_server import Calculator

from mcp_bindings import asgi_app

mcp = asgi_app(Calculator(), hosts=["localhost", "127.0.0.1", "mcp.example.com"])
# Sessions end with the application.
api = FastAPI(lifespan=mcp.lifespan)
# A mount would answer at /mcp/, and redirect requests to /mcp.
api.router.routes.append(Route("/mcp", mcp))


@api.get("/")
async def home() -> dict[str, int]:
    return {"sessions": len(mcp.sessions)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage="uvicorn http_fastapi:api", description=__doc__)
    parser.parse_args()
    parser.error("an ASGI server runs this application")

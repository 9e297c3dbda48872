"""A server with a tool of its own, beside those of a generated server, which it mounts."""

import argparse

from openapi_server import app as shop

from mcp_bindings import App

app = App("tea-house")
app.mount(shop, prefix="shop")


@app.tool()
def hours() -> str:
    """When the tea house is open."""
    return "9 to 5"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    app.run()

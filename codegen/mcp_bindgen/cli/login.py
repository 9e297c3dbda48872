"""`mcp-bindgen login` and `logout`: the tokens for protected servers, which the other commands use too."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from mcp_bindgen.cli.output import answer
from mcp_bindgen.ingest.sources import is_url
from mcp_bindgen.ir.diagnostics import InputError

if TYPE_CHECKING:
    from mcp_bindgen.live.output import ServerOutput

SECONDS: Final = 360.0
"""Seconds for a whole sign-in, in which a person has five minutes."""

UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="The URL of the server.")]


def login(
    url: UrlArgument,
    *,
    client_id: Annotated[
        str, typer.Option(metavar="ID", help="The id of a client that the issuer has registered; needs --issuer.")
    ] = "",
    issuer: Annotated[str, typer.Option(metavar="URL", help="The issuer that has registered the client.")] = "",
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A scope to ask for beside those that the server names; repeat for more."),
    ] = None,
) -> None:
    """Sign in to a server in a browser, and store the tokens in a file that only you can read."""
    from mcp_bindgen.live.inspecting.visit import Visit
    from mcp_bindgen.live.target import Endpoint, SignIn, has_tokens, talk

    _check(url)
    if bool(client_id) != bool(issuer):
        raise InputError.at("login", "--client-id and --issuer belong together")
    target = Endpoint(url=url, sign_in=SignIn(client_id=client_id, issuer=issuer, scopes=tuple(scope or ())))

    async def visit(said: "ServerOutput") -> str:
        return await Visit(target, said, timeout=SECONDS).greet()

    name = talk(target, visit, timeout=SECONDS, failed="signing in failed")
    answer(f"signed in to {name}" if has_tokens(url) else f"{name} does not ask for authorization")


def logout(url: UrlArgument) -> None:
    """Revoke the tokens for a server, if its issuer supports that, and delete them."""
    from mcp_bindgen.live.target import sign_out

    _check(url)
    answer("signed out" if sign_out(url) else "there were no tokens for this server")


def _check(url: str) -> None:
    if not is_url(url):
        raise InputError.at(url, "is not the URL of a server")

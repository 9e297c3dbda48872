"""What servers generated from OpenAPI documents import: typed calls of an HTTP API.

A generated module has one `Api`: where the API is, and which environment variables hold its credentials. Each of its
tools makes one `Api.call`, which goes through these steps:

1. `encode` spells the parameters and the body as their styles say. A value cannot change the path, let alone the
   origin: what is not a plain segment of a path, or not text of a header, is refused before anything is sent.
2. `credentials` adds the secrets of the first set of security schemes that is complete. They come from the
   environment, or from a header of the caller that the author of the server named; never from the document.
3. `call` sends the request, without cookies of earlier responses, and follows redirects within the origin only. A
   response has a size and a time that it may take.
4. The response is checked against the type that the tool returns. Everything that goes wrong becomes a `ToolFailure`,
   the text of which a model can act on; no secret is in it.
"""

from typing import TYPE_CHECKING

from mcp_runtime.lazy import door

if TYPE_CHECKING:
    from mcp_runtime.http_api.call import Api
    from mcp_runtime.http_api.credentials import Credential
    from mcp_runtime.http_api.encode import Styled
    from mcp_runtime.http_api.models import OpenModel
else:
    __getattr__, __dir__ = door(
        "mcp_runtime.http_api",
        {"call": "Api", "credentials": "Credential", "encode": "Styled", "models": "OpenModel"},
    )

__all__ = ["Api", "Credential", "OpenModel", "Styled"]

"""An authorization response counts only if it belongs to the request, and comes from its issuer (RFC 9207)."""

import dataclasses

import pytest

from mcp_runtime.auth.client.discovery import Issuer
from mcp_runtime.auth.client.oauth import read_response
from mcp_runtime.core.errors import AuthorizationError

NAME = "https://login.example.com"
OPEN = Issuer(NAME, f"{NAME}/authorize", f"{NAME}/token")
STRICT = dataclasses.replace(OPEN, sends_issuer=True)
GOOD = "iss=https%3A%2F%2Flogin.example.com"
BACK = "http://127.0.0.1:1/callback"


@pytest.mark.parametrize(("issuer", "query"), [(OPEN, ""), (OPEN, GOOD), (STRICT, GOOD)])
def test_the_code_of_a_valid_response_is_used(issuer: Issuer, query: str) -> None:
    assert read_response(f"{BACK}?code=abc&state=st&{query}", "st", issuer) == "abc"


@pytest.mark.requirement("signing-in.response")
@pytest.mark.parametrize(
    ("issuer", "query", "problem"),
    [
        (OPEN, "code=abc", "another request"),
        (OPEN, "code=abc&state=", "another request"),
        (OPEN, "code=abc&state=ST", "another request"),
        (OPEN, "code=abc&state=st&state=st", "more than one state"),
        (OPEN, "code=abc&code=d&state=st", "more than one code"),
        (STRICT, "code=abc&state=st", "does not name its issuer"),
        (STRICT, f"code=abc&state=st&{GOOD}%2F", "from another issuer"),
        (STRICT, "code=abc&state=st&iss=HTTPS%3A%2F%2Flogin.example.com", "from another issuer"),
        (STRICT, "code=abc&state=st&iss=https%3A%2F%2Flogin.example.com%3A443", "from another issuer"),
        (OPEN, "code=abc&state=st&iss=https%3A%2F%2Fevil.example", "from another issuer"),
        (OPEN, "code=abc&state=st&iss=", "from another issuer"),
        (STRICT, f"code=abc&state=st&{GOOD}&iss=x", "more than one iss"),
        (OPEN, "error=access_denied&error_description=No%1b[31m&state=st", r"access_denied: No\\x1b"),
        (OPEN, "state=st", "no code"),
        (OPEN, "state=st&code=", "no code"),
    ],
)
def test_any_other_response_is_refused(issuer: Issuer, query: str, problem: str) -> None:
    with pytest.raises(AuthorizationError, match=problem):
        read_response(f"{BACK}?{query}", "st", issuer)


@pytest.mark.requirement("signing-in.error-after-validation")
@pytest.mark.parametrize("query", ["error=sneaky&state=other", "error=sneaky&state=st&iss=https%3A%2F%2Fevil.example"])
def test_an_error_is_shown_only_after_these_checks(query: str) -> None:
    with pytest.raises(AuthorizationError) as caught:
        read_response(f"{BACK}?{query}", "st", STRICT)
    assert "sneaky" not in str(caught.value)

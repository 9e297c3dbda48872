"""Keeps access tokens current: they are stored, refreshed once for all that use them, and obtained again if refused."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from http import HTTPStatus
from typing import Final

from mcp_runtime.auth.client.discovery import Challenge, Issuer, Resource, find_issuer, find_resource
from mcp_runtime.auth.client.receiver import SIGNING_IN
from mcp_runtime.auth.client.store import MemoryStore, Shared, Store, put, stored
from mcp_runtime.auth.client.tokens import Registered, Rejected, Token, post_form, read_record, request_token
from mcp_runtime.auth.fetching import Reach, check_url, is_public
from mcp_runtime.core.errors import AuthorizationError, clipped

MAX_ASKED: Final = 3
"""How many authorization requests one call may lead to."""
MAX_RENEWALS: Final = 6
"""How often the token of one request is replaced; other calls may have replaced it too."""
OFFLINE: Final = "offline_access"
"""The scope that some issuers want for a refresh token; a client without a person needs none."""
_INSUFFICIENT: Final = "insufficient_scope"


class Authorizer(ABC):
    """Obtains access tokens for the servers that ask for them; connections and programs may share it.

    Args:
        client: the client that the program has; its secret is not stored. None for one per issuer.
        store: keeps tokens and registrations; None for memory.
        send_resource: whether requests name the server as the resource (RFC 8707).
        insecure: whether http is allowed beyond loopback.
        issuer_slash: whether the metadata of an issuer may spell it with or without the slash after the origin.
        scopes: asked for beside those that the server names, also if there are tokens for which they were not asked.

    Attributes:
        extension: the extension that its use is declared by; may be empty.
    """

    extension = ""
    asks_person = False

    def __init__(
        self,
        client: Registered | None,
        store: Store | None,
        *,
        send_resource: bool = True,
        insecure: bool = False,
        issuer_slash: bool = False,
        scopes: Sequence[str] = (),
    ) -> None:
        self._scopes = tuple(scopes)
        self._given = client
        self._store = store or MemoryStore()
        self._send_resource = send_resource
        self._insecure = insecure
        self._any_slash = issuer_slash
        self._held: dict[str, Token | None] = {}
        self._signing_in = Shared[Token](may_cancel=True)
        self._refreshing = Shared[Token | None](may_cancel=False)

    async def begin(self, url: str) -> "Signing":
        """Begin a request with the access token for a server, which is refreshed if necessary.

        Args:
            url: the URL of the server.

        Raises:
            AuthorizationError: the URL may not be used, or a refresh failed.
        """
        check_url(url, "connecting", insecure=self._insecure)
        key = _key(url)
        if key not in self._held:
            self._held[key] = self._load(key)
        held = self._held[key]
        if held is not None and not held.is_usable:
            held = await self._refreshed(key, held.access)
        return Signing(self, url, held.access if held is not None and self._suffices(held) else "")

    async def renewed(self, signing: "Signing", status: int, said: Challenge, address: str, *, may_ask: bool) -> str:
        """Return another token for a request that was refused; see `Signing.renew`. It is empty if that is final."""
        key = _key(signing.url)
        if status == HTTPStatus.FORBIDDEN and said.error != _INSUFFICIENT:
            return ""
        held = self._held[key] = self._load(key)
        needed = {*(said.scopes or ()), *self._scopes}
        if held is not None and held.access != signing.token and held.is_usable and needed <= {*held.scopes}:
            return held.access
        reach = Reach(private=bool(address) and not is_public(address), insecure=self._insecure)
        resource = await find_resource(signing.url, said, reach, any_slash=self._any_slash)
        is_expired = status == HTTPStatus.UNAUTHORIZED and signing.attempts == 1
        is_refreshable = is_expired and held is not None and resource.names(held.issuer) and self._suffices(held)
        if is_refreshable and (fresh := await self._refreshed(key, signing.token)) is not None:
            return fresh.access
        if self.asks_person and not may_ask:
            return ""
        if signing.asked >= MAX_ASKED:
            problem = f"the server still answers {status} after {signing.asked} authorization requests"
            raise AuthorizationError(SIGNING_IN, signing.url, problem, "check what access the account has")
        found, is_first = await self._signing_in.run(key, lambda: self._sign_in(key, resource, said, held, reach))
        signing.asked += is_first
        return found.access

    def _suffices(self, held: Token) -> bool:
        return {*held.scopes}.issuperset(self._scopes)

    def knows(self, url: str) -> bool:
        """Whether tokens for a server are stored.

        Args:
            url: the URL of the server.
        """
        return self._load(_key(url)) is not None

    async def sign_out(self, url: str) -> bool:
        """Forget the tokens for a server, after revoking them as far as the issuer supports that.

        Args:
            url: the URL of the server.

        Returns:
            Whether there were any.

        Raises:
            AuthorizationError: the store cannot be used.
        """
        key = _key(url)
        async with self._store.locked(key):
            held = self._load(key)
            await self._write(key, None)
        if held is not None and held.revocation:
            reach, form = Reach(private=held.private, insecure=self._insecure), {"token": held.refresh or held.access}
            with suppress(AuthorizationError):
                await post_form(held.revocation, "revoking a token", form, self._own(held.client), reach)
        return held is not None

    @abstractmethod
    async def _grant(self, issuer: Issuer, blank: Token, reach: Reach) -> Token:
        """Obtain a token; `blank` has everything that is known of it before."""

    async def _renewal(self, held: Token) -> dict[str, str] | None:
        """Return a grant that needs no person; None without one."""
        return {"grant_type": "refresh_token", "refresh_token": held.refresh} if held.refresh else None

    def _issuer_of(self, url: str, resource: Resource) -> str:
        """Choose an issuer of a server: that of the given client, or one that is known, or the first."""
        if self._given is None:
            return resource.known(self._kept)
        if not resource.names(self._given.issuer):
            problem = f"the server names the issuer {clipped(resource.issuers[0], 200)}, not {self._given.issuer}"
            raise AuthorizationError(SIGNING_IN, url, problem, "use a client of that issuer, if you trust it")
        return self._given.issuer if not resource.is_old else resource.issuers[0]

    def _own(self, client: Registered) -> Registered:
        """Return a client with its secret, which is not stored if the program has it."""
        own = self._given
        is_own = own is not None and (own.id, own.issuer) == (client.id, client.issuer)
        return replace(client, secret=own.secret) if own is not None and is_own else client

    async def _sign_in(self, key: str, resource: Resource, said: Challenge, held: Token | None, reach: Reach) -> Token:
        name = self._issuer_of(key, resource)
        issuer = await find_issuer(name, reach, is_old=resource.is_old, any_slash=resource.any_slash)
        before = held.scopes if held is not None and held.issuer == issuer.name else ()
        named = resource.scopes if said.scopes is None else said.scopes
        more = (OFFLINE,) if self.asks_person and OFFLINE in issuer.scopes else ()
        blank = Token(
            issuer=issuer.name,
            resource=resource.name if self._send_resource else "",
            endpoint=issuer.token,
            client=Registered("", issuer.name),
            scopes=tuple(dict.fromkeys((*before, *named, *self._scopes, *more))),
            private=reach.private,
            revocation=issuer.revocation,
        )
        found = await self._grant(issuer, blank, reach)
        async with self._store.locked(key):
            await self._write(key, found)
        return found

    async def _refreshed(self, key: str, used: str) -> Token | None:
        """Return a token that replaces a used one; None if only a new sign-in helps."""
        return (await self._refreshing.run(key, lambda: self._refresh(key, used)))[0]

    async def _refresh(self, key: str, used: str) -> Token | None:
        async with self._store.locked(key):
            held = self._load(key)
            if held is not None and held.access != used and held.is_usable:
                self._held[key] = held
                return held
            if held is None or (form := await self._renewal(held)) is None:
                return None
            reach = Reach(private=held.private, insecure=self._insecure)
            try:
                found = await request_token(replace(held, client=self._own(held.client)), form, reach)
            except Rejected as rejected:
                if (now := self._load(key)) is not None and now.refresh != held.refresh:
                    return now
                if rejected.code not in ("invalid_grant", "invalid_client"):
                    raise
                await self._write(key, replace(held, access="", refresh=""))
                if rejected.code == "invalid_client":
                    async with self._store.locked():
                        put(self._store, "clients", held.client.issuer, None)
                    raise
                return None
            await self._write(key, found)
            return found

    def _load(self, key: str) -> Token | None:
        return read_record(Token, stored(self._store, "servers", key))

    async def _write(self, key: str, token: Token | None) -> None:
        """Store the token for a server, before anything uses it; within the lock of its name."""
        if token is not None and self._given is not None:
            token = replace(token, client=replace(token.client, secret=""))
        async with self._store.locked():
            put(self._store, "servers", key, asdict(token) if token else None)
        self._held[key] = token

    def _kept(self, issuer: str) -> Registered | None:
        """Return the registration at an issuer."""
        found = read_record(Registered, stored(self._store, "clients", issuer))
        return found if found is not None and found.issuer == issuer else None


@dataclass
class Signing:
    """The access token of one request.

    Attributes:
        authorizer: obtains tokens.
        url: the URL of the server.
        token: the token; may be empty.
        attempts: how often the request has been refused.
        asked: how many authorization requests it has led to.
    """

    authorizer: Authorizer
    url: str
    token: str = field(repr=False)
    attempts: int = 0
    asked: int = 0

    async def renew(self, status: int, challenge: str, *, address: str, may_ask: bool) -> bool:
        """Obtain another token after the server has refused the request; return whether there is one.

        Args:
            status: the status of the refusal: 401 or 403.
            challenge: its WWW-Authenticate header.
            address: the IP address of the server; empty if unknown.
            may_ask: whether a person may be asked to sign in.

        Raises:
            AuthorizationError: a step failed, or the request has led to `MAX_ASKED` authorization requests.
        """
        self.attempts += 1
        if self.attempts > MAX_RENEWALS:
            return False
        said = Challenge.of(challenge)
        self.token = await self.authorizer.renewed(self, status, said, address, may_ask=may_ask)
        return bool(self.token)


def _key(url: str) -> str:
    return url.partition("#")[0]

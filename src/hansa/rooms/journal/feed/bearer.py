"""Credential with which a socket was opened: a token, or a ticket in its place. It is judged anew whenever it counts."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from hansa.foundation.plumbing.keys.tokens import Claims, TokenIssuer, TokenKind
from hansa.foundation.plumbing.process.runtime import Runtime, Slot
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import API_KEY_SESSION, Agent, Developer, check_developer_or_agent
from hansa.foundation.values.errors import Unauthorized
from hansa.foundation.values.secrets import fingerprint, new_hex

from . import rules, store
from .errors import TicketInvalid

OWNED_AMONG: Slot[Callable[[Tx, int, Collection[str]], Awaitable[frozenset[str]]]] = Slot(
    "live feed: agents that a developer owns"
)
"""Which of these agents the developer owns."""

TICKET_PREFIX = "wst_"
TICKET_SECONDS = 30
# The year 2100, in epoch seconds: when an API key ends, its own row says.
NO_END_OF_ITS_OWN = 4_102_444_800


async def issue_ticket(tx: Tx, tokens: TokenIssuer, caller: Developer | Agent, token: str) -> str:
    """A ticket in place of the caller's token: good once, for half a minute."""
    kind = TokenKind.AGENT if isinstance(caller, Agent) else TokenKind.DEVELOPER
    claims = _claims_of(tokens, kind, caller, token)
    ticket = new_hex(TICKET_PREFIX)
    await store.add_ticket(
        tx,
        fingerprint(ticket),
        kind=kind,
        subject=claims.subject,
        session=claims.session,
        bearer_until=claims.expires_at,
        seconds=TICKET_SECONDS,
    )
    return ticket


async def redeem_ticket(tx: Tx, tokens: TokenIssuer, ticket: str) -> str:
    """A token like the one that the ticket was asked for with; the ticket is used up. Raises: TicketInvalid."""
    bearer = await store.use_ticket(tx, fingerprint(ticket))
    if bearer is None:
        raise TicketInvalid
    return tokens.issue(
        TokenKind(bearer.kind),
        bearer.subject,
        session=bearer.session,
        now=bearer.now,
        lifetime=bearer.bearer_until - bearer.now,
    )


def _claims_of(tokens: TokenIssuer, kind: TokenKind, caller: Developer | Agent, token: str) -> Claims:
    if isinstance(caller, Developer) and caller.session.startswith(API_KEY_SESSION):
        return Claims(str(caller.id), NO_END_OF_ITS_OWN, caller.session)
    return tokens.verify(kind, token)


class Bearer:
    """The holder of a socket; without a token, an anonymous reader."""

    def __init__(self, runtime: Runtime, token: str | None) -> None:
        self._runtime = runtime
        self._token = token
        self.did: str | None = None
        """The DID of the holder when it is an agent; known once judged."""

    async def evaluate(self, channels: Collection[str] = ()) -> rules.Follower:
        """Return the present follower, as far as these channels need it. Raises: Unauthorized, Forbidden, Unavailable."""
        if self._token is None:
            return rules.Follower()
        caller = await check_developer_or_agent(self._runtime, self._token)
        if isinstance(caller, Agent):
            self.did = caller.did
            return rules.Follower(is_known=True, did=caller.did)
        return rules.Follower(is_known=True, owned=await self._owned_by(caller.id, channels))

    async def _owned_by(self, developer_id: int, channels: Collection[str]) -> frozenset[str]:
        agents = rules.agents_named_by(channels)
        if not agents:
            return frozenset()
        owned_among = OWNED_AMONG.of(self._runtime)
        return await self._runtime.database.query(lambda tx: owned_among(tx, developer_id, agents))


async def bearer_of(runtime: Runtime, given: Sequence[str]) -> Bearer:
    """Return the holder of the values that a query gave as `token`, judged once.

    Raises: Unauthorized, Forbidden, Unavailable.
    """
    required = runtime.settings.eventstore_ws_auth_required
    if len(given) > 1 or (required and not given):
        raise Unauthorized
    token = given[0] if given else None
    if token is not None and token.startswith(TICKET_PREFIX):
        ticket = token
        token = await runtime.database.transaction(lambda tx: redeem_ticket(tx, runtime.tokens, ticket))
    bearer = Bearer(runtime, token)
    await bearer.evaluate()
    return bearer

"""A client asks a person for access: its request is checked, sealed into the consent form, and decided once.

While the client and its redirect address are not proved, nothing leads back to it. Afterwards each fault has an address that
leads back, which a page offers as a link.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from hansa.foundation.events import ConnectionGranted
from hansa.foundation.plumbing.keys.access_tokens import resource_of
from hansa.foundation.plumbing.keys.seal import BadSeal, Seal
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint, new_hex
from hansa.rooms import journal

from . import rules, store
from .clients import client_of
from .ending import end_grant
from .errors import ClientRefused, ConnectionsFull, ConnectionUnknown, ConsentRefused, FaultCode, OAuthFault
from .records import AuthorizationRequest, Limits, OAuthClient

CODE_PREFIX = "hac_"
CONSENT_LIFETIME = timedelta(minutes=10)
_PURPOSE = "oauth consent"


class LedBack(Exception):
    """A fault of a request whose client is proved; `address` leads the browser back with the fault."""

    def __init__(self, client: OAuthClient, address: str, description: str) -> None:
        super().__init__(description)
        self.client, self.address, self.description = client, address, description


class Decision(msgspec.Struct, frozen=True):
    """Content of a consent: scopes, an own agent or none, limits, days, and connections that end for it."""

    scopes: tuple[str, ...]
    agent_did: str | None
    limits: Limits
    days: int
    ends: tuple[UUID, ...] = ()


class _Sealed(msgspec.Struct, frozen=True):
    session: UUID
    at: int
    request: AuthorizationRequest


async def read_request(runtime: Runtime, parameters: Sequence[tuple[str, str]]) -> AuthorizationRequest:
    """The request of these parameters of the address. Raises: ClientRefused, TooManyRequests, LedBack."""
    given = dict(parameters)
    repeated = len(given) != len(parameters)
    client_id, redirect_uri = given.get("client_id", ""), given.get("redirect_uri", "")
    if repeated:
        raise ClientRefused("A parameter of the request stands twice.")
    client = await client_of(runtime, client_id)
    if not rules.is_redirect(redirect_uri, runtime.settings.oauth_redirect_schemes):
        raise ClientRefused("redirect_uri is missing, or of a kind that is not accepted here.")
    if not rules.is_own_redirect(redirect_uri, client.redirect_uris):
        raise ClientRefused("redirect_uri is not one of the client's own.")
    state = given.get("state")
    base = runtime.settings.base_url
    if state is not None and len(state) > rules.STATE_MAX_CHARACTERS:
        raise ClientRefused(f"state has at most {rules.STATE_MAX_CHARACTERS} characters.")
    try:
        rules.require_code_in_query(given.get("response_type"), given.get("response_mode", "query"))
        challenge = rules.require_challenge(given.get("code_challenge"), given.get("code_challenge_method"))
        rules.require_resource(given.get("resource"), resource_of(base))
        scopes = rules.scopes_asked(given.get("scope"))
    except OAuthFault as fault:
        address = _fault_address(redirect_uri, base, state, fault.code, fault.description)
        raise LedBack(client, address, fault.description) from None
    return AuthorizationRequest(client, redirect_uri, challenge, scopes, state)


def refused_address(request: AuthorizationRequest, base_url: str) -> str:
    """The address that leads back after the person refused."""
    return _fault_address(
        request.redirect_uri, base_url, request.state, "access_denied", "The person refused."
    )


def seal_request(seal: Seal, request: AuthorizationRequest, session: UUID, now: datetime) -> str:
    """The request for the hidden field of the consent form, bound to the session."""
    sealed = seal.close(msgspec.json.encode(_Sealed(session, int(now.timestamp()), request)), _PURPOSE)
    return base64.urlsafe_b64encode(sealed).decode()


def open_request(seal: Seal, text: str, session: UUID, now: datetime) -> AuthorizationRequest:
    """The request of a consent form of this session, within ten minutes. Raises: ConsentRefused."""
    try:
        opened = seal.open(base64.b64decode(text, altchars=b"-_", validate=True), _PURPOSE)
    except (BadSeal, binascii.Error, ValueError):
        raise ConsentRefused from None
    sealed = msgspec.json.decode(opened, type=_Sealed)
    age = now - datetime.fromtimestamp(sealed.at, now.tzinfo)
    if sealed.session != session or age > CONSENT_LIFETIME:
        raise ConsentRefused
    return sealed.request


async def grant_access(
    tx: Tx,
    developer_id: int,
    request: AuthorizationRequest,
    decision: Decision,
    *,
    consent: str,
    base_url: str,
) -> str:
    """Write the grant with its code; returns the address that leads back with the code.

    The caller has checked that the agent is the person's own. `consent` is the sealed request, which grants once.
    Raises: ConnectionsFull, ConnectionUnknown, ConsentRefused.
    """
    await store.lock_developer(tx, developer_id)
    for ended in decision.ends:
        if await store.lock_own(tx, developer_id, ended) is None:
            raise ConnectionUnknown
        await end_grant(tx, ended, "replaced")
    _, living = await store.living(tx, developer_id, limit=1, offset=0)
    if living >= rules.GRANTS_MAX:
        raise ConnectionsFull
    client = request.client
    grant = await store.add_grant(
        tx,
        store.NewGrant(
            developer_id,
            client.client_id,
            client.host,
            client.name,
            decision.agent_did,
            decision.scopes,
            decision.limits,
            decision.days,
        ),
    )
    code = new_hex(CODE_PREFIX)
    new = store.NewCode(
        fingerprint(code), grant.id, request.redirect_uri, request.challenge, fingerprint(consent)
    )
    if not await store.add_code(tx, new):
        raise ConsentRefused("This consent was used already; nothing more was granted.")
    granted = ConnectionGranted(
        developer_id=developer_id,
        connection_id=str(grant.id),
        agent_did=grant.agent_did,
        client_host=grant.client_host,
        client_name=grant.client_name,
        scopes=list(grant.scopes),
        ends_at=grant.ends_at.isoformat(),
    )
    await journal.append(tx, granted)
    return rules.led_back(request.redirect_uri, code=code, state=request.state, iss=base_url)


def _fault_address(
    redirect_uri: str, base_url: str, state: str | None, code: FaultCode, description: str
) -> str:
    return rules.led_back(redirect_uri, error=code, error_description=description, state=state, iss=base_url)

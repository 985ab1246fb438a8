"""Exchange an agent's secret for the right to a token."""

from datetime import datetime

import msgspec

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.values.secrets import fingerprint

from . import rules, store


class SignedIn(msgspec.Struct, frozen=True):
    """An active agent that proved itself, and when, by the database's clock."""

    did: str
    session: str
    at: datetime


async def sign_in(tx: Tx, client_id: str, client_secret: str) -> SignedIn:
    """Check the secret, and only then report the status of the agent.

    Raises: CredentialsWrong, AgentSuspended, AgentRevoked.
    """
    found = rules.require_secret(await store.find_credentials(tx, client_id), fingerprint(client_secret))
    rules.require_active(found.status)
    session = rules.session_of(found.client_id, found.secret_number)
    return SignedIn(found.did, session, await store.touch(tx, found.did))

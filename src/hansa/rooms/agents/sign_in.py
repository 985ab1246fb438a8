"""Exchange an agent's secret for the right to a token."""

from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import AgentSession
from hansa.foundation.values.secrets import fingerprint

from . import rules, store


async def sign_in(tx: Tx, client_id: str, client_secret: str) -> AgentSession:
    """Check the secret, and only then report the status of the agent.

    Raises: CredentialsWrong, AgentSuspended, AgentRevoked.
    """
    found = rules.require_secret(await store.find_credentials(tx, client_id), fingerprint(client_secret))
    rules.require_active(found.status)
    session = rules.session_of(found.client_id, found.secret_number)
    return AgentSession(found.did, session, await store.touch(tx, found.did))

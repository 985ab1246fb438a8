"""A new client secret for an agent whose old one is lost or known to others.

Exchange an agent's secret for the right to a token.
"""

from hansa.foundation.events import AgentSecretRotated
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import AgentSession, Developer
from hansa.foundation.plumbing.web.entity_tags import require_version
from hansa.foundation.values.errors import ReplacedMeanwhile
from hansa.foundation.values.rights import Right
from hansa.foundation.values.secrets import fingerprint
from hansa.rooms import journal

from . import rules, store
from .errors import AgentRevokedForGood
from .rights import held_with


async def rotate_secret(
    tx: Tx, developer: Developer, did: str, client_secret: str, if_match: str | None = None
) -> str:
    """Replace the secret of an own agent and end every token that the old one bought; returns the client id.

    Of two at once one is refused: its secret would be dead when it is shown. With `if_match` the secret must be the one
    whose version the caller has read.

    Raises: AgentUnknown, NotTheOwner, AgentRevokedForGood, ReplacedMeanwhile, PreconditionFailed.
    """
    former_number = await store.secret_number_of(tx, did)
    await held_with(tx, developer.id, did, Right.MANAGE)
    require_version(if_match, str(former_number))
    client_id = await store.replace_secret(tx, did, fingerprint(client_secret), former_number, developer.id)
    if client_id is None and await store.lock_status(tx, did) != "revoked":
        raise ReplacedMeanwhile
    if client_id is None:
        raise AgentRevokedForGood("This agent is permanently revoked; its secret cannot be replaced.")
    await journal.append(tx, AgentSecretRotated(did=did))
    return client_id


async def sign_in(tx: Tx, client_id: str, client_secret: str) -> AgentSession:
    """Check the secret, and only then report the status of the agent.

    Raises: CredentialsWrong, AgentSuspended, AgentRevoked.
    """
    found = rules.require_secret(await store.find_credentials(tx, client_id), fingerprint(client_secret))
    rules.require_active(found.status)
    session = rules.session_of(found.client_id, found.secret_number)
    return AgentSession(found.did, session, await store.touch(tx, found.did))

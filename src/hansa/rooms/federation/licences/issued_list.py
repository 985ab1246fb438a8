"""The signed list of the certificates that this registry issued: signed anew when one changed, and at least daily."""

import asyncio

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa_verify import licence_hash

from . import store
from .errors import CertificateUnknown
from .keys import present_key
from .rules import sign_compact


async def issued_list(db: Database, settings: Settings, seal: Seal) -> str:
    """The list as a compact JWS. Two lists never bear the same second: a change is waited for, at most a second.

    Raises: CertificateUnknown where no certificate was ever issued, LicensingKeySealed.
    """
    while True:
        state = await db.read_replicated(store.list_state)
        if not state.has_certificates:
            raise CertificateUnknown("This registry has issued no licence certificates.")
        if not state.is_due and state.list is not None:
            return state.list
        if state.generated_at >= state.now:
            await asyncio.sleep(0.1)
            continue
        await db.transaction(lambda tx: _sign_if_due(tx, settings, seal))


async def _sign_if_due(tx: Tx, settings: Settings, seal: Seal) -> None:
    await store.lock(tx)
    state = await store.list_state(tx)
    if not state.is_due or state.generated_at >= state.now:
        return
    key = await present_key(tx, seal)
    payload = {
        "kind": "fed.licence-list.v1",
        "issuer": {"trust_domain": settings.trust_domain, "name": settings.registry_name, "kid": key.kid},
        "generated_at": state.now,
        "licences": [one.listed for one in await store.every_certificate(tx)],
    }
    text = sign_compact(key, "licence-list+jws", payload)
    await store.keep_list(tx, text, state.now)
    await record_leaf(tx, "licence_list", str(state.now), bytes.fromhex(licence_hash(text)))

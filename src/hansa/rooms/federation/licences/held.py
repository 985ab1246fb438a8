"""The genesis or network certificate that this registry holds, and its state.

- A certificate that an issuer's list has as suspended, revoked or superseded has that state in every answer, and on the card.
- Nothing is issued under a certificate that has ended.
"""

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa_verify import LicenceVerdict, verify_licence

from . import store, verdicts_store
from .errors import CertificateUnknown
from .records import LocalLicence, NetworkCertificate

ENDED = frozenset({"suspended", "revoked", "superseded", "expired"})


async def own_licence(tx: Tx, settings: Settings) -> LocalLicence:
    """The genesis or network certificate of this registry with its chain. Raises: CertificateUnknown."""
    own = await held_licence(tx, settings)
    if own is None:
        raise CertificateUnknown("This registry holds no licence certificate.")
    return own


async def held_licence(tx: Tx, settings: Settings) -> LocalLicence | None:
    """Return the genesis or network certificate of this registry with its chain; None where it holds none."""
    genesis, network, now = await read_together(tx, store.genesis, store.installed, clock.now)
    if genesis is not None:
        return LocalLicence(NetworkCertificate(genesis.certificate, genesis.hash, ()), genesis.state)
    if network is None:
        return None
    if ended := await verdicts_store.ended_by_lists(tx, settings.trust_domain, network.hash):
        return LocalLicence(network, ended)
    verdict = verify_licence(
        network.certificate,
        network.chain,
        root_hash=settings.federation_root_hash,
        at=now,
    )
    return LocalLicence(network, state_of(verdict))


def state_of(verdict: LicenceVerdict) -> str:
    """The state of a certificate by its chain alone: the issuers' lists are judged by a job."""
    is_root_trusted = any(step.name == "root" and step.holds for step in verdict.steps)
    return "active" if verdict.code == "unverified" and is_root_trusted else verdict.code

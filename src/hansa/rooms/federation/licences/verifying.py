"""Licences as everyone may verify them: the certificate with its chain, judged by the root and the lists that are stored here."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Tx
from hansa_verify import LicenceVerdict, verify_licence

from . import store, verdicts_store
from .errors import CertificateUnknown
from .held import held_licence
from .records import IssuedCertificate
from .verdicts import domains_of, trusted_root


class VerifiedLicence(msgspec.Struct, frozen=True):
    """A certificate with those of its issuers up to the genesis, and the verdict at `verified_at`, the database's clock."""

    certificate: str
    chain: tuple[str, ...]
    verdict: LicenceVerdict
    verified_at: datetime


async def verify_own_licence(tx: Tx, settings: Settings) -> VerifiedLicence | None:
    """The certificate that this registry holds; None where it holds none."""
    own = await held_licence(tx, settings)
    return None if own is None else await _verified(tx, settings, own.network.certificate, own.network.chain)


async def verify_issued_licence(
    tx: Tx, settings: Settings, lid: str
) -> tuple[IssuedCertificate, VerifiedLicence]:
    """A certificate that this registry issued. Raises: CertificateUnknown."""
    issued = await store.find(tx, lid)
    if issued is None:
        raise CertificateUnknown
    own = await held_licence(tx, settings)
    chain = () if own is None or issued.type == "genesis" else (own.network.certificate, *own.network.chain)
    return issued, await _verified(tx, settings, issued.certificate, chain)


async def _verified(tx: Tx, settings: Settings, certificate: str, chain: Sequence[str]) -> VerifiedLicence:
    now = await clock.now(tx)
    stored = await verdicts_store.lists(tx, domains_of([certificate, *chain]))
    own_list = (await store.list_state(tx)).list
    verdict = verify_licence(
        certificate,
        list(chain),
        root_hash=await trusted_root(tx, settings),
        lists=[*stored, *([own_list] if own_list else [])],
        at=now,
        list_max_age=timedelta(days=settings.licence_list_max_age),
    )
    return VerifiedLicence(certificate, tuple(chain), verdict, now)

"""Licences as everyone may verify them: the certificate with its chain, judged by the root and the lists that are stored here.

Verdicts on the licences of this registry and of its peers are stored for the moment at which money crosses:

- A peer's certificate is read from its own host when its card states another one than is kept. The issuers' lists are read in
  each round, so that a revocation counts although the peer is out of reach.
- A list is kept only when the key of the certificate that leads to it signed it, and never replaces a newer one.
- A certificate that this registry issued itself is judged by the present state of its own row as well.
- A verdict counts until the oldest list on which it rests exceeds LICENCE_LIST_MAX_AGE, or a certificate ends.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage import clock
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa_verify import (
    BadLicence,
    Certificate,
    LicenceVerdict,
    licence_hash,
    read_certificate,
    read_issued_list,
    verify_licence,
    verify_licence_as_of,
)
from hansa_verify.licence import key_thumbprint

from . import store, verdicts_store
from .errors import CertificateUnknown
from .held import held_licence
from .issued_list import issued_list
from .records import Delivered, IssuedCertificate

CLOCK_SKEW = timedelta(seconds=60)


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


async def verify_stated_licence(
    tx: Tx,
    settings: Settings,
    certificate: object,
    chain: Sequence[object],
    declared_hash: object = None,
    *,
    at: datetime | None = None,
) -> LicenceVerdict:
    """The verdict on a certificate that somebody states with its chain, and with its hash or None; now, or as of `at`."""
    if at is None:
        now = await clock.now(tx)
        return await _judged(tx, settings, certificate, chain, now, declared_hash=declared_hash)
    return verify_licence_as_of(
        certificate,
        chain,
        at,
        root_hash=await trusted_root(tx, settings),
        lists=await _known_lists(tx, certificate, chain),
        list_max_age=timedelta(days=settings.licence_list_max_age),
        declared_hash=declared_hash,
    )


async def _verified(tx: Tx, settings: Settings, certificate: str, chain: Sequence[str]) -> VerifiedLicence:
    now = await clock.now(tx)
    verdict = await _judged(tx, settings, certificate, chain, now)
    return VerifiedLicence(certificate, tuple(chain), verdict, now)


async def _judged(
    tx: Tx,
    settings: Settings,
    certificate: object,
    chain: Sequence[object],
    now: datetime,
    *,
    declared_hash: object = None,
) -> LicenceVerdict:
    return verify_licence(
        certificate,
        list(chain),
        root_hash=await trusted_root(tx, settings),
        lists=await _known_lists(tx, certificate, chain),
        at=now,
        list_max_age=timedelta(days=settings.licence_list_max_age),
        declared_hash=declared_hash,
    )


async def _known_lists(tx: Tx, certificate: object, chain: Sequence[object]) -> list[str]:
    """The lists of the issuers of these certificates that are stored, and the own one."""
    texts = [one for one in (certificate, *chain) if isinstance(one, str)]
    stored = await verdicts_store.lists(tx, domains_of(texts))
    own_list = (await store.list_state(tx)).list
    return [*stored, *([own_list] if own_list else [])]


class StoredVerdict(msgspec.Struct, frozen=True):
    """The verdict that counts now; `code` is one of `LicenceVerdict`."""

    code: str
    reason: str

    @property
    def is_valid(self) -> bool:
        """Return whether the licence counts."""
        return self.code == "verified"


async def are_licences_demanded(tx: Tx, settings: Settings) -> bool:
    """Return whether transfers between trust domains need licences of both sides (FEDERATION_LICENCES)."""
    if settings.federation_licences != "auto":
        return settings.federation_licences == "required"
    if settings.federation_root_hash is not None:
        return True
    return await store.genesis(tx) is not None or await store.installed(tx) is not None


async def trusted_root(tx: Tx, settings: Settings) -> str | None:
    """The hash of the genesis certificate that is trusted here: the pinned one, or that of this registry itself."""
    if settings.federation_root_hash is not None:
        return settings.federation_root_hash
    own = await store.genesis(tx)
    return None if own is None else own.hash


async def licence_verdict(tx: Tx, ledger_id: str, declared_hash: str | None = None) -> StoredVerdict:
    """The verdict on the licence of a registry; with `declared_hash` on that certificate and no other."""
    stored = await verdicts_store.find(tx, ledger_id)
    if stored is None:
        return StoredVerdict("unverified", "not_read: its licence was not verified here yet")
    if declared_hash is not None and stored["hash"] != declared_hash:
        return StoredVerdict(
            "unverified", "other_licence: its card states another licence than was verified here"
        )
    if stored["code"] == "verified":
        path = [licence_hash(text) for text in (stored["certificate"], *stored["chain"])]
        if ended := await store.ended_here(tx, path):
            return StoredVerdict(ended, f"{ended}: this registry issued it, and it is {ended}")
    if stored["code"] == "verified" and not stored["counts"]:
        return StoredVerdict(
            "unverified", "old_list: the lists that it rests on are too old, or it has ended"
        )
    return StoredVerdict(stored["code"], stored["reason"])


async def judge_licence(
    tx: Tx, settings: Settings, ledger_id: str, trust_domain: str, held: Delivered | None
) -> LicenceVerdict:
    """Judge a certificate by the lists that are kept, and keep the verdict."""
    now = await clock.now(tx)
    max_age = timedelta(days=settings.licence_list_max_age)
    if held is None:
        verdict = LicenceVerdict("unverified", (), "none_held: it holds no licence certificate")
    else:
        verdict = verify_licence(
            held.certificate,
            held.chain,
            root_hash=await trusted_root(tx, settings),
            lists=await verdicts_store.lists(tx, domains_of([held.certificate, *held.chain])),
            at=now,
            list_max_age=max_age,
        )
        if verdict.is_valid and subject_of(held.certificate) != trust_domain:
            verdict = LicenceVerdict(
                "malformed", (), "other_subject: the certificate is for another trust domain"
            )
    await verdicts_store.keep(
        tx,
        ledger_id,
        verdicts_store.Judged(
            hash=None if held is None else licence_hash(held.certificate),
            certificate=None if held is None else held.certificate,
            chain=[] if held is None else list(held.chain),
            code=verdict.code,
            reason=verdict.reason,
            as_of=verdict.as_of,
            valid_until=_valid_until(verdict, max_age),
        ),
    )
    return verdict


async def keep_issued_list(tx: Tx, text: object, issuers: Sequence[Certificate]) -> bool:
    """Keep a list that the key of one of these certificates signed, unless it is of the future; whether it was."""
    try:
        issued = read_issued_list(text)
    except BadLicence:
        return False
    trust_domain, kid = issued.issuer
    if issued.generated_at > await clock.now(tx) + CLOCK_SKEW:
        return False
    for one in issuers:
        key = one.public_key
        is_issuer = one.payload["sub"]["trust_domain"] == trust_domain
        if key is not None and is_issuer and key_thumbprint(key) == kid and issued.signature.is_by(key):
            at = int(issued.generated_at.timestamp())
            await verdicts_store.keep_list(tx, trust_domain, kid, str(text).strip(), at)
            return True
    return False


async def stored_licence(tx: Tx, ledger_id: str, declared_hash: str) -> Delivered | None:
    """The certificate of a registry with its chain, where it is the one that its card states."""
    stored = await verdicts_store.find(tx, ledger_id)
    if stored is None or stored["hash"] != declared_hash:
        return None
    return Delivered(stored["certificate"], stored["chain"])


async def held_delivered(tx: Tx, settings: Settings) -> Delivered | None:
    """The certificate of this registry, with its chain."""
    own = await held_licence(tx, settings)
    return None if own is None else Delivered(own.network.certificate, own.network.chain)


async def own_issued_list(db: Database, settings: Settings, seal: Seal) -> str | None:
    """Return the list of certificates that this registry issued; None where it issued none."""
    try:
        return await issued_list(db, settings, seal)
    except CertificateUnknown:
        return None


def subject_of(certificate: str) -> str | None:
    """The trust domain for which a certificate is; None for one that cannot be read."""
    try:
        return str(read_certificate(certificate).payload["sub"]["trust_domain"])
    except BadLicence:
        return None


def domains_of(certificates: Sequence[str]) -> list[str]:
    """The trust domains whose lists these certificates need: those of their issuers."""
    domains = set()
    for text in certificates:
        try:
            domains.add(read_certificate(text).issuer[0])
        except BadLicence:
            continue
    return sorted(domains)


def _valid_until(verdict: LicenceVerdict, max_age: timedelta) -> datetime | None:
    if not verdict.is_valid or verdict.as_of is None:
        return None
    ends = [verdict.as_of + max_age, *([verdict.expires_at] if verdict.expires_at else [])]
    return min(ends)

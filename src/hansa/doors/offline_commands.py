"""Commands on the registry's own data, whether it serves or not."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.doors.assembly import ASSEMBLY
from hansa.doors.journal_following import Follower, Target, follow
from hansa.doors.startup import (
    bring_up_to_date,
    identity_authority,
    joined_database,
    make_missing_keys,
    open_database,
    require_data_directory,
    require_own_database,
)
from hansa.foundation.plumbing import jobs, parameters
from hansa.foundation.plumbing.keys.authority import IdentityAuthority
from hansa.foundation.plumbing.keys.key_files import Keyring
from hansa.foundation.plumbing.keys.registry_identity import (
    local_identity,
    replace_identity,
    require_adoptable,
)
from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.outgoing.nats_stream import StreamRefused, StreamUnreachable
from hansa.foundation.plumbing.process.data_directory import Belonging, record_belonging
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.embedded.errors import NoRegistry
from hansa.foundation.plumbing.web.admin_acts import record_operator_act
from hansa.foundation.values.errors import Unavailable
from hansa.foundation.values.money import Minor, parse_amount
from hansa.rooms import auditor, federation, journal, ledger, transfers
from hansa.rooms.transfers import UndecidedTransfer


async def mint(settings: Settings, amount: Minor, ref: str) -> ledger.SupplyChange:
    """Issue units to the treasury, once for each `ref`.

    Raises: Refused, and the errors of opening the registry.
    """
    amount_max, book = parse_amount(settings.teg_mint_max_avt), ledger.Book.of(settings)
    minting = partial(ledger.mint, amount=amount, ref=ref, amount_max=amount_max, book=book)
    return await _change_supply(settings, minting, act="units.mint")


async def burn(settings: Settings, amount: Minor, ref: str) -> ledger.SupplyChange:
    """Destroy units of the treasury, once for each `ref`.

    Raises: Refused, and the errors of opening the registry.
    """
    burning = partial(ledger.destroy, amount=amount, ref=ref, book=ledger.Book.of(settings))
    return await _change_supply(settings, burning, act="units.burn")


async def rotate_key(
    settings: Settings, brought: Ed25519PrivateKey | None, reason: str | None
) -> federation.RegistryKey:
    """Sign with another key from now on, in every process that serves.

    Raises: Refused, BadKey, and the errors of opening the registry.
    """
    seal = registry_seal(settings)

    async def rotate(tx: Tx) -> federation.RegistryKey:
        key = await federation.rotate_key(tx, settings, seal, brought)
        await record_operator_act(tx, act="registry_key.rotate", subject=key.kid, reason=reason)
        return key

    async with registry_database(settings) as database:
        return await database.transaction(rotate)


async def rotate_auditor_key(
    settings: Settings, brought: Ed25519PrivateKey | None, reason: str | None
) -> auditor.AuditorKey:
    """Sign attestations with another key from the next record on.

    Raises: Refused, BadKey, and the errors of joining the database.
    """
    seal = registry_seal(settings)

    async def rotate(tx: Tx) -> auditor.AuditorKey:
        key = await auditor.rotate_auditor_key(tx, settings.ledger_id, seal, brought)
        await record_operator_act(tx, act="attestation_key.rotate", subject=key.kid, reason=reason)
        return key

    async with registry_database(settings) as database:
        return await database.transaction(rotate)


async def rotate_licensing_key(
    settings: Settings, brought: Ed25519PrivateKey | None, reason: str | None
) -> federation.NewLicensingKey:
    """Sign licences with another key: at once, or from the installation of its certificate on.

    Raises: Refused, BadKey, and the errors of joining the database.
    """
    seal = registry_seal(settings)
    async with registry_database(settings) as database:
        return await database.transaction(
            lambda tx: federation.rotate_licensing_key(tx, None, settings, seal, brought, reason=reason)
        )


async def rotate_witness_key(
    settings: Settings, brought: Ed25519PrivateKey | None, reason: str | None, *, stolen: bool
) -> tuple[str, str]:
    """Cosign logs of others with other keys from now on; returns their verifier keys, Ed25519 and ML-DSA-44.

    Raises: Refused, BadKey, and the errors of joining the database.
    """
    seal = registry_seal(settings)

    async def rotate(tx: Tx) -> tuple[str, str]:
        keys = await auditor.rotate_witness_key(tx, settings.ledger_id, seal, brought, stolen=stolen)
        await record_operator_act(tx, act="witness_key.rotate", subject=keys.ed25519.text, reason=reason)
        return keys.ed25519.text, keys.ml_dsa_44.text

    async with registry_database(settings) as database:
        return await database.transaction(rotate)


async def adopt_database(settings: Settings) -> list[str]:
    """Record this process's name and keys as the registry's own; returns the changes, in words.

    Raises: Refused, BadKey, and the errors of opening the database.
    """

    async def adopt(tx: Tx) -> list[str]:
        changed = await replace_identity(tx, local_identity(settings))
        if changed:
            subject = federation.registry_id_of(settings.trust_domain, settings.registry_name)
            await record_operator_act(tx, act="registry.adopt", subject=subject, reason=", ".join(changed))
            seal = Seal(Keyring(settings.data_dir))
            await federation.initialize_keys(tx, settings, seal)
            await federation.replace_sealed_key(tx, settings, seal)
            await federation.initialize_licensing_key(tx, seal)
            await federation.replace_sealed_licensing_key(tx, seal)
            await auditor.initialize_auditor(tx, settings.ledger_id, seal)
            await auditor.replace_sealed_auditor_key(tx, settings.ledger_id, seal)
            await auditor.replace_sealed_witness_key(tx, seal)
        return changed

    if settings.database_url is None:
        require_data_directory(settings)
    async with open_database(settings) as dsn:
        await bring_up_to_date(dsn)
        async with _connected(dsn) as database:
            await database.query(lambda tx: require_adoptable(tx, settings.trust_domain, settings.ledger_id))
            make_missing_keys(settings)
            changed = await database.transaction(adopt)
            record_belonging(settings.data_dir, Belonging.of(settings))
            return changed


async def issue_genesis(settings: Settings) -> federation.IssuedCertificate:
    """Issue the genesis certificate to this registry. Raises: Refused, BadKey, and the errors of opening the database."""
    seal = registry_seal(settings)
    async with registry_database(settings) as database:
        return await database.transaction(lambda tx: federation.found_network(tx, None, settings, seal))


async def issue_certificate(
    settings: Settings, request: federation.CertificateRequest
) -> federation.IssuedCertificate:
    """Issue a licence certificate. Raises: Refused, BadKey, and the errors of opening the database."""
    seal = registry_seal(settings)
    async with registry_database(settings) as database:
        return await database.transaction(
            lambda tx: federation.issue_certificate(tx, None, settings, seal, request)
        )


async def install_certificate(
    settings: Settings, certificate: str, chain: Sequence[str]
) -> federation.LocalLicence:
    """Install the certificate that the genesis issued. Raises: Refused, and the errors of opening the database."""
    seal, delivered = registry_seal(settings), federation.Delivered(certificate, chain)
    async with registry_database(settings) as database:
        return await database.transaction(
            lambda tx: federation.join_network(tx, None, settings, seal, delivered)
        )


async def change_certificate(
    settings: Settings, change: federation.CertificateAct
) -> tuple[federation.IssuedCertificate, list[str]]:
    """Suspend, reinstate or revoke the subject of a certificate. Raises: Refused, and the errors of opening the database."""
    async with registry_database(settings) as database:
        return await database.transaction(
            lambda tx: federation.change_certificate(tx, None, settings, change)
        )


async def list_certificates(
    settings: Settings, criteria: federation.CertificateFilter
) -> tuple[list[federation.IssuedCertificate], int]:
    """A page of issued certificates, and how many there are. Raises: the errors of opening the database."""
    async with registry_database(settings) as database:
        return await database.read(lambda tx: federation.list_licence_certificates(tx, criteria))


async def licensing_key(settings: Settings) -> bytes:
    """The public licence-signing key. Raises: Refused, and the errors of opening the database."""
    async with registry_database(settings) as database:
        return await database.query(federation.licensing_public_key)


async def operator_licence(settings: Settings) -> federation.HeldOperatorLicence | None:
    """The licence that this operator registry read at its frame last. Raises: Refused, and the errors of opening the database."""
    async with registry_database(settings) as database:
        return await database.query(federation.held_operator_licence)


def trust_bundle(settings: Settings) -> str:
    """The certificates to trust in this trust domain, in PEM. Raises: NoRegistry, Unavailable, BadKey."""
    return _authority(settings).bundle_pem


async def enrol_service(settings: Settings, name: str, lifetime: timedelta) -> federation.EnrolledService:
    """Give a service of the operator's own a certificate for mutual TLS.

    Raises: Refused, BadKey, and the errors of opening the registry.
    """
    authority = _authority(settings)

    async def enrol(tx: Tx) -> federation.EnrolledService:
        enrolled = await federation.enrol_service(
            tx, authority, name=name, trust_domain=settings.trust_domain, lifetime=lifetime
        )
        await record_operator_act(tx, act="service.enrol", subject=enrolled.svid.spiffe_id)
        return enrolled

    async with registry_database(settings) as database:
        return await database.transaction(enrol)


async def revoke_service(settings: Settings, name: str, reason: str | None) -> int:
    """Let every certificate of a service open nothing from the next request on; returns how many there were.

    Raises: Refused, and the errors of opening the registry.
    """

    async def revoke(tx: Tx) -> int:
        revoked = await federation.revoke_service(tx, name)
        spiffe_id = federation.service_id_of(settings.trust_domain, name)
        await record_operator_act(tx, act="service.revoke", subject=spiffe_id, reason=reason)
        return revoked

    async with registry_database(settings) as database:
        return await database.transaction(revoke)


async def list_jobs(settings: Settings, criteria: jobs.JobFilter) -> tuple[list[jobs.JobView], int]:
    """A page of background jobs, and how many there are. Raises: the errors of opening the registry."""
    async with registry_database(settings) as database:
        return await database.read(lambda tx: jobs.list_jobs(tx, criteria))


async def undecided_transfers(settings: Settings) -> list[UndecidedTransfer]:
    """Transfers between registries that are not decided here. Raises: the errors of opening the registry."""
    async with registry_database(settings) as database:
        return await database.read(transfers.undecided_transfers)


async def unclaimed_units(settings: Settings) -> list[ledger.UnclaimedUnits]:
    """Units that came for accounts that were closed meanwhile. Raises: the errors of opening the registry."""
    async with registry_database(settings) as database:
        return await database.read(lambda tx: ledger.unclaimed_units(tx, ledger.Book.of(settings)))


async def claim_unclaimed(settings: Settings, tx_id: int, payee: str, ref: str) -> ledger.UnclaimedUnits:
    """Pay the units that a transaction brought for a closed account to another one.

    Raises: Refused, and the errors of opening the registry.
    """
    book = ledger.Book.of(settings)
    async with registry_database(settings) as database:
        return await database.transaction(
            lambda tx: ledger.claim_unclaimed(tx, tx_id=tx_id, payee=payee, ref=ref, book=book)
        )


async def follow_journal(
    settings: Settings, target: Target, name: str, *, until_caught_up: bool
) -> tuple[int, str | None]:
    """Publish the events of the journal to a stream; returns how many, and the reason of an end before its time.

    Raises: Refused, and the errors of opening the registry.
    """
    async with registry_database(settings) as database:
        follower = Follower(database, target, name)
        try:
            await follow(follower, until_caught_up=until_caught_up)
        except (StreamRefused, StreamUnreachable) as error:
            return follower.count, str(error)
        return follower.count, None


async def forget_follower(settings: Settings, name: str) -> None:
    """Remove a follower of the journal. Raises: Refused, and the errors of opening the registry."""
    async with registry_database(settings) as database:
        await database.transaction(lambda tx: journal.forget_follower(tx, name))


async def retry_job(settings: Settings, job_id: int, reason: str | None) -> None:
    """Make a background job due now. Raises: Refused, and the errors of opening the registry."""
    async with registry_database(settings) as database:
        await database.transaction(lambda tx: jobs.retry_job(tx, job_id, None, reason))


async def drop_job(settings: Settings, job_id: int, reason: str | None) -> None:
    """Delete a background job. Raises: Refused, and the errors of opening the registry."""
    async with registry_database(settings) as database:
        await database.transaction(
            lambda tx: jobs.drop_job(tx, job_id, None, reason, droppable=ASSEMBLY.droppable_jobs)
        )


async def list_services(settings: Settings) -> list[federation.ServiceCertificate]:
    """Every certificate that a service ever got. Raises: the errors of opening the registry."""
    async with registry_database(settings) as database:
        return await database.query(federation.list_certificates)


def registry_seal(settings: Settings) -> Seal:
    """The seal with the key of the data directory. Raises: NoRegistry, BadKey."""
    require_data_directory(settings)
    return Seal(Keyring(settings.data_dir))


def _authority(settings: Settings) -> IdentityAuthority:
    require_data_directory(settings)
    authority = identity_authority(settings)
    if authority is None and settings.uses_workload_api:
        raise Unavailable(
            "SPIRE issues the workload identities of this registry; add an entry at its server."
        )
    if authority is None:
        raise Unavailable("This registry does not issue workload identities: AGENT_IDENTITY_ISSUER is none.")
    return authority


async def _change_supply(
    settings: Settings, change: Callable[[Tx], Awaitable[ledger.SupplyChange]], *, act: str
) -> ledger.SupplyChange:
    async def recorded(tx: Tx) -> ledger.SupplyChange:
        changed = await change(tx)
        await record_operator_act(tx, act=act, subject=f"tx-{changed.tx_id}")
        return changed

    async with registry_database(settings) as database:
        return await database.transaction(recorded)


async def settings_in_force(settings: Settings) -> Settings:
    """The settings with the governed values that are in force now; those given where there is no registry yet."""
    try:
        async with registry_database(settings) as database:
            return await database.query(lambda tx: parameters.in_force(tx, settings))
    except NoRegistry:
        return settings


@asynccontextmanager
async def registry_database(settings: Settings) -> AsyncIterator[Database]:
    """The database of this registry, running or not. Raises: Refused, and the errors of opening the registry."""
    async with joined_database(settings) as dsn:
        await require_own_database(settings, dsn)
        async with _connected(dsn) as database:
            yield database


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[Database]:
    database = Database(dsn, pool_size=1)
    await database.open()
    try:
        yield database
    finally:
        await database.close()

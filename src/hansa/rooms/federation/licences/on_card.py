"""Licence that this registry holds: its installation, when the genesis has issued it, and the statement of its card.

The statement is the block `federation.licence`.
"""

from typing import Any

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.storage.log_outbox import record_leaf
from hansa.foundation.plumbing.web.admin_acts import record_act
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.federation.charter import NO_LICENCE, CardVersion, publish_card_with_licence
from hansa.rooms.federation.notices import note_licences_changed
from hansa_verify import BadLicence, LicenceVerdict, licence_hash, read_certificate, verify_licence

from . import store
from .errors import GenesisHeld, InstallRefused
from .held import held_licence, state_of
from .issuing import issue_genesis, reissue_operators
from .keys import licensing_public_key
from .operator_held import held_operator_licence
from .records import Delivered, HeldOperatorLicence, IssuedCertificate, LocalLicence, NetworkCertificate


async def publish_card(tx: Tx, settings: Settings, seal: Seal) -> CardVersion:
    """The registry card with the licence that is held now; signed unless it stands so. Raises: KeyDoesNotOpen."""
    await store.lock(tx)
    own, by_frame = await held_licence(tx, settings), await held_operator_licence(tx)
    return await publish_card_with_licence(tx, settings, seal, _block(own, by_frame))


async def found_network(
    tx: Tx, administrator: Developer | None, settings: Settings, seal: Seal
) -> IssuedCertificate:
    """Issue the genesis certificate to this registry, and state it on the card. Raises: as `issue_genesis`."""
    issued = await issue_genesis(tx, administrator, settings, seal)
    await publish_card(tx, settings, seal)
    return issued


async def join_network(
    tx: Tx, administrator: Developer | None, settings: Settings, seal: Seal, delivered: Delivered
) -> LocalLicence:
    """Install the certificate of the genesis, and state it on the card. Raises: as `install_certificate`."""
    own = await install_certificate(tx, administrator, settings, seal, delivered)
    await publish_card(tx, settings, seal)
    return own


async def renew_card(tx: Tx, runtime: Runtime) -> None:
    """The job: as `publish_card`."""
    await publish_card(tx, runtime.settings, runtime.seal)


def _block(own: LocalLicence | None, by_frame: HeldOperatorLicence | None) -> dict[str, Any] | None:
    """An operator registry states the network certificate of its frame, and beside it its own."""
    operator = None if by_frame is None else by_frame.block
    if own is None:
        return None if operator is None else {**NO_LICENCE, "operator": operator}
    payload = read_certificate(own.network.certificate).payload
    return {
        "hash": own.network.hash,
        "type": payload["type"],
        "network": payload["network"],
        "plan": payload["plan"],
        "state": own.state,
        "operator": operator,
    }


async def install_certificate(
    tx: Tx, administrator: Developer | None, settings: Settings, seal: Seal, delivered: Delivered
) -> LocalLicence:
    """Keep a frame certificate of this trust domain and of the present licence-signing key, instead of an earlier one.

    One of the next key makes that key the present one. On a new key, or in another network than before, the active certificates
    of operators are issued anew: each names the network of its issuer.

    Without FEDERATION_ROOT_HASH no root is trusted, and the state is `unverified`: a delivered chain never introduces one.

    Raises: InstallRefused, GenesisHeld, LicensingKeySealed.
    """
    text, chain = delivered.certificate, delivered.chain
    now = await store.lock(tx)
    if await store.genesis(tx) is not None:
        raise GenesisHeld
    await store.lock_keys(tx)
    is_for_next_key = await _require_own(tx, settings, text)
    verdict = verify_licence(text, chain, root_hash=settings.federation_root_hash, at=now)
    state = state_of(verdict)
    if state not in {"active", "unverified"} or not _is_chain_complete(verdict):
        raise InstallRefused(f"The certificate is {verdict.code}: {verdict.reason}.", field="certificate")
    former = await store.installed(tx)
    network = NetworkCertificate(text.strip(), licence_hash(text), tuple(one.strip() for one in chain))
    await store.install(tx, network)
    if is_for_next_key:
        await store.promote_next_key(tx)
    if is_for_next_key or _network_of(former) != _network_of(network):
        await reissue_operators(tx, administrator, settings, seal)
    await record_act(tx, administrator, act="licence_certificate.install", subject=network.hash)
    await record_leaf(tx, "licence", network.hash, bytes.fromhex(network.hash))
    await note_licences_changed(tx)
    return LocalLicence(network, state)


def _network_of(held: NetworkCertificate | None) -> str | None:
    named: str | None = None if held is None else read_certificate(held.certificate).payload["network"]
    return named


def _is_chain_complete(verdict: LicenceVerdict) -> bool:
    return any(step.name == "chain" and step.holds for step in verdict.steps)


async def _require_own(tx: Tx, settings: Settings, text: str) -> bool:
    """Return whether the certificate is for the key that waits for it, else it is for the present one. Raises: InstallRefused."""
    try:
        certificate = read_certificate(text)
    except BadLicence as error:
        raise InstallRefused(f"The certificate is malformed: {error}.", field="certificate") from None
    subject = certificate.payload["sub"]["trust_domain"]
    if certificate.kind != "frame":
        raise InstallRefused(
            f"The certificate is of type {certificate.kind}, not frame.", field="certificate"
        )
    if subject != settings.trust_domain:
        raise InstallRefused(f"The certificate is for {subject}, not for this registry.", field="certificate")
    is_for_next_key = certificate.public_key == await store.next_public_key(tx)
    if not is_for_next_key and certificate.public_key != await licensing_public_key(tx):
        raise InstallRefused(
            "The certificate is for another key than the present licence-signing key.", field="certificate"
        )
    return is_for_next_key

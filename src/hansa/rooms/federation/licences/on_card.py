"""Licence that this registry holds, and the statement of its card (block `federation.licence`)."""

from typing import Any

from hansa.foundation.plumbing.keys.seal import Seal
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.rooms.federation.charter import NO_LICENCE, CardVersion, publish_card_with_licence
from hansa_verify import read_certificate

from . import store
from .held import held_licence
from .installing import install_certificate
from .issuing import issue_genesis
from .operator_held import held_operator_licence
from .records import Delivered, HeldOperatorLicence, IssuedCertificate, LocalLicence


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

"""Acts that hold a frame together, as rows of the table of acts whose statements fail.

Claims of DIDs, the licence that an operator keeps, and the list of operators that it follows.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hansa.rooms.federation.licences import AnsweredLicence, keep_operator_licence
from hansa.rooms.federation.licences.operator_held import AnsweredCertificate, AnsweredNetwork
from hansa.rooms.federation.peers import follow_frame
from hansa.rooms.federation.peers.store import all_peers
from tests.conversations.test_did_claims import FRAME, Operator, new_digests
from tests.faults.unchanged import (
    POOL_SIZE,
    Asking,
    FailingAct,
    FailingActs,
    FaultStage,
    fault_stage,
    status_of,
    status_of_work,
)
from tests.licences import TestGenesis, TestIssuer
from tests.registry import DatabaseFarm
from tests.rooms.ledger.purses import open_purses


async def _claim(operator: Operator) -> Asking:
    digests = new_digests(3)
    return status_of(lambda: operator.claim(digests))


async def _licence(operator: Operator) -> Asking:
    """A licence of a network, each time another one, as an operator registry keeps it."""
    genesis, issuer = TestGenesis("genesis.example"), TestIssuer(FRAME)
    subject = {"trust_domain": FRAME, "name": "north"}
    payload = issuer.payload("operator", FRAME, sub=subject, network="genesis.example", plan="gold")
    answered = AnsweredLicence(
        AnsweredCertificate(issuer.sign(payload), "active"),
        AnsweredNetwork(genesis.frame(FRAME, issuer.jwk), [genesis.certificate]),
    )
    settings = operator.frame.settings.model_copy(
        update={"registry_tier": "cloud-operator", "registry_name": "north"}
    )
    return status_of_work(operator.frame, lambda tx: keep_operator_licence(tx, settings, answered))


async def _followed(operator: Operator, before: set[str], listed: set[str]) -> Asking:
    """The list of the frame as another operator follows it, after it followed the list `before`."""
    database = operator.frame.database
    settings = operator.frame.settings.model_copy(
        update={"registry_tier": "cloud-operator", "registry_name": "south"}
    )
    # Of the frame itself only when its list was read is written.
    (frame,) = await database.query(all_peers)
    await database.transaction(lambda tx: follow_frame(tx, settings, frame, before))
    return status_of_work(operator.frame, lambda tx: follow_frame(tx, settings, frame, listed))


async def _unlisted(operator: Operator) -> Asking:
    return await _followed(operator, {operator.spiffe_id}, set())


async def _listed_again(operator: Operator) -> Asking:
    return await _followed(operator, set(), {operator.spiffe_id})


ACTS: dict[str, FailingAct[Operator]] = {
    "claim": (_claim, {200}),
    "licence": (_licence, {200}),
    "unlisted": (_unlisted, {200}),
    "listed again": (_listed_again, {200}),
}


@asynccontextmanager
async def _open_stage(farm: DatabaseFarm, directory: Path) -> AsyncIterator[FaultStage[Operator]]:
    settings = {"trust_domain": FRAME, "registry_name": "frame", "trusted_proxies": ["127.0.0.1"]}
    async with open_purses(farm, directory, database_pool_size=POOL_SIZE, **settings) as purses:
        operator = await Operator(purses.registry, "north").joined()
        async with fault_stage(purses.registry, operator) as stage:
            yield stage


async def _prove(stage: FaultStage[Operator], name: str) -> None:
    """No unit moves in these acts."""


ACTS_OF_A_FRAME = FailingActs("frame", ACTS, _open_stage, _prove)

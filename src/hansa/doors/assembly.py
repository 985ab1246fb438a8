"""The list of rooms, the lowest first. A misfit between them stops the start."""

from hansa.foundation.plumbing.assembled import Assembly
from hansa.foundation.plumbing.descriptor import PLUMBING
from hansa.rooms import (
    achievements,
    agents,
    auditor,
    catalogue,
    commerce,
    enforcement,
    exchange,
    federation,
    governance,
    journal,
    ledger,
    notifications,
    operations,
    organizations,
    people,
    pipelines,
    proofs,
    reputation,
    spawn,
    status,
    support,
    transfers,
    treasury,
)

ASSEMBLY = Assembly(
    (
        PLUMBING,
        journal.ROOM,
        ledger.ROOM,
        federation.ROOM,
        catalogue.ROOM,
        people.ROOM,
        agents.ROOM,
        operations.ROOM,
        organizations.ROOM,
        transfers.ROOM,
        enforcement.ROOM,
        proofs.ROOM,
        commerce.ROOM,
        spawn.ROOM,
        pipelines.ROOM,
        support.ROOM,
        treasury.ROOM,
        reputation.ROOM,
        achievements.ROOM,
        governance.ROOM,
        exchange.ROOM,
        notifications.ROOM,
        auditor.ROOM,
        status.ROOM,
    )
)

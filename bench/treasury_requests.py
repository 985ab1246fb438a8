"""treasury/requests: payments that need no approval, one after the other and of many organizations at once, and approvals at a fixed rate."""

import asyncio
import os
import time
from collections.abc import Sequence
from uuid import UUID

import msgspec

from bench.figures import Figures, percentile
from bench.process_cpu import used_by
from bench.seed import bench_runtime, seed_agents, temporary_directory
from hansa.foundation.plumbing.process.runtime import Runtime
from hansa.foundation.plumbing.storage.database import Tx
from hansa.foundation.plumbing.web.caller import Developer
from hansa.foundation.values.money import Minor, units
from hansa.rooms import auditor, ledger, organizations, people
from hansa.rooms.organizations import Acting, Demand, Tier
from hansa.rooms.organizations.founding import NewOrganization, found
from hansa.rooms.organizations.requests.acts import approve
from hansa.rooms.organizations.requests.kinds import kinds_of
from hansa.rooms.treasury.payments.asking import NewPayment, ask_for_payment

ORGANIZATIONS = 16
PAYMENTS, PAYMENTS_IN_FULL = 50, 500
APPROVALS, RATE = 160, 50
"""Approvals of a round, and how many begin each second."""
ROUNDS = 3
SMALL, LARGE = Minor(1000), units(11)
PASSWORD = "Correct-Horse-7-Battery"
_JOIN = "INSERT INTO organizations_member (organization_id, developer_id, role) VALUES ($1, $2, 3)"


class Treasury(msgspec.Struct, frozen=True):
    """A funded organization, with one owner and one admin."""

    slug: str
    owner: Acting
    admin: Acting


async def run(*, full: bool) -> Figures:
    figures, count = Figures(), PAYMENTS_IN_FULL if full else PAYMENTS
    async with temporary_directory() as directory, bench_runtime(directory) as runtime:
        dids = await seed_agents(runtime, ORGANIZATIONS + 1)
        treasuries, payee = await _prepare(runtime, dids), dids[-1]
        for name, paying in (
            ("one organization", treasuries[:1]),
            (f"{ORGANIZATIONS} organizations", treasuries),
        ):
            before = used_by(os.getpid())
            rates = [await _pay(runtime, paying, payee, count) for _ in range(ROUNDS)]
            used = (used_by(os.getpid()) - before) * 1000 / (ROUNDS * len(paying) * count)
            figures.add(f"payments without approvals, {name}", "/s", rates)
            figures.add("CPU of process and database for each", "ms", [used])
        took = [await _approve(runtime, treasuries, payee) for _ in range(ROUNDS)]
        figures.add(f"approvals that pay, {RATE} begun each second, p99", "ms", took)
        figures.books_are_sound &= (await runtime.database.read(auditor.audit_supply)).is_ok
    figures.notes.append(
        "targets: 300 payments/s without approvals, approval p99 30 ms without the check of the password"
    )
    return figures


async def _prepare(runtime: Runtime, dids: Sequence[str]) -> list[Treasury]:
    owner, admin = [await _developer(runtime, number) for number in range(2)]
    made = []
    for number, did in enumerate(dids[:ORGANIZATIONS]):
        slug = f"bench-{number}"

        async def prepared(tx: Tx, slug: str = slug, did: str = did) -> None:
            shown = await found(tx, owner, NewOrganization(slug, "Bench", "", "private"), runtime.settings)
            await _fund(tx, runtime, shown.organization, did, admin)

        await runtime.database.transaction(prepared)
        made.append(Treasury(slug, Acting.by(runtime, owner), Acting.by(runtime, admin)))
    return made


async def _fund(
    tx: Tx, runtime: Runtime, made: organizations.Organization, giver: str, admin: Developer
) -> None:
    await tx.execute(_JOIN, made.id, admin.id)
    await organizations.replace_tiers(tx, made.id, [Tier(units(10), Demand(1, "owner"), "owner")])
    order = ledger.TransferOrder(giver, made.treasury_did, units(600))
    await ledger.transfer(tx, order, ledger.Book.of(runtime.settings))


async def _developer(runtime: Runtime, number: int) -> Developer:
    email = f"bench{number}@example.org"
    admitted = await people.admit_administrator(
        name=f"Bench {number}", email=email, password=PASSWORD, areas=()
    )
    await runtime.database.transaction(lambda tx: people.create_administrator(tx, admitted))
    found_id: int = await runtime.database.query(
        lambda tx: tx.fetchval("SELECT id FROM people_developer WHERE email = $1", email)
    )
    return Developer(found_id, email, "bench", True, frozenset(), False)


async def _pay(runtime: Runtime, paying: Sequence[Treasury], payee: str, count: int) -> float:
    new = NewPayment(payee, SMALL, None, None, None)

    async def pay_often(one: Treasury) -> None:
        for _ in range(count):
            await runtime.database.transaction(lambda tx: ask_for_payment(tx, one.admin, one.slug, new))

    began = time.perf_counter()
    await asyncio.gather(*(pay_often(one) for one in paying))
    return len(paying) * count / (time.perf_counter() - began)


async def _approve(runtime: Runtime, treasuries: Sequence[Treasury], payee: str) -> float:
    """The 99th percentile in milliseconds of approvals that begin at a fixed rate."""
    asked = [
        (one, await _ask(runtime, one, payee))
        for _ in range(APPROVALS // len(treasuries))
        for one in treasuries
    ]
    kinds, began = kinds_of(runtime), time.perf_counter()

    async def approve_in_turn(number: int, one: Treasury, request_id: UUID) -> float:
        await asyncio.sleep(max(0, began + number / RATE - time.perf_counter()))
        start = time.perf_counter()
        done = await runtime.database.transaction(
            lambda tx: approve(tx, one.owner, kinds, one.slug, request_id)
        )
        assert done.request.status == "EXECUTED"
        return (time.perf_counter() - start) * 1000

    took = await asyncio.gather(*(approve_in_turn(number, *one) for number, one in enumerate(asked)))
    return percentile(sorted(took), 0.99)


async def _ask(runtime: Runtime, one: Treasury, payee: str) -> UUID:
    new = NewPayment(payee, LARGE, None, None, None)
    asked = await runtime.database.transaction(lambda tx: ask_for_payment(tx, one.admin, one.slug, new))
    return asked.request.id

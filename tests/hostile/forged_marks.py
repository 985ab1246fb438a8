"""Attackers that forge marks, played against a registry: costs, mark, and units that the mark yields."""

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hansa.foundation.values.money import UNIT, format_amount, parse_amount
from hansa.rooms import ledger
from hansa.rooms.commerce.contracts.rules import OPEN_ACCEPTED_MAX
from hansa.rooms.commerce.contracts.term_rules import default_bond
from hansa.rooms.people.check import check_developer
from tests.registry import TestAgent, TestRegistry
from tests.rooms.commerce.agreements import in_days
from tests.rooms.reputation.rated import Rated

AT_ONCE = 8
JOB = Decimal(2)
"""Amount of the cheapest job that counts toward marks: its fee of 0.5 % is the least one."""
FUNDS = "2.01"
OFFERS = ("100", "10", "1", "0.1", "0.01")
"""Amounts of the open, funded proposals of an honest agent, each offered until the target is refused."""


@dataclass(frozen=True)
class Played:
    """Outcome of an attack. Amounts are in units.

    `funded` is the amount that the attacker's owners received, by genesis grants or from an administrator. `fees` are those of the jobs.
    `yielded` are the bonds of contracts that the target accepts by its record alone: the only units that the code gives a mark.
    """

    owners: int
    funded: Decimal
    fees: Decimal
    jobs: int
    mark: str | None
    yielded: Decimal

    @property
    def price(self) -> str:
        """Fees for each unit yielded."""
        if not self.jobs:
            return "never"
        return f"{self.fees / self.yielded:.0f}" if self.yielded else "yields nothing"


class Forger:
    """An attacker with a target, and as many new owners as it likes."""

    def __init__(self, registry: TestRegistry, target: TestAgent) -> None:
        self.registry, self.target, self.rated = registry, target, Rated(registry)

    async def with_genesis_grants(self, owners: int) -> Played:
        """Each new owner pays the target with all of its genesis grant."""
        puppets = await self._puppets(owners)
        paid = await self._all(self._pay_everything(puppet) for puppet in puppets)
        granted = [amount for amount in paid if amount]
        return await self._outcome(owners, Decimal(100) * len(granted))

    async def with_units_of_its_own(self, owners: int) -> Played:
        """Each new owner pays the target for the cheapest job that counts, with units that an administrator granted."""
        puppets = await self._puppets(owners)
        await self._fund(puppets)
        await self._all(self.rated.pay(puppet, self.target, str(JOB)) for puppet in puppets)
        return await self._outcome(owners, Decimal(FUNDS) * owners)

    async def _puppets(self, owners: int) -> list[TestAgent]:
        return await self._all(self.registry.agent() for _ in range(owners))

    async def _pay_everything(self, puppet: TestAgent) -> Decimal:
        held = Decimal(await puppet.balance())
        if held:
            await self.rated.pay(puppet, self.target, str((held * Decimal("0.94")).quantize(Decimal(1))))
        return held

    async def _fund(self, puppets: list[TestAgent]) -> None:
        administrator = await self.registry.administrator("admin_treasury")
        developer = await check_developer(self.registry.runtime, administrator.token)
        book = ledger.Book.of(self.registry.settings)
        for number, puppet in enumerate(puppets):
            await self.registry.database.transaction(
                lambda tx, did=puppet.did, number=number: ledger.grant_by_administrator(  # type: ignore[misc]
                    tx, developer, payee=did, amount=parse_amount(FUNDS), ref=f"bought {number}", book=book
                )
            )

    async def _outcome(self, owners: int, funded: Decimal) -> Played:
        await self.rated.compute()
        record = await self.rated.track_record(self.target.did)
        paid = [
            one["data"]
            for one in (await self.rated.exported())["events"]
            if one["data"].get("payee") == self.target.did
        ]
        assert len(paid) <= owners
        fees = sum((Decimal(one["fee"]) for one in paid), Decimal(0))
        return Played(
            owners,
            funded,
            fees,
            record["jobs_verified"],
            record["mark"],
            await self._replaced_bonds(record["jobs_verified"]),
        )

    async def _replaced_bonds(self, jobs: int) -> Decimal:
        """The bonds of all open proposals that the target accepts at once by its record."""
        honest = await self.registry.agent()
        replaced = 0
        accepted = 0
        for amount in OFFERS:
            while accepted < OPEN_ACCEPTED_MAX and await self._accepts(honest, amount, max(jobs, 1)):
                accepted += 1
                replaced += default_bond(parse_amount(amount))
        return Decimal(replaced) / UNIT

    async def _accepts(self, honest: TestAgent, amount: str, jobs: int) -> bool:
        offered = {
            "title": "Work",
            "contract_type": "service",
            "amount": amount,
            "terms": "Ten pages.",
            "acceptance_criteria": "No page is missing.",
            "funded": True,
            "review_by": in_days(2),
            "provider_jobs_min": jobs,
        }
        made = await self._post("/contracts", honest, offered)
        answer = await self.registry.post(
            f"/contracts/{made['id']}/accept", json={}, headers=self.target.headers
        )
        assert answer.status_code == 200 or answer.json()["error"]["code"] in {
            "BOND_REQUIRED",
            "CONTRACT_UNFUNDED",
        }, answer.text
        return answer.status_code == 200

    async def _post(self, path: str, by: TestAgent, body: dict[str, Any]) -> Any:
        answer = await self.registry.post(path, json=body, headers=by.headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    @staticmethod
    async def _all(acts: Any) -> list[Any]:
        """The results of many acts, a few at once."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(act: Any) -> Any:
            async with gate:
                return await act

        return await asyncio.gather(*(one(act) for act in acts))


def table(*played: tuple[str, Played]) -> str:
    """The table of the guide, in Markdown."""
    lines = [
        "| Attack | Owners | Units given to them | Fees | Verified jobs | Mark | Bonds replaced | Fees / bonds |",
        "|" + "---|" * 8,
    ]
    for name, one in played:
        funded, fees, bonds = (
            format_amount(parse_amount(f"{value:f}")) for value in (one.funded, one.fees, one.yielded)
        )
        lines.append(
            f"| {name} | {one.owners} | {funded} | {fees} | {one.jobs} | {one.mark or 'none'} | {bonds} | {one.price} |"
        )
    return "\n".join(lines) + "\n"

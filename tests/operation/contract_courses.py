"""Courses of contracts, each walked step by step against a server that may die at any moment.

A step whose answer was lost is repeated, with its key where the route takes one. A step that was done before is then refused with
409, and the contract or dispute says that it was done.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.registry import TestAgent, TestDeveloper
from tests.rooms.commerce.agreements import in_days, proposal

AMOUNT = 10
RETRY_SECONDS = 0.05
WITHIN_SECONDS = 120

ENDS = {
    "approved": ("COMPLETED", "approved"),
    "approved from a hold": ("COMPLETED", "approved"),
    "two milestones": ("COMPLETED", "approved"),
    "cancelled": ("CANCELLED", "cancelled"),
    "failed": ("FAILED", "rejected"),
    "ruled": ("CLOSED", "ruling"),
    "dismissed": ("COMPLETED", "approved"),
    "left to its deadline": ("COMPLETED", "approved"),
}
"""How the contract of each course ends: its status and why."""

FUNDED = {"approved from a hold", "two milestones", "ruled", "dismissed", "left to its deadline"}

PAID = {course for course, (status, _) in ENDS.items() if status == "COMPLETED"}
"""The courses whose provider is paid; the ruling returns the hold, compensates and slashes nothing."""


@dataclass
class Line:
    """The address of the server, which is another one after each start."""

    url: str = ""


@dataclass
class Walk:
    """One contract of a contractor and a provider on its course."""

    line: Line
    http: httpx2.AsyncClient
    course: str
    number: int
    contractor: TestAgent
    provider: TestAgent
    administrator: TestDeveloper
    contract_id: int = 0

    async def begin(self) -> None:
        """Propose and, unless it is cancelled, accept: from then on the contract is running."""
        terms: dict[str, Any] = {"amount": str(AMOUNT), "submit_by": in_days(2), "review_by": in_days(4)}
        if self.course in FUNDED:
            terms["funded"] = True
        if self.course == "left to its deadline":
            terms["auto_approve"] = True
        if self.course == "two milestones":
            terms["milestones"] = [{"title": "First", "amount": "4"}, {"title": "Second", "amount": "6"}]
        body = proposal(self.provider, **terms)
        made = await self._ask(self.contractor, "POST", "/contracts", body, key="create")
        self.contract_id = made["id"]
        if self.course != "cancelled":
            await self._act(self.provider, "accept", key="accept")

    async def end(self) -> None:
        """The rest of the course, but for a deadline."""
        match self.course:
            case "cancelled":
                await self._act(self.contractor, "cancel")
            case "failed":
                await self._act(self.contractor, "mark-failed")
            case "two milestones":
                for milestone in (0, 1):
                    await self._act(self.provider, "submit", milestone=milestone)
                    await self._act(
                        self.contractor, "approve-completion", key=f"approve-{milestone}", milestone=milestone
                    )
            case "ruled" | "dismissed":
                await self._act(self.provider, "submit")
                await self._dispute()
            case _:
                await self._act(self.provider, "submit")
        if self.course in {"approved", "approved from a hold", "dismissed"}:
            await self._act(self.contractor, "approve-completion", key="approve")

    async def read(self) -> Any:
        return await self._ask(self.contractor, "GET", f"/contracts/{self.contract_id}")

    async def _dispute(self) -> None:
        complaint = {
            "defendant_did": self.provider.did,
            "reason_code": "OTHER",
            "description": "No.",
            "contract_id": self.contract_id,
        }
        filed = await self._ask(self.contractor, "POST", "/disputes/", complaint, key="file")
        path = f"/admin/disputes/{filed['id']}"
        await self._ask(self.administrator, "PUT", f"{path}/open-voting")
        ruling = {"ruling": "DISMISSED", "note": "No."}
        if self.course == "ruled":
            ruling = {"ruling": "IN_FAVOR_OF_COMPLAINANT", "note": "Yes."}
        ruled = await self._ask(self.administrator, "PUT", f"{path}/ruling", ruling)
        assert (ruled["status"], ruled["ruling"]) == ("CLOSED", ruling["ruling"])

    async def _act(self, by: TestAgent, act: str, *, key: str | None = None, **members: Any) -> None:
        await self._ask(by, "POST", f"/contracts/{self.contract_id}/{act}", members, key=key)

    async def _ask(
        self,
        by: TestAgent | TestDeveloper,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
    ) -> Any:
        headers = {**by.headers, **({"Idempotency-Key": f"{self.number}-{key}"} if key else {})}
        is_repeated = False
        async with asyncio.timeout(WITHIN_SECONDS):
            while True:
                try:
                    url = f"{self.line.url}/api/v1{path}"
                    answer = await self.http.request(method, url, json=body, headers=headers)
                except httpx2.TransportError:
                    is_repeated = True
                else:
                    if answer.status_code < 300:
                        return answer.json()
                    if answer.status_code == 409 and is_repeated and key is None:
                        return None
                    if answer.status_code < 500:
                        raise AssertionError(f"{path} {answer.status_code} {answer.text}")
                await asyncio.sleep(RETRY_SECONDS)

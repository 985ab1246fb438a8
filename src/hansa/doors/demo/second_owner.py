"""A second owner of the organization of the demo: invited by mail, made an owner, and asked for an approval.

The token of an invitation is in its mail alone. A registry of the demo's own writes mails into a directory; those of another one are
not the demo's to read.
"""

import email
import re
from collections.abc import Awaitable, Callable
from decimal import Decimal
from email.policy import default as mail_policy
from pathlib import Path

import msgspec

from hansa.doors.demo.client import DemoDeveloper, DemoFailed
from hansa.doors.demo.contract import Parties
from hansa.doors.demo.paid_call import PATIENT
from hansa_client import AsyncRegistry
from hansa_client.records.organizations import OrganizationRequest
from hansa_client.records.treasury import ApprovalTier, TreasuryRules

ALONE_UP_TO = Decimal("0.1")
PAID_TOGETHER = Decimal("0.3")
TOKEN = re.compile(r"oit_[0-9a-f]{64}")

Settled = Callable[[Callable[[], Awaitable[bool]], str], Awaitable[None]]
"""Waits for a condition, or fails with the sentence."""


class SecondOwner(msgspec.Struct, frozen=True):
    """Developer who becomes the second owner, and the directory in which the registry writes mails."""

    developer: DemoDeveloper
    mails: Path
    settled: Settled


def registry_of_developer(url: str, developer: DemoDeveloper) -> AsyncRegistry:
    """The registry as this developer uses it."""
    return AsyncRegistry(url, developer=developer.tokens, retries=PATIENT)


async def pay_together(owning: AsyncRegistry, slug: str, parties: Parties, second: SecondOwner) -> None:
    """Invite the second owner, demand an approval, and pay with it. Raises: DemoFailed, HansaError."""
    name, treasury = second.developer.name, owning.treasury(slug)
    await owning.organizations.invite(slug, second.developer.email, role="admin")
    async with registry_of_developer(parties.url, second.developer) as joining:
        await joining.organizations.accept(await _token_mailed_to(second))
        await owning.organizations.change_member(slug, (await joining.accounts.profile()).id, "owner")
        parties.screen.line(f"{name} joined by the token of the mail, and is the second owner")
        tier = ApprovalTier(over=ALONE_UP_TO, approvals=1, by="owner")
        await treasury.replace_rules(TreasuryRules(tiers=(tier,)))
        asked = await treasury.pay(parties.provider.did, PAID_TOGETHER)
        if (asked.status, asked.approvals_needed) != ("PENDING", 1):
            raise DemoFailed(f"a payment over {ALONE_UP_TO} is {asked.status} without an approval")
        approved = await approve(joining, slug, asked, second)
        if approved.status != "EXECUTED":
            raise DemoFailed(f"the approved payment is {approved.status}")
    parties.screen.line(
        f"a payment of {PAID_TOGETHER}, over {ALONE_UP_TO}, waited for {name}, who approved it: paid"
    )


async def approve(
    joining: AsyncRegistry, slug: str, asked: OrganizationRequest, second: SecondOwner
) -> OrganizationRequest:
    """Approve a request as the second owner. Raises: HansaError."""
    return await joining.treasury(slug).approve(asked.request_id, password=second.developer.password)


async def lift_rules(url: str, slug: str, owning: AsyncRegistry, second: SecondOwner) -> None:
    """Both owners end the rules, so that one of them can return what the treasury holds. Raises: HansaError."""
    asked = await owning.treasury(slug).replace_rules(TreasuryRules())
    if isinstance(asked, OrganizationRequest):
        async with registry_of_developer(url, second.developer) as joining:
            await approve(joining, slug, asked, second)


async def _token_mailed_to(second: SecondOwner) -> str:
    """The token of the invitation, once its mail is written. Raises: DemoFailed."""
    found: list[str] = []

    async def is_mailed() -> bool:
        for file in second.mails.glob("*.eml"):
            mail = email.message_from_bytes(file.read_bytes(), policy=mail_policy)
            body = mail.get_body()
            if mail["to"] == second.developer.email and body is not None:
                found.extend(TOKEN.findall(body.get_content()))
        return bool(found)

    await second.settled(is_mailed, f"no invitation is mailed to {second.developer.email}")
    return found[0]

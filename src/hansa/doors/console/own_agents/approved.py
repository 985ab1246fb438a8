"""Approved payments that an own agent has not made: a choice on the forms that pay, and the form that makes each."""

from typing import Any

import msgspec
from fastapi import Request
from fastapi.responses import HTMLResponse

from hansa.doors.console.access import SentForm, SignedIn
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Database, Tx
from hansa.foundation.plumbing.storage.joined_reads import read_together
from hansa.rooms import agents, catalogue

from .pages import address_of, agent_page
from .picker import suggestions

SHOWN = 50
OPERATIONS = {
    "teg.transfer": "Transfer",
    "teg.send": "Transfer",
    "teg.cross_registry_transfer": "Transfer to another registry",
    "payment.pay": "Call or payment token",
    "contract": "Contract",
    "spawn": "Purse of a child",
    "bridge.transfer": "Lock of units for the bridge",
    "bridge.redeem": "Redemption over the bridge",
    "exchange.trade": "Points",
}
# Page below that of the agent, whose form makes the payment.
PAGES = {
    "payment.pay": "wallet/tokens/new",
    "contract": "contracts",
    "spawn": "children",
    "bridge.transfer": "wallet/bridge",
    "bridge.redeem": "wallet/bridge",
    "exchange.trade": "market",
}
OTHERWISE = "wallet/send"


class Approved(msgspec.Struct, frozen=True):
    """Approved payment with the name of its payee, where that is known."""

    approval: agents.SpendApprovalOut
    name: str | None


class Listed(msgspec.Struct, frozen=True):
    """Approval as the pages list it: its operation in words, and the form that makes the payment, where the owner may."""

    shown: agents.SpendApprovalOut
    operation: str
    payment_form: str | None

    @classmethod
    def of(cls, did: str, approval: agents.Approval, currency: str) -> "Listed":
        """An approval of this agent."""
        words = OPERATIONS.get(approval.operation or "", "Payment")
        return cls(agents.SpendApprovalOut.of(approval, did, currency), words, payment_form(did, approval))


def payment_form(did: str, approval: agents.Approval) -> str | None:
    """The address of the form that makes an approved payment; None where it cannot be made, or only by a connected client."""
    if approval.status != "approved" or approval.used_at is not None or approval.grant_id is not None:
        return None
    page = PAGES.get(approval.operation or "", OTHERWISE)
    return address_of(did, page) + f"?approval={approval.id}"


async def approved_payments(
    tx: Tx, did: str, settings: Settings, *, payee: str | None = None, amount: str | None = None
) -> list[Approved]:
    """The approved payments that an agent has not made; of one payee and amount where these are named."""
    found = await agents.usable_approvals(tx, did, SHOWN)
    shown = [agents.SpendApprovalOut.of(one, did, settings.settlement_currency) for one in found]
    wanted = [one for one in shown if payee in {None, one.receiver_did} and amount in {None, one.amount}]
    payees = list(dict.fromkeys(one.receiver_did for one in wanted))
    names = await catalogue.names_by_did(tx, payees) if payees else {}
    return [Approved(one, names.get(one.receiver_did)) for one in wanted]


async def form_that_pays(
    request: Request,
    person: SignedIn,
    agent: agents.OwnedAgent,
    form: SentForm,
    db: Database,
    *,
    payee: str,
    template: str,
    settings: Settings,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """A page with a form that pays the agent in its field `payee`; the `approval` in the address fills in its payee and amount."""
    approved, suggested = await db.read(
        lambda tx: read_together(
            tx,
            lambda tx: approved_payments(tx, agent.did, settings),
            lambda tx: suggestions(tx, person, agent.did),
        )
    )
    return agent_page(
        request,
        template,
        person,
        agent,
        filled_in(request, form, approved, payee=payee, amount="amount"),
        status=status,
        currency=settings.settlement_currency,
        approved=approved,
        suggested=suggested,
        **more,
    )


def filled_in(
    request: Request, form: SentForm, approved: list[Approved], *, payee: str, amount: str
) -> SentForm:
    """The form with the approval that the address names, and its payee and amount in these fields."""
    named = request.query_params.get("approval", "")
    chosen = next((one.approval for one in approved if str(one.approval.approval_id) == named), None)
    if chosen is None:
        return form
    given = [(payee, chosen.receiver_did), (amount, chosen.amount), ("approval_id", named)]
    return SentForm([*form.fields, *given], form.errors, form.message)

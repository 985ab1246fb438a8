"""Work orders, bids and contracts of the staged developer's organization and of another one, and the bodies of requests to them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hansa.foundation.values.money import parse_amount
from hansa.rooms import ledger
from tests.hostile import organization_requests
from tests.organizations import found
from tests.registry import TestAgent, TestDeveloper

if TYPE_CHECKING:
    from tests.hostile.well_formed import Stage

AMOUNT, PRICE = "100", "0.0001"
SHA256 = "0" * 64


def _order() -> dict[str, Any]:
    return {
        "title": "Staged",
        "spec": "Staged.",
        "acceptance_criteria": "Done.",
        "amount": AMOUNT,
        "bids_until": (datetime.now(UTC) + timedelta(days=1)).isoformat(),
        "submit_days": 1,
        "review_days": 1,
    }


async def _post(stage: "Stage", who: TestDeveloper | TestAgent, path: str, **body: Any) -> Any:
    answer = await stage.registry.post(path, json=body, headers=who.headers)
    assert answer.is_success, answer.text
    return answer.json()


async def _funded(stage: "Stage", organization_id: str) -> None:
    """Give the treasury of the organization a few units."""
    book = ledger.Book.of(stage.registry.settings)

    async def grant(tx: Any) -> Any:
        did = await tx.fetchval(
            "SELECT treasury_did FROM organizations_organization WHERE id = $1::text::uuid", organization_id
        )
        number = await tx.fetchval("SELECT count(*) FROM ledger_transaction")
        return await ledger.grant(
            tx, payee=did, amount=parse_amount("150"), ref=f"staged {number}", book=book
        )

    assert await stage.registry.database.transaction(grant)


async def own_organization(stage: "Stage") -> str:
    """The id of the staged developer's organization, whose treasury has units."""
    organization_id = await organization_requests.organization(stage)
    await _funded(stage, organization_id)
    return organization_id


async def treasury_with_units(stage: "Stage") -> str:
    """`<organization>/work-orders`."""
    return f"{await own_organization(stage)}/work-orders"


async def own_order(stage: "Stage") -> str:
    """`<organization>/work-orders/<id>` of an open order."""
    organization_id = await own_organization(stage)
    made = await _post(stage, stage.developer, f"/organizations/{organization_id}/work-orders", **_order())
    return f"{organization_id}/work-orders/{made['id']}"


async def _body_of_award(stage: "Stage") -> dict[str, Any]:
    """A bid on the newest order."""
    newest = await stage.registry.database.read(
        lambda tx: tx.fetchval("SELECT id::text FROM treasury_work_order ORDER BY seq DESC LIMIT 1")
    )
    bid = await _post(stage, stage.payee, f"/work-orders/{newest}/bids", price=PRICE, eta_seconds=60)
    return {"bid_id": bid["bid_id"]}


async def order_of_another(stage: "Stage") -> str:
    """`/work-orders/<id>` of an order of an organization to which the staged developer is not related."""
    other = await found(stage.registry)
    await _funded(stage, other.created["id"])
    made = await _post(stage, other.owner, f"/organizations/{other.slug}/work-orders", **_order())
    return str(made["id"])


async def bid_of_agent(stage: "Stage") -> str:
    """`/work-orders/<id>/bids/<id>` of a live bid of the staged agent."""
    order = await order_of_another(stage)
    bid = await _post(stage, stage.agent, f"/work-orders/{order}/bids", price=PRICE, eta_seconds=60)
    return f"{order}/bids/{bid['bid_id']}"


def _contract(act: str) -> Callable[["Stage"], Awaitable[str]]:
    """`<organization>/contracts/<id>/<act>` of a contract of the treasury, in the state that the act needs."""

    async def made(stage: "Stage") -> str:
        organization_id = await own_organization(stage)
        contract_id = await _awarded(stage, organization_id)
        if act in {"request-changes", "approve-completion", "dispute"}:
            await _post(
                stage, stage.payee, f"/contracts/{contract_id}/submit", deliverable={"sha256": SHA256}
            )
        if act == "cancel":
            await stage.registry.database.transaction(
                lambda tx: tx.execute(
                    "UPDATE commerce_contract SET status = 'PROPOSED', accepted_at = NULL, turn_at = NULL WHERE id = $1",
                    contract_id,
                )
            )
        return f"{organization_id}/contracts/{contract_id}/{act}"

    return made


async def _awarded(stage: "Stage", organization_id: str) -> int:
    made = await _post(stage, stage.developer, f"/organizations/{organization_id}/work-orders", **_order())
    bid = await _post(stage, stage.payee, f"/work-orders/{made['id']}/bids", price=PRICE, eta_seconds=60)
    path = f"/organizations/{organization_id}/work-orders/{made['id']}/award"
    awarded = await _post(stage, stage.developer, path, bid_id=bid["bid_id"])
    contract_id: int = awarded["result"]["contract_id"]
    return contract_id


async def dispute(stage: "Stage") -> str:
    """`<organization>/disputes/<id>` of an open dispute of the treasury."""
    path = await _contract("dispute")(stage)
    filed = await _post(stage, stage.developer, f"/organizations/{path}", **await _body_of_dispute(stage))
    return f"{path.partition('/')[0]}/disputes/{filed['id']}"


async def _body_of_order(_: "Stage") -> dict[str, Any]:
    return _order()


async def _body_of_bid(_: "Stage") -> dict[str, Any]:
    return {"price": PRICE, "eta_seconds": 60}


async def _body_of_dispute(stage: "Stage") -> dict[str, Any]:
    return {"defendant_did": stage.payee.did, "reason_code": "OTHER", "description": "No."}


async def _body_of_evidence(_: "Stage") -> dict[str, Any]:
    return {"sha256": SHA256}


async def page_of_work(stage: "Stage") -> str:
    """`<organization>/work` of an organization with an order, and with units for another one."""
    path = await page_of_order(stage)
    await _funded(stage, path.partition("/")[0])
    return path.rpartition("/")[0]


async def page_of_order(stage: "Stage") -> str:
    """`<organization>/work/<id>` of an open order with a bid."""
    path = await own_order(stage)
    await _body_of_award(stage)
    return path.replace("/work-orders/", "/work/")


async def _form_of_order(_: "Stage") -> dict[str, str]:
    order = _order()
    until = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    return {**{name: str(value) for name, value in order.items()}, "bids_until": until}


async def _form_of_award(stage: "Stage") -> dict[str, str]:
    """The bid on the newest order."""
    return {
        "bid_id": await stage.registry.database.read(
            lambda tx: tx.fetchval(
                "SELECT b.id::text FROM treasury_work_bid b JOIN treasury_work_order w ON w.id = b.work_order_id"
                " ORDER BY w.seq DESC LIMIT 1"
            )
        )
    }


async def _form_of_bid(_: "Stage") -> dict[str, str]:
    return {"price": PRICE, "days": "1"}


async def _form_of_withdrawal(stage: "Stage") -> dict[str, str]:
    """A bid of the staged agent on the newest order."""
    newest = await stage.registry.database.read(
        lambda tx: tx.fetchval("SELECT id::text FROM treasury_work_order ORDER BY seq DESC LIMIT 1")
    )
    bid = await _post(stage, stage.agent, f"/work-orders/{newest}/bids", price=PRICE, eta_seconds=60)
    return {"bid_id": bid["bid_id"]}


async def page_of_contract(stage: "Stage") -> str:
    """`<organization>/contracts/<id>` of a contract of the treasury whose work is submitted."""
    return (await _contract("approve-completion")(stage)).rpartition("/")[0]


async def page_of_contracts(stage: "Stage") -> str:
    """`<organization>/contracts` of an organization with such a contract."""
    return (await page_of_contract(stage)).rpartition("/")[0]


async def page_of_disputes(stage: "Stage") -> str:
    """`<organization>/disputes` of an organization with a dispute, and a contract of which there is none."""
    await dispute(stage)
    return (await page_of_contract(stage)).partition("/")[0] + "/disputes"


async def _form_of_dispute(stage: "Stage") -> dict[str, str]:
    """The newest contract."""
    newest = await stage.registry.database.read(
        lambda tx: tx.fetchval("SELECT max(id)::text FROM commerce_contract")
    )
    return {**await _body_of_dispute(stage), "contract_id": newest}


async def _form_of_approval(_: "Stage") -> dict[str, str]:
    return {"act": "approve-completion"}


async def _form_of_nothing(_: "Stage") -> dict[str, str]:
    return {}


ROOT = "/api/v1/organizations/{organization_id}"
_ACTS = ("cancel", "request-changes", "approve-completion", "mark-failed", "dispute")
MADE_ANEW: dict[str, Callable[["Stage"], Awaitable[str]]] = {
    **{f"{{organization_id}}/contracts/{{contract_id}}/{act}": _contract(act) for act in _ACTS},
    "{organization_id}/contracts/{contract_id}": page_of_contract,
    "{organization_id}/contracts/{contract_id:int}": page_of_contract,
    "{organization_id}/disputes/{dispute_id}": dispute,
    "{organization_id}/disputes/{dispute_id:int}": dispute,
    "/account/organizations/{organization_id}/contracts": page_of_contracts,
    "/account/organizations/{organization_id}/disputes": page_of_disputes,
    "{organization_id}/work-orders/{work_order_id}": own_order,
    "{organization_id}/work-orders": treasury_with_units,
    "{organization_id}/work/{work_order_id}": page_of_order,
    "/account/organizations/{organization_id}/work": page_of_work,
    "{work_order_id}/bids/{bid_id}": bid_of_agent,
    "{work_order_id}": order_of_another,
}
"""Objects named by a path, the longest first."""

BODIES: dict[str, Callable[["Stage"], Awaitable[dict[str, Any]]]] = {
    f"POST {ROOT}/work-orders": _body_of_order,
    f"POST {ROOT}/work-orders/{{work_order_id}}/award": _body_of_award,
    f"POST {ROOT}/contracts/{{contract_id}}/dispute": _body_of_dispute,
    f"POST {ROOT}/disputes/{{dispute_id}}/evidence": _body_of_evidence,
    "POST /api/v1/work-orders/{work_order_id}/bids": _body_of_bid,
}

ORGANIZATION = "POST /account/organizations/{organization_id}"
PAGE, BIDDING = f"{ORGANIZATION}/work", "POST /account/agents/{did}/work/{work_order_id}"
FORMS: dict[str, Callable[["Stage"], Awaitable[dict[str, str]]]] = {
    PAGE: _form_of_order,
    f"{PAGE}/{{work_order_id}}/award": _form_of_award,
    f"{PAGE}/{{work_order_id}}/cancel": _form_of_nothing,
    f"{ORGANIZATION}/contracts/{{contract_id:int}}": _form_of_approval,
    f"{ORGANIZATION}/disputes": _form_of_dispute,
    f"{ORGANIZATION}/disputes/{{dispute_id:int}}/evidence": _body_of_evidence,
    BIDDING: _form_of_bid,
    f"{BIDDING}/withdraw": _form_of_withdrawal,
}
"""Fields of the forms of pages, without their key."""

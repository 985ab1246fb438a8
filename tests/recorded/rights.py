"""Recorded: roles, spend policies and approvals, capabilities, act tokens."""

from typing import Any

import httpx2

from tests.recorded.parties import Parties
from tests.recorded.recorder import Caller, RecordedAgent, Recorder
from tests.recorded.transfers import NOBODY, pay, send

MAY_TRANSFER = {"permissions": ["teg.transfer"]}
UNKNOWN_ID = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"


async def record_rights(record: Recorder, by: Parties) -> None:
    """Record the rights of agents, and their bounds."""
    await _roles(record, by)
    await _spend_policies(record, by)
    await _capabilities(record, by)
    await _narrower_capabilities(record, by)
    await _act_tokens(record, by)


async def _roles(record: Recorder, by: Parties) -> None:
    path = f"/agents/{by.alma.did}/authz"
    await record.ask("GET", path, by.ada)
    await record.ask("PUT", path, by.ada, json={"roles": ["staker"]})
    await pay(record, by.alma, by.bob, "0.1")
    await record.ask("PUT", path, by.ada, json={"roles": ["emperor"]})
    await record.ask("POST", f"{path}/roles", by.ada, json={"role": "trader"})
    await record.ask("POST", f"{path}/roles", by.ada, json={"role": "emperor"})
    await record.ask("POST", f"{path}/roles", by.ben, json={"role": "trader"})
    await record.ask("GET", path, by.ben)
    await record.ask("GET", f"/agents/{NOBODY}/authz", by.ada)
    await record.ask("PUT", path, by.ada, json={"roles": ["trader", "client"]})


async def _govern(record: Recorder, by: Parties, **policy: Any) -> None:
    await record.ask("PUT", f"/agents/{by.alma.did}/authz", by.ada, json={"spend_policy": policy})


async def _spend_policies(record: Recorder, by: Parties) -> None:
    await _govern(record, by, per_tx_max="3", per_day_max="6", allowlist=[by.bob.did])
    await pay(record, by.alma, by.bob, "3.00000001")
    await pay(record, by.alma, by.carol, "1")
    await pay(record, by.alma, by.bob, "2.5", key="governed")
    await pay(record, by.alma, by.bob, "2.5", key="governed")
    await send(record, by.alma, by.bob, "2.5")
    await pay(record, by.alma, by.bob, "1.5")
    await record.ask("GET", f"/agents/{by.alma.did}/authz", by.ada)
    await _govern(record, by, approval_over="1")
    approval = await _approval(await pay(record, by.alma, by.bob, "2"))
    await pay(record, by.alma, by.bob, "2")
    await send(record, by.alma, by.bob, "2", dry_run=True)
    await pay(record, by.alma, by.bob, "2", approval_id=approval)
    await record.ask("GET", "/agents/me/spend-approvals", by.alma)
    await _decide(record, by, approval, "approve")
    await _decide(record, by, approval, "deny")
    await pay(record, by.alma, by.bob, "1.9", approval_id=approval)
    await pay(record, by.alma, by.bob, "2", approval_id=approval, headers={"X-Spend-Approval": UNKNOWN_ID})
    await pay(record, by.alma, by.bob, "2", approval_id=approval)
    await pay(record, by.alma, by.bob, "2", approval_id=approval)
    keyed = await _approval(await pay(record, by.alma, by.carol, "1.25", key="approved-1"))
    await _decide(record, by, keyed, "approve")
    for _ in range(2):
        await pay(record, by.alma, by.carol, "1.25", key="approved-1")
    denied = await _approval(await send(record, by.alma, by.carol, "1.75"))
    await _decide(record, by, denied, "deny")
    await send(record, by.alma, by.carol, "1.75", approval_id=denied)
    await pay(record, by.alma, by.carol, "1.75", headers={"X-Spend-Approval": UNKNOWN_ID})
    await pay(record, by.alma, by.carol, "1.75", headers={"X-Spend-Approval": "no uuid"})
    await _decide(record, by, UNKNOWN_ID, "approve")
    for query in ("", "?status=pending", "?status=used&limit=1", "?status=lost"):
        await record.ask("GET", f"/agents/{by.alma.did}/spend-approvals{query}", by.ada)
    await record.ask("GET", f"/agents/{by.alma.did}/spend-approvals", by.ben)
    for policy in ({"per_tx_max": "0"}, {"per_tx_max": "x"}, {"allowlist": ["x"] * 1001}, {"unknown": "1"}):
        await _govern(record, by, **policy)
    await record.ask("PUT", f"/agents/{by.alma.did}/authz", by.ada, json={"spend_policy": None})


async def _approval(answer: httpx2.Response) -> str:
    assert answer.status_code == 202, answer.text
    return answer.json()["approval_id"]


async def _decide(record: Recorder, by: Parties, approval: str, word: str) -> None:
    await record.ask("POST", f"/agents/{by.alma.did}/spend-approvals/{approval}/{word}", by.ada)


async def _issue(record: Recorder, issuer: RecordedAgent, **members: Any) -> dict[str, Any]:
    answer = await record.ask("POST", "/agents/capabilities", issuer, json=members)
    return answer.json()


async def _pay_under(
    record: Recorder, payer: Caller, payee: RecordedAgent, amount: Any, token: str, **more: Any
) -> None:
    await pay(record, payer, payee, amount, headers={"X-Capability-Token": token}, **more)


async def _capabilities(record: Recorder, by: Parties) -> None:
    caveats = {
        **MAY_TRANSFER,
        "max_per_tx": "2",
        "counterparty_allow": [by.bob.did],
        "operations": ["teg.transfer"],
    }
    bounded = await _issue(
        record, by.alice, holder_agent_did=by.alma.did, caveats=caveats, budget_total="3", max_uses=3
    )
    token, path = bounded["token"], f"/agents/capabilities/{bounded['id']}"
    await _pay_under(record, by.alma, by.bob, "1.5", token)
    await _pay_under(record, by.alma, by.bob, "2.5", token)
    await _pay_under(record, by.alma, by.carol, "1", token)
    await _pay_under(record, by.alma, by.bob, "1.75", token)
    await _pay_under(record, by.bob, by.alma, "1", token)
    await send(record, by.alma, by.bob, "1", headers={"X-Capability-Token": token})
    for _ in range(2):
        await _pay_under(record, by.alma, by.bob, "1.25", token, key="under-1")
    use = {
        "amount": "0.25",
        "permission": "teg.transfer",
        "operation": "teg.transfer",
        "counterparty_did": by.bob.did,
    }
    await record.ask("POST", f"{path}/consume", by.alma, json=use)
    await record.ask("POST", f"{path}/consume", by.alma, json=use)
    await _pay_under(record, by.alma, by.bob, "0.01", token)
    for unknown in ("att_" + "0" * 64, "x", "a" * 129):
        await _pay_under(record, by.alma, by.bob, "0.01", unknown)
    await record.ask("GET", "/agents/capabilities/mine", by.alma)
    await record.ask("GET", f"/agents/{by.alice.did}/delegations", by.ada)
    await record.ask("GET", f"/agents/{by.alice.did}/delegations", by.ben)
    for members in (
        {},
        {"caveats": {"permissions": []}},
        {"caveats": {"permissions": ["governance.vote"]}},
        {"caveats": MAY_TRANSFER, "budget_total": 0},
        {"caveats": MAY_TRANSFER, "ttl_seconds": 59},
        {"caveats": MAY_TRANSFER, "holder_agent_did": NOBODY},
        {"caveats": {**MAY_TRANSFER, "max_amount": "5"}},
    ):
        await _issue(record, by.alice, **members)


async def _narrower_capabilities(record: Recorder, by: Parties) -> None:
    root = await _issue(record, by.alice, caveats=MAY_TRANSFER, budget_total=5, ttl_seconds=600)
    path = f"/agents/capabilities/{root['id']}/attenuate"
    narrower = {"caveats": {"max_per_tx": "1"}, "budget_total": "2", "holder_agent_did": by.bob.did}
    drawn = (await record.ask("POST", path, by.alice, json=narrower)).json()
    await record.ask("POST", path, by.alice, json={"budget_total": "6"})
    await record.ask("POST", path, by.alice, json={"caveats": {"permissions": ["payment.pay"]}})
    await record.ask("POST", path, by.carol, json={})
    await _pay_under(record, by.bob, by.carol, "0.75", drawn["token"])
    await _pay_under(record, by.bob, by.carol, "1.5", drawn["token"])
    await _pay_under(record, by.carol, by.bob, "0.5", root["token"])
    await record.ask("GET", "/agents/capabilities/mine", by.alice)
    await record.ask("DELETE", f"/agents/capabilities/{root['id']}", by.carol)
    await record.ask("DELETE", f"/agents/capabilities/{root['id']}", by.alice)
    await _pay_under(record, by.bob, by.carol, "0.1", drawn["token"])
    await record.ask("DELETE", f"/agents/capabilities/{UNKNOWN_ID}", by.alice)


async def _act_tokens(record: Recorder, by: Parties) -> None:
    answer = await record.ask("POST", f"/agents/{by.alice.did}/act-token", by.ada)
    ada_as_alice = Caller("Ada as Alice", {"Authorization": f"Bearer {answer.json()['access_token']}"})
    await record.ask("GET", "/agents/me", ada_as_alice)
    await pay(record, ada_as_alice, by.bob, "0.5", message="by the owner")
    await record.ask("GET", "/teg/balance", ada_as_alice)
    await record.ask("POST", f"/agents/{by.alice.did}/act-token", by.ben)
    await record.ask("POST", f"/agents/{NOBODY}/act-token", by.ada)
    await record.ask("POST", f"/agents/{by.alice.did}/act-token", by.alice)

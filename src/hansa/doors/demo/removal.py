"""Remove the agents and accounts of a demo, as far as a client can.

Units cannot be destroyed by a client, and an agent that holds units cannot be ended. So all units are moved to the last
agent, which stays with its developer; its card is withdrawn. The other agents are ended and the deletion of the other
accounts is requested.
"""

from decimal import ROUND_DOWN, Decimal
from typing import Any
from uuid import uuid4

from hansa.doors.demo.client import OK, DemoAgent, DemoClient, DemoDeveloper, DemoFailed
from hansa.doors.demo.screen import Screen

FEE_RATE_MAX = Decimal("0.05")
UNIT = Decimal("1e-8")
# Each transfer leaves at most the highest fee behind: after so many the smallest unit is left, which costs no fee.
TRANSFERS_MAX = 20


async def remove(
    client: DemoClient, screen: Screen, agents: list[DemoAgent], developers: list[DemoDeveloper]
) -> dict[str, Any]:
    """Remove the agents and the accounts; returns those ended and those that remain. Raises: DemoFailed."""
    *ended, kept = agents
    for agent in ended:
        await _empty(client, agent, kept)
        await client.ask("DELETE", f"/api/v1/agents/{agent.did}", headers=agent.owner.headers)
    await client.ask("DELETE", f"/api/v1/agent-cards/{kept.did}", expect=204, headers=kept.owner.headers)
    leaving = [developer for developer in developers if developer is not kept.owner]
    for developer in leaving:
        await client.ask("POST", "/api/v1/account/request-deletion", headers=developer.headers)
    balance = await client.balance(kept)
    screen.line(f"ended {len(ended)} agents; requested the deletion of {len(leaving)} accounts")
    screen.line(f"{kept.did} stays unlisted: it holds {balance} units, which a client cannot destroy")
    return {
        "agents": [agent.did for agent in ended],
        "accounts": [developer.email for developer in leaving],
        "kept": {"did": kept.did, "email": kept.owner.email, "balance": balance},
    }


async def _empty(client: DemoClient, payer: DemoAgent, payee: DemoAgent) -> None:
    for _ in range(TRANSFERS_MAX):
        balance = Decimal(await client.balance(payer))
        if balance == 0:
            return
        without_fee = (balance / (1 + FEE_RATE_MAX)).quantize(UNIT, ROUND_DOWN)
        body = {"receiver_agent_id": payee.did, "amount": f"{without_fee or balance:f}"}
        headers = {**payer.headers, "Idempotency-Key": str(uuid4())}
        answer = await client.send("/api/v1/teg/transfer", body, headers)
        if answer.status_code != OK:
            raise DemoFailed(f"a transfer returned {answer.status_code}: {answer.text[:300]}")
    raise DemoFailed(f"{payer.did} still holds units after {TRANSFERS_MAX} transfers")

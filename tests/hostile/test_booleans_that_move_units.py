"""No value but true and false decides a movement of units."""

from typing import Any

import pytest

from tests.registry import TestAgent, TestRegistry

OTHERS: list[Any] = ["no", "0", "false", "off", "", "yes", "true", 0, 1, 1.0, None, [], {}]


@pytest.fixture
async def payer(registry: TestRegistry) -> TestAgent:
    return await registry.agent()


async def balance(agent: TestAgent) -> str:
    return (await agent.registry.get("/teg/balance", headers=agent.headers)).json()["balance"]


async def test_a_dry_run_that_is_not_said_by_true_or_false_moves_nothing(
    registry: TestRegistry, payer: TestAgent
):
    payee, before = await registry.agent(), await balance(payer)
    for value in OTHERS:
        body = {"receiver_did": payee.did, "amount": "1", "dry_run": value}
        answer = await registry.post("/teg/send", json=body, headers=payer.headers)
        assert answer.status_code == 422, (value, answer.text)
        assert await balance(payer) == before
    body["dry_run"] = True
    assert (await registry.post("/teg/send", json=body, headers=payer.headers)).status_code == 200
    assert await balance(payer) == before


async def test_lines_that_are_neither_atomic_nor_not_move_nothing(registry: TestRegistry, payer: TestAgent):
    payee, before = await registry.agent(), await balance(payer)
    line = {"key": "1", "receiver_did": payee.did, "amount": "1"}
    for value in OTHERS:
        body = {"transfers": [line], "atomic": value}
        answer = await registry.post("/teg/transfers", json=body, headers=payer.headers)
        assert answer.status_code == 422, (value, answer.text)
        assert '"atomic"' in answer.text, answer.text
    assert await balance(payer) == before


async def test_a_settlement_whose_success_is_neither_true_nor_false_pays_nothing(
    registry: TestRegistry, payer: TestAgent
):
    payee = await registry.agent()
    body = {"target_agent_did": payee.did, "amount": "1"}
    token = (await registry.post("/a2a-payment/authorize", json=body, headers=payer.headers)).json()
    before = await balance(payer)
    for value in OTHERS:
        settled = {"token": token["token"], "success": value}
        answer = await registry.post("/a2a-payment/settle", json=settled, headers=payer.headers)
        assert answer.status_code == 422, (value, answer.text)
        assert '"success"' in answer.text, answer.text
    assert await balance(payer) == before

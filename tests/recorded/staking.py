"""Recorded: stakes, releases, rewards and the refusals of them."""

from tests.recorded.parties import Parties
from tests.recorded.recorder import ANYONE, Caller, RecordedAgent, Recorder

# Rewards grow by the second: of a stake as small as this not even a minute earns the smallest unit.
SMALL = "0.01"
LOCKED = {"amount": "5", "lock_period": 30}


async def record_staking(record: Recorder, by: Parties) -> None:
    """Everything about staked units."""
    ada, alice = by.ada, by.alice
    await record.ask("POST", f"/agents/{alice.did}/authz/roles", ada, json={"role": "staker"})
    await record.ask("POST", f"/agents/{by.carol.did}/authz/roles", by.cleo, json={"role": "staker"})
    await record.ask("GET", "/staking/apy-tiers")
    await record.ask("GET", "/staking/status", alice)
    await _stake_and_release(record, alice)
    await _refusals(record, by)
    await _rewards(record, by.carol)
    with record.masking("claimable_rewards"):
        for path in (
            "status",
            "balance",
            "my-positions",
            "my-stats",
            "history",
            "my-positions?limit=1&offset=1",
        ):
            for agent in (alice, by.carol, by.bob):
                await record.ask("GET", f"/staking/{path}", agent)
    await record.ask("GET", "/staking/global-stats")
    await record.ask("GET", "/teg/transactions?limit=3", alice)


async def _stake_and_release(record: Recorder, alice: RecordedAgent) -> None:
    made = [
        await record.ask("POST", "/staking/stake", alice, json=body)
        for body in (
            {"amount": "2"},
            {"amount": 3.5},
            LOCKED,
            {"amount": "0.5", "lock_period_days": 365},
            {"amount": SMALL, "lock_period": 1},
        )
    ]
    first, second, locked, *_ = [answer.json()["position_id"] for answer in made]
    for _ in range(2):
        await record.ask("POST", "/staking/stake", alice, key="stake-1", json={"amount": "1.25"})
    await record.ask("POST", "/staking/stake", alice, key="stake-1", json={"amount": "1.26"})
    await record.ask("POST", "/staking/unstake", alice, json={"amount": "2.5"})
    for _ in range(2):
        release = {"amount": "1", "position_id": second}
        await record.ask("POST", "/staking/unstake", alice, key="release-1", json=release)
    await record.ask("POST", "/staking/unstake", alice, json={"amount": "1", "position_id": first})
    await record.ask("POST", "/staking/unstake", alice, json={"amount": "5", "position_id": locked})
    await record.ask("POST", "/staking/unstake", alice, json={"amount": "100"})
    await _elapse(record, alice, days=31)
    await record.ask("POST", "/staking/unstake", alice, json={"amount": "4", "position_id": locked})


async def _refusals(record: Recorder, by: Parties) -> None:
    for body in (
        {"amount": "0.00999999"}, {"amount": "100000"}, {"amount": "1", "lock_period": 366},
        {"amount": "1", "lock_period": -1}, {"amount": "1", "lock_period": 1, "lock_period_days": 1},
        {"amount": "-1"}, {"amount": "1e2"}, {"amount": None}, {},
    ):  # fmt: skip
        await record.ask("POST", "/staking/stake", by.alice, json=body)
    for position in ("stake-999999999", "17", "tx-1", ""):
        body = {"amount": "1", "position_id": position}
        await record.ask("POST", "/staking/unstake", by.alice, json=body)
    await record.ask("POST", "/staking/stake", by.bob, json={"amount": "1"})
    await record.ask("POST", "/staking/stake", by.ada, json={"amount": "1"})
    await record.ask("POST", "/staking/stake", ANYONE, json={"amount": "1"})
    await record.ask("GET", "/staking/history?limit=0", by.alice)


async def _rewards(record: Recorder, carol: RecordedAgent) -> None:
    """A year of a small stake earns whole units of the smallest kind, however long the requests take."""
    await record.ask("POST", "/staking/claim-rewards", carol)
    await record.ask("POST", "/staking/stake", carol, json={"amount": SMALL, "lock_period": 90})
    await record.ask("POST", "/staking/stake", carol, json={"amount": SMALL})
    await _elapse(record, carol, days=365)
    await record.ask("GET", "/staking/my-stats", carol)
    for _ in range(2):
        await record.ask("POST", "/staking/claim-rewards", carol)
    await _elapse(record, carol, days=100)
    await record.ask("POST", "/staking/unstake", carol, json={"amount": SMALL})
    await record.ask("POST", "/staking/claim-rewards", carol)
    await record.ask("POST", "/staking/claim-rewards", Caller("anyone"))


async def _elapse(record: Recorder, agent: RecordedAgent, days: int) -> None:
    """Move the agent's stakes so many days into the past."""
    await record.registry.database.transaction(
        lambda tx: tx.execute(
            "UPDATE ledger_stake_position SET staked_at = staked_at - make_interval(hours => 24 * $2),"
            " unlocks_at = unlocks_at - make_interval(hours => 24 * $2),"
            " rewarded_until = rewarded_until - make_interval(hours => 24 * $2)"
            " WHERE account_id = (SELECT id FROM ledger_account WHERE did = $1)",
            agent.did,
            days,
        )
    )

"""The tests of `make test-quick`, before each commit: `python -m tests.quick` prints their paths.

The structure of the tree, pure rules, properties with small numbers, and one conversation for each room.
"""

from pathlib import Path

TESTS = Path(__file__).parent

STRUCTURE = ("house",)

PROPERTIES = (
    "properties/test_engine_model.py",
    "properties/test_answers_of_payments.py",
    "properties/test_answers_of_transfers.py",
    "properties/test_slash_settlement_model.py",
    "properties/test_swap_prices.py",
)

CONVERSATIONS = {
    "achievements": "test_achievements.py",
    "agents": "test_agent_life.py",
    "auditor": "test_supply_invariant.py",
    "catalogue": "test_discovery.py",
    "commerce": "test_payment_settlement.py",
    "enforcement": "test_suspension.py",
    "exchange": "test_orders.py",
    "federation": "test_peers.py",
    "governance": "test_governance.py",
    "journal": "test_own_events.py",
    "ledger": "test_statements.py",
    "notifications": "test_webhooks.py",
    "operations": "test_agent_logs.py",
    "organizations": "test_organizations.py",
    "people": "test_accounts.py",
    "reputation": "test_reputation.py",
    "pipelines": "test_pipeline_templates.py",
    "spawn": "test_spawn.py",
    "status": "test_public_status.py",
    "proofs": "test_attestations_in_a_browser.py",
    "support": "test_support_tickets.py",
    "treasury": "test_treasury_payments.py",
    "transfers": "test_transfers.py",
}
"""For each room a conversation of a few seconds that meets much of its interface."""


def quick_paths() -> list[str]:
    """The paths below `tests`; those of rules are found by their names."""
    rules = sorted(path.relative_to(TESTS).as_posix() for path in (TESTS / "rooms").rglob("test_*_rules.py"))
    return [*STRUCTURE, *rules, *PROPERTIES, *(f"conversations/{name}" for name in CONVERSATIONS.values())]


if __name__ == "__main__":
    print(*(TESTS / path for path in quick_paths()))

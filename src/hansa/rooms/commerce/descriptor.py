"""Descriptor of commerce for the process."""

from collections.abc import Sequence

from hansa.foundation.plumbing.room import Room, Routes
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.plumbing.storage.database import Tx
from hansa.rooms import agents, federation, operations, transfers

from . import bonds, contracts, disputes, intents, payments, slash_settlements, x402
from . import cross_registry as across
from .agora_card import agora_router


async def _end_paid_across(
    tx: Tx, decisions: Sequence[transfers.CrossingDecision], settings: Settings
) -> None:
    """End the parts of contracts and the payment tokens that these transfers pay, if there are any.

    Most transfers pay neither, so that both are looked up for all of them at once.
    """
    named = [decision.transfer_id for decision in decisions]
    of_contracts = await contracts.paid_by_transfers(tx, named)
    of_tokens = await payments.named_tokens(tx, named)
    for decision in decisions:
        # An approval locks the contract before its token, too.
        part = of_contracts.get(decision.transfer_id)
        if part is None and decision.is_paid and decision.purpose == transfers.CONTRACT:
            part = await contracts.forgotten_part(tx, decision.transfer_id, settings)
        if part is not None:
            await contracts.end_by_decision(tx, part, decision, settings)
        if decision.transfer_id in of_tokens:
            await payments.end_by_decision(tx, decision, settings)


ROOM = Room(
    name="commerce",
    routes=(
        Routes(150, payments.hot_router),
        Routes(2010, contracts.router),
        Routes(2011, contracts.read_router),
        Routes(2012, across.router),
        Routes(2014, across.peer_router),
        Routes(2013, contracts.link_router),
        Routes(2015, disputes.malpractice_router),
        Routes(2016, disputes.router),
        Routes(2017, disputes.admin_router),
        Routes(2022, disputes.award_router),
        Routes(2018, slash_settlements.admin_router),
        Routes(2019, slash_settlements.peer_router),
        Routes(2020, payments.router),
        Routes(2021, payments.buy_router),
        Routes(3500, x402.router, at_root=True),
        Routes(3510, agora_router, at_root=True),
    ),
    reactors=(contracts.CONTRACTS_FOLLOW,),
    jobs=(
        contracts.CONTRACT_DEADLINES,
        contracts.CONTRACTS_OF_REVOKED,
        contracts.CONTRACT_STATEMENTS,
        across.ACCEPTANCES_ABROAD,
        disputes.DISPUTE_DEADLINES,
        *slash_settlements.SETTLEMENTS_OUTBOX.kinds,
        *slash_settlements.SLASHING_JOBS,
        *payments.JOBS,
        intents.FORGET_INTENTS,
    ),
    settings=frozenset(
        {
            "agent_rbac_mode",
            "base_url",
            "dispute_blocking_minimum",
            "dispute_deposit_minimum",
            "dispute_deposit_percent",
            "dispute_evidence_hours",
            "dispute_ruling_days",
            "dispute_slash_max",
            "dispute_window_hours",
            "exchange_enabled",
            "firm_quotes_per_caller",
            "outgoing_allow_user_hosts",
            "registry_name",
            "settlement_currency",
            "teg_mint_max_avt",
            "ledger_id",
            "trust_domain",
            "zkp_dispute_slash_reduction",
            "zkp_phases_enabled",
        }
    ),
    account_end=disputes.ACCOUNT_END,
    offers=(
        bonds.BOND_ADMITS,
        bonds.SLASH_BOND,
        slash_settlements.SIGNED_VERDICT,
    ),
    fills=(
        transfers.PAIR_ENDED.filled_with(slash_settlements.end_with),
        transfers.PAIR_REOPENED.filled_with(slash_settlements.reopen),
        transfers.PAYMENT_DECIDED.filled_with(_end_paid_across),
        federation.ATTESTED_CONTRACT.filled_with(contracts.read_attested_contract),
        slash_settlements.SIGNED_VERDICT.filled_with(disputes.signed_verdict),
        agents.REQUIRE_UNBOUND.filled_with(disputes.require_unbound),
        operations.SETTLE_TIMES.filled_with(payments.settle_times),
    ),
)

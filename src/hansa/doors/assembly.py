"""The only list of rooms: whose routes are served, who judges callers, what runs in the background."""

from fastapi import APIRouter

from hansa.doors import account_closing
from hansa.foundation.plumbing import idempotency, limits, mail_queue
from hansa.foundation.plumbing.caller import Gate
from hansa.foundation.plumbing.jobs import JobKind, forget_dead_jobs, scheduled, sweep
from hansa.foundation.plumbing.periodic_tasks import PeriodicTask
from hansa.foundation.plumbing.runtime import Runtime
from hansa.rooms import (
    agents,
    auditor,
    catalogue,
    enforcement,
    federation,
    journal,
    ledger,
    people,
    transfers,
)

API_ROUTERS: tuple[APIRouter, ...] = (
    # Matched in this order: the hot routes first.
    transfers.router,
    agents.router,
    people.router,
    people.api_keys_router,
    people.audit_log_router,
    people.deletion_router,
    people.invites_router,
    people.webhooks_router,
    # Before the cards: `discover` is no card's identifier.
    catalogue.search_router,
    catalogue.owning_router,
    # Before the cards: what ends in `versions` is no humanReadableId.
    catalogue.versions_router,
    catalogue.router,
    catalogue.pulls_router,
    catalogue.signatures_router,
    federation.router,
    federation.admission_router,
    federation.admin_router,
    catalogue.resource_discovery_router,
    ledger.router,
    enforcement.router,
    journal.router,
    journal.feed_router,
    auditor.router,
)

ROOT_ROUTERS: tuple[APIRouter, ...] = (
    journal.feed_root_router,
    agents.root_router,
    federation.root_router,
    catalogue.manifest_router,
    catalogue.well_known_router,
)

GATE = Gate(
    developer=people.check_developer,
    agent=agents.check_agent,
    password_setter=people.check_password_setter,
    licence=federation.check_licence,
    service=federation.check_service,
)

LEDGER_READINGS = journal.LedgerReadings(
    keys_of_account=ledger.keys_of_account,
    count_of_account=ledger.count_of_account,
    balances=ledger.held_balances,
)

AGENT_KEYS = agents.newest_keys

IS_DEVELOPER_SUSPENDED = account_closing.may_create_nothing

OWNERSHIP = catalogue.Ownership(
    is_suspended=account_closing.may_create_nothing,
    lock_agent=agents.lock_owner_and_status,
    newest_keys=AGENT_KEYS,
)

OWNED_AMONG = agents.owned_among

REACTORS: tuple[journal.Reactor, ...] = (enforcement.BLOCKLIST, enforcement.OWNERS_TOLD)

OWNED_DATA = people.OwnedData(blockers=account_closing.blockers, end=account_closing.end)

JOBS: tuple[JobKind, ...] = (
    people.FORGOTTEN_PASSWORDS,
    mail_queue.MAIL,
    scheduled("agents: pay owed grants", 5, agents.pay_owed_grants),
    scheduled("ledger: free overdue holds", 10, ledger.free_overdue_holds),
    sweep("agents: forget ended capabilities", 600, agents.forget_capabilities),
    sweep("agents: forget spend approvals", 600, agents.forget_approvals),
    sweep("catalogue: erase old cards", 3600, catalogue.erase_old),
    sweep("auditor: audit cycle", auditor.CYCLE_SECONDS, auditor.audit_when_due, one_snapshot=True),
    sweep("catalogue: index texts", 1, catalogue.index_texts),
    sweep("catalogue: keep lists quick", 20, catalogue.keep_lists_quick),
    sweep("idempotency: forget expired answers", 60, idempotency.forget_expired),
    sweep("journal: count what is settled", 5, journal.count_settled),
    sweep("journal: keep partitions ahead", 3600, journal.keep_partitions_ahead),
    sweep("limits: forget idle buckets", 600, limits.forget_idle_buckets),
    sweep("webhooks: forget old deliveries", 3600, people.forget_old_deliveries),
    sweep("live feed: forget expired tickets", 60, journal.forget_tickets),
    sweep("people: carry out deletions", 60, lambda tx: people.carry_out_due_deletions(tx, OWNED_DATA)),
    sweep("people: forget what has ended", 3600, people.forget_ended),
    sweep("jobs: forget dead jobs", 3600, forget_dead_jobs),
    sweep("mail: enqueue what an older version wrote", 60, mail_queue.enqueue_mails_without_job),
)

PERIODIC_TASKS: tuple[PeriodicTask, ...] = (
    PeriodicTask("auditor: show the last audit", 15, auditor.show_last_audit),
    PeriodicTask(
        "catalogue: pull agents' own cards", 1, lambda runtime: catalogue.pull_due(runtime, AGENT_KEYS)
    ),
    PeriodicTask("catalogue: call agents for a sign of life", 1, catalogue.probe_due),
    PeriodicTask("people: send webhooks", 1, people.send_webhooks),
)


def group_commit(runtime: Runtime) -> ledger.GroupCommit:
    """The desk where the transfers of this process gather."""
    return ledger.GroupCommit(runtime.database, ledger.Book.of(runtime.settings), ledger.FeePolicy())


def live_feed(runtime: Runtime) -> journal.LiveFeed:
    """What this process tells its sockets."""
    return journal.LiveFeed(
        runtime.database, frame=runtime.settings.trust_domain, ledger=LEDGER_READINGS, health=runtime.jobs
    )


def searcher(runtime: Runtime) -> catalogue.Searcher:
    """The search of this process."""
    settings = runtime.settings
    directory, currency = settings.data_dir / "search", settings.settlement_currency
    return catalogue.Searcher(runtime.database, directory, currency, runtime.jobs)


def event_counts(runtime: Runtime) -> journal.EventCounts:
    """The counts of events for everybody who asks this process."""
    return journal.EventCounts(runtime.database)


def card_exporter(runtime: Runtime) -> catalogue.CardExporter:
    """Where this process signs cards."""
    signatory = federation.Signatory(runtime.database, runtime.seal)
    return catalogue.CardExporter(runtime.database, signatory, runtime.settings)

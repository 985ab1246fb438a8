"""`python -m bench [--full] [name …]`: run the benches and print medians, ratios and the verdict on the books."""

import argparse
import gc
import os
import platform
import subprocess
import sys
from functools import partial

import uvloop

from bench import (
    agents_spawn,
    auditor_cycle,
    auditor_liabilities,
    catalogue_availability,
    catalogue_million,
    catalogue_mirror,
    catalogue_pulls,
    catalogue_reads,
    catalogue_search,
    catalogue_writes,
    database_outages,
    exchange_orders,
    federation_crossings,
    federation_growth,
    federation_operators,
    federation_quiet_peers,
    federation_rotations,
    federation_suspensions,
    federation_swaps,
    federation_sync,
    governance_votes,
    http_attack,
    http_contracts,
    http_logs,
    http_overload,
    http_pages,
    http_paid_call,
    http_payments,
    http_reads,
    http_search_flood,
    http_tiles,
    http_traced,
    http_transfer,
    idle,
    journal_aggregate,
    journal_append,
    journal_archive,
    journal_feed,
    journal_follow,
    ledger_batch,
    ledger_holds,
    ledger_posting,
    ledger_replay,
    ledger_slow_commits,
    ledger_staking,
    mcp_tools,
    people_login,
    reputation_epoch,
    restore,
    start,
    treasury_board,
    treasury_requests,
    verifier_attestations,
)
from bench.figures import Figures
from hansa.doors.operate import COLLECTED_AFTER
from hansa.doors.serving.serve import SWITCH_SECONDS

BENCHES = {
    "start": start.run,
    "idle": idle.run,
    "restore": restore.run,
    "database/outages": database_outages.run,
    "ledger/posting": ledger_posting.run,
    "ledger/batch": ledger_batch.run,
    "ledger/holds": ledger_holds.run,
    "ledger/replay": ledger_replay.run,
    "ledger/slow-commits": ledger_slow_commits.run,
    "ledger/staking": ledger_staking.run,
    "agents/spawn": agents_spawn.run,
    "exchange/orders": exchange_orders.run,
    "governance/votes": governance_votes.run,
    "http/transfer": http_transfer.run,
    "http/overload": http_overload.run,
    "http/pages": http_pages.run,
    "http/payments": http_payments.run,
    "http/paid-call": http_paid_call.run,
    "http/attack": http_attack.run,
    "http/contracts": http_contracts.run,
    "http/logs": http_logs.run,
    "http/search-flood": http_search_flood.run,
    "http/reads": http_reads.run,
    "http/tiles": http_tiles.run,
    "http/traced": http_traced.run,
    "journal/aggregate": journal_aggregate.run,
    "journal/append": journal_append.run,
    "journal/archive": journal_archive.run,
    "journal/feed": journal_feed.run,
    "journal/follow": journal_follow.run,
    "mcp/tools": mcp_tools.run,
    "people/login": people_login.run,
    "auditor/cycle": auditor_cycle.run,
    "auditor/liabilities": auditor_liabilities.run,
    "reputation/epoch": reputation_epoch.run,
    "catalogue/availability": catalogue_availability.run,
    "catalogue/million": catalogue_million.run,
    "catalogue/mirror": catalogue_mirror.run,
    "federation/crossings": federation_crossings.run,
    "federation/growth": federation_growth.run,
    "federation/operators": federation_operators.run,
    "federation/quiet-peers": federation_quiet_peers.run,
    "federation/rotations": federation_rotations.run,
    "federation/suspensions": federation_suspensions.run,
    "federation/swaps": federation_swaps.run,
    "federation/sync": federation_sync.run,
    "catalogue/reads": catalogue_reads.run,
    "catalogue/pulls": catalogue_pulls.run,
    "catalogue/search": catalogue_search.run,
    "catalogue/writes": catalogue_writes.run,
    "treasury/board": treasury_board.run,
    "treasury/requests": treasury_requests.run,
    "verifier/attestations": verifier_attestations.run,
}
OF_WORKERS = {
    "http/transfer": http_transfer.run,
    "http/payments": http_payments.run,
    "mcp/tools": mcp_tools.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the large sizes")
    parser.add_argument(
        "--kinds",
        metavar="N,N…",
        help="http/attack: positions of the kinds of connection, from 0; all by default",
    )
    parser.add_argument("--seconds", type=int, help="http/attack: the length of each measurement")
    parser.add_argument(
        "--accounts", metavar="N,N…", help="ledger/posting: the numbers of accounts to measure at"
    )
    parser.add_argument("--events", type=int, default=0, help="ledger/posting: events recorded before")
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        help="http/transfer, http/payments, mcp/tools: workers of the service",
    )
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHES))
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHES)
    if unknown:
        parser.error(f"unknown bench: {', '.join(sorted(unknown))}")
    if arguments.kinds or arguments.seconds:
        if arguments.names != ["http/attack"]:
            parser.error("--kinds and --seconds are of http/attack")
        kinds = [int(number) for number in arguments.kinds.split(",")] if arguments.kinds else None
        BENCHES["http/attack"] = partial(http_attack.run, kinds=kinds, seconds=arguments.seconds)
    if arguments.accounts or arguments.events:
        if arguments.names != ["ledger/posting"] or not arguments.accounts:
            parser.error("--accounts, and --events beside it, are of ledger/posting")
        accounts = [int(number) for number in arguments.accounts.split(",")]
        BENCHES["ledger/posting"] = partial(ledger_posting.run, accounts=accounts, events=arguments.events)
    if arguments.workers != 1:
        _use_workers(parser, arguments.names, arguments.workers)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    print(
        f"commit {commit.stdout.strip() or 'unknown'}, Python {platform.python_version()}, {os.cpu_count()} cores"
    )
    # What is measured in this process is measured as it runs in the service.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)
    sys.setswitchinterval(SWITCH_SECONDS)
    sound = True
    for name, run in BENCHES.items():
        if not arguments.names or name in arguments.names:
            figures: Figures = uvloop.run(run(full=arguments.full))
            print(f"\n{name}\n{figures.table()}", flush=True)
            sound = sound and figures.is_sound
    sys.exit(0 if sound else 1)


def _use_workers(parser: argparse.ArgumentParser, names: list[str], workers: int) -> None:
    """Measure services of so many workers."""
    if not names or not set(names) <= set(OF_WORKERS):
        parser.error(f"--workers is of {', '.join(OF_WORKERS)}")
    for name, run in OF_WORKERS.items():
        BENCHES[name] = partial(run, workers=workers)


if __name__ == "__main__":
    main()

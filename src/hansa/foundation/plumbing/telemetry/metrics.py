"""Counters and timings, in Prometheus form.

Several serving processes are added up. Of a gauge either the processes alive are added up, or the last value that any of
them set is shown (`multiprocess_mode`). A module that knows the values of a label begins the counter at 0 with `begin`: an
alert on an increase needs the 0 before the first one.
"""

from collections.abc import Iterable
from itertools import product

from prometheus_client import Counter, Gauge, Histogram

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
COMMIT_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)

build_info = Gauge(
    "hansa_build_info", "1; the labels have the versions.", ["version", "python"], multiprocess_mode="livemax"
)
requests_total = Counter("hansa_http_requests", "Requests answered.", ["method", "route", "status"])
request_seconds = Histogram(
    "hansa_http_request_seconds", "Response time in seconds.", ["method", "route"], buckets=LATENCY_BUCKETS
)
connections_cut_off_total = Counter(
    "hansa_connections_cut_off", "Connections closed or refused by the registry, by reason.", ["reason"]
)
requests_under_way = Gauge(
    "hansa_http_requests_under_way", "Requests in progress.", multiprocess_mode="livesum"
)
supply_delta = Gauge(
    "hansa_supply_delta_minor",
    "Net supply minus circulating at the last audit, in minor units.",
    multiprocess_mode="mostrecent",
)
audit_status = Gauge(
    "hansa_audit_status",
    "1 if the last audit cycle found no breach, else 0.",
    multiprocess_mode="mostrecent",
)
backup_age_seconds = Gauge(
    "hansa_backup_age_seconds",
    "Age of the newest backup in seconds, measured every 15 seconds; without any, of the registry in this database.",
    multiprocess_mode="mostrecent",
)
audit_checked = Gauge(
    "hansa_audit_checked_timestamp_seconds",
    "Time of the last audit cycle.",
    multiprocess_mode="mostrecent",
)
batch_size = Histogram(
    "hansa_ledger_batch_size",
    "Transfers per batch commit.",
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 500),
)
transfers_waiting = Gauge(
    "hansa_ledger_transfers_waiting", "Transfers waiting for their batch.", multiprocess_mode="livesum"
)
unbonded_accepts_total = Counter(
    "hansa_unbonded_accepts", "Accepts of contracts of version 2 by providers without a bond, refused or not."
)
postings_total = Counter("hansa_ledger_transactions", "Ledger transactions written.", ["type"])
shadow_refusals_total = Counter(
    "hansa_shadow_refusals",
    "Requests that a control in shadow mode would have refused.",
    ["control", "code"],
)
feed_sockets = Gauge("hansa_feed_sockets", "Sockets connected to the live feed.", multiprocess_mode="livesum")
feed_events_total = Counter("hansa_feed_events", "Events that the live feed sent, counted in each process.")
feed_messages_total = Counter("hansa_feed_messages", "Messages sent to sockets of the live feed.")
feed_readers_dropped_total = Counter(
    "hansa_feed_readers_dropped", "Sockets closed because they read too slowly."
)
job_failing = Gauge(
    "hansa_job_failing",
    "1 while the last attempt of a background job failed in any process.",
    ["job"],
    multiprocess_mode="livemax",
)
job_failures_total = Counter("hansa_job_failures", "Failed attempts of background jobs.", ["job"])
reactions_total = Counter("hansa_reactions", "Events processed by reactors.", ["reactor"])
reactions_failed_total = Counter(
    "hansa_reactions_failed", "Failed reactions, including retries.", ["reactor"]
)
reactions_set_aside_total = Counter(
    "hansa_reactions_set_aside", "Events that a reactor set aside after its last retry.", ["reactor"]
)
peer_refusals_total = Counter(
    "hansa_peer_refusals", "What was refused of other registries, by reason.", ["reason"]
)
operator_licence_readings_total = Counter(
    "hansa_operator_licence_readings",
    "Readings of the operator licence at the frame, by the state that was found; not_read: without an answer.",
    ["state"],
)
peer_acts_total = Counter(
    "hansa_peer_acts",
    "Suspensions, reinstatements and revocations of peers, by act and mode.",
    ["act", "mode"],
)
outgoing_total = Counter("hansa_outgoing_calls", "Calls to other hosts, by outcome.", ["outcome"])
card_visits_total = Counter(
    "hansa_card_visits", "Pulls and health checks of agents, by kind and outcome.", ["errand", "outcome"]
)
passwords_waiting = Gauge(
    "hansa_passwords_waiting", "Password hashes queued or running (Argon2).", multiprocess_mode="livesum"
)
webhook_tries_total = Counter("hansa_webhook_tries", "Webhook delivery attempts, by outcome.", ["outcome"])
mails_total = Counter(
    "hansa_mails", "Attempts to deliver an e-mail to the mail server, by outcome.", ["outcome"]
)
jobs_due = Gauge(
    "hansa_jobs_due",
    "Due jobs, measured every 15 seconds.",
    ["job"],
    multiprocess_mode="mostrecent",
)
jobs_dead = Gauge(
    "hansa_jobs_dead",
    "Dead jobs, measured every 15 seconds.",
    ["job"],
    multiprocess_mode="mostrecent",
)
jobs_oldest_seconds = Gauge(
    "hansa_jobs_oldest_seconds",
    "Age of the oldest due job in seconds, measured every 15 seconds.",
    ["job"],
    multiprocess_mode="mostrecent",
)
jobs_running = Gauge("hansa_jobs_running", "Jobs currently running.", ["job"], multiprocess_mode="livesum")
jobs_failed_total = Counter("hansa_jobs_failed", "Attempts of jobs that failed.", ["job"])
jobs_fenced_total = Counter("hansa_jobs_fenced", "Job results discarded because the lease was lost.", ["job"])
connections_in_use = Gauge(
    "hansa_database_connections_in_use",
    "Database connections in use by requests and jobs.",
    multiprocess_mode="livesum",
)
connections_max = Gauge(
    "hansa_database_connections_max",
    "Database connections that the pools may open.",
    multiprocess_mode="livesum",
)
connection_waits_total = Counter(
    "hansa_database_connection_waits", "Requests and jobs that waited for a database connection."
)
connection_wait_seconds_total = Counter(
    "hansa_database_connection_wait_seconds", "Time that requests and jobs waited for a database connection."
)
commit_seconds = Histogram(
    "hansa_database_commit_seconds",
    "Duration of the commit of a transaction, the wait for synchronous standbys included.",
    buckets=COMMIT_BUCKETS,
)
batch_seconds = Histogram(
    "hansa_ledger_batch_seconds",
    "Duration of a batch of transfers in the database, its commit included.",
    buckets=COMMIT_BUCKETS,
)
database_primary = Gauge(
    "hansa_database_primary",
    "1 while the database is reached and takes writes, measured every 15 seconds.",
    multiprocess_mode="mostrecent",
)
synchronous_standbys = Gauge(
    "hansa_database_synchronous_standbys",
    "Standbys that a commit may wait for, measured every 15 seconds.",
    multiprocess_mode="mostrecent",
)
synchronous_replication = Gauge(
    "hansa_database_synchronous_replication",
    "1 while commits wait for synchronous standbys (synchronous_standby_names), measured every 15 seconds.",
    multiprocess_mode="mostrecent",
)
disk_free_bytes = Gauge(
    "hansa_disk_free_bytes",
    "Free space of the file system of the data directory, measured every 15 seconds.",
    multiprocess_mode="mostrecent",
)
disk_size_bytes = Gauge(
    "hansa_disk_size_bytes", "Size of the file system of the data directory.", multiprocess_mode="mostrecent"
)
search_index_current = Gauge(
    "hansa_search_index_current_timestamp_seconds",
    "Time at which the search index last had every committed card, of the slowest process.",
    multiprocess_mode="livemin",
)
certificate_begins = Gauge(
    "hansa_certificate_begins_timestamp_seconds",
    "Time from which the certificate is in force.",
    ["certificate"],
    multiprocess_mode="mostrecent",
)
certificate_expires = Gauge(
    "hansa_certificate_expires_timestamp_seconds",
    "Time at which the certificate ends.",
    ["certificate"],
    multiprocess_mode="mostrecent",
)
support_waiting = Gauge(
    "hansa_support_waiting",
    "Tickets, or reports about agents, that wait for the support, measured every 15 seconds.",
    ["kind"],
    multiprocess_mode="mostrecent",
)
support_oldest_seconds = Gauge(
    "hansa_support_oldest_seconds",
    "Time that the oldest of them has waited in seconds, measured every 15 seconds; 0 without any.",
    ["kind"],
    multiprocess_mode="mostrecent",
)
witness_silent = Gauge(
    "hansa_log_witness_silent",
    "1 while the witness did not cosign the newest checkpoint at the last request.",
    ["witness"],
    multiprocess_mode="mostrecent",
)


def begin(counter: Counter, *values: Iterable[str]) -> None:
    """Begin a labelled counter at 0 for the values of each label, in each combination."""
    for labels in product(*values):
        counter.labels(*labels)

"""Counters and timings, in Prometheus form.

Several serving processes are added up. Of a gauge either the processes alive are added up, or the last value that any of
them set is shown (`multiprocess_mode`).
"""

from prometheus_client import Counter, Gauge, Histogram

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

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

"""Reputation: signals, track records, marks and scores. Catalogue: what a card shows of them."""

from alembic import op

revision = "0046"
down_revision = "0044"

SQL = """
-- Settled payments, completed contracts and rulings, in the order in which they were noted. `giver` is the payer or the
-- complainant, `receiver` the payee or the defendant.
CREATE TABLE reputation_signal (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_seq bigint NOT NULL UNIQUE,
  event_type text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('payment', 'ruling_for_defendant', 'ruling_for_complainant')),
  at timestamptz NOT NULL,
  giver text NOT NULL,
  receiver text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  fee bigint NOT NULL CHECK (fee >= 0),
  counts boolean NOT NULL
);

-- The last signal that is in the records of agents.
CREATE TABLE reputation_progress (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  recorded bigint NOT NULL DEFAULT 0
);
INSERT INTO reputation_progress DEFAULT VALUES;

-- What counts of an agent, current at any time. `first_job_at` is that of the first job that counts.
CREATE TABLE reputation_record (
  agent_did text PRIMARY KEY,
  jobs_verified int NOT NULL DEFAULT 0 CHECK (jobs_verified >= 0),
  jobs_foreign int NOT NULL DEFAULT 0 CHECK (jobs_foreign BETWEEN 0 AND jobs_verified),
  volume numeric NOT NULL DEFAULT 0 CHECK (volume >= 0),
  contracts_completed int NOT NULL DEFAULT 0 CHECK (contracts_completed >= 0),
  disputes_won int NOT NULL DEFAULT 0 CHECK (disputes_won >= 0),
  disputes_lost int NOT NULL DEFAULT 0 CHECK (disputes_lost >= 0),
  first_job_at timestamptz
) WITH (fillfactor = 80);

-- At most one job of a counterparty's owner and day counts toward marks. `counterparty` is a developer of this registry
-- or another registry.
CREATE TABLE reputation_verified_job (
  agent_did text NOT NULL,
  counterparty text NOT NULL,
  day date NOT NULL,
  event_seq bigint NOT NULL,
  PRIMARY KEY (agent_did, counterparty, day)
);

-- `through` is the last signal that was there when the scores were computed; of these, those of earlier days count.
CREATE TABLE reputation_epoch (
  epoch date PRIMARY KEY,
  through bigint NOT NULL,
  formula text NOT NULL,
  computed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The scores of the newest epoch. `on_card` is the score that the agent's card shows.
CREATE TABLE reputation_score (
  agent_did text PRIMARY KEY,
  epoch date NOT NULL,
  score smallint NOT NULL CHECK (score BETWEEN 0 AND 1000),
  grade text NOT NULL,
  paid_work numeric NOT NULL,
  payments_made numeric NOT NULL,
  disputes_won numeric NOT NULL,
  disputes_lost numeric NOT NULL,
  on_card smallint NOT NULL DEFAULT 0
) WITH (fillfactor = 80);
CREATE INDEX reputation_score_off_card ON reputation_score (agent_did) WHERE on_card <> score;

-- Each change of an agent's grade.
CREATE TABLE reputation_grade (
  agent_did text NOT NULL,
  epoch date NOT NULL,
  grade text NOT NULL,
  score smallint NOT NULL,
  PRIMARY KEY (agent_did, epoch)
);

ALTER TABLE catalogue_card
  ADD agent_score smallint NOT NULL DEFAULT 0 CHECK (agent_score BETWEEN 0 AND 1000),
  ADD track_record jsonb;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)

-- Reputation: signals, records and scores of agents, bonds.

-- Settled payments, completed contracts and rulings, in the order in which they were noted. `giver` is the payer or the complainant,
-- `receiver` the payee or the defendant.
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

-- Last signal that is in the records of agents.
CREATE TABLE reputation_progress (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  recorded bigint NOT NULL DEFAULT 0,
  -- Last grant of an administrator that is in the funds.
  granted bigint NOT NULL DEFAULT 0
);
INSERT INTO reputation_progress DEFAULT VALUES;

-- Counted facts of an agent, current at any time. `first_job_at` is that of the first job that counts.
CREATE TABLE reputation_record (
  agent_did text PRIMARY KEY,
  jobs_verified int NOT NULL DEFAULT 0 CHECK (jobs_verified >= 0),
  jobs_foreign int NOT NULL DEFAULT 0 CHECK (jobs_foreign BETWEEN 0 AND jobs_verified),
  volume numeric NOT NULL DEFAULT 0 CHECK (volume >= 0),
  contracts_completed int NOT NULL DEFAULT 0 CHECK (contracts_completed >= 0),
  disputes_won int NOT NULL DEFAULT 0 CHECK (disputes_won >= 0),
  disputes_lost int NOT NULL DEFAULT 0 CHECK (disputes_lost >= 0),
  first_job_at timestamptz,
  -- Fees of the jobs for agents of this registry that count since the last dispute that the agent lost as its defendant.
  fees numeric(38) NOT NULL DEFAULT 0 CHECK (fees >= 0)
) WITH (fillfactor = 80);

-- At most one job of a counterparty's owner and day counts toward marks. `counterparty` is a developer of this registry or another
-- registry.
CREATE TABLE reputation_verified_job (
  agent_did text NOT NULL,
  counterparty text NOT NULL,
  day date NOT NULL,
  event_seq bigint NOT NULL,
  PRIMARY KEY (agent_did, counterparty, day)
);

-- Computations of the scores. `through` is the last signal of the computation; signals of earlier days count.
CREATE TABLE reputation_epoch (
  epoch date PRIMARY KEY,
  through bigint NOT NULL,
  formula text NOT NULL,
  computed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Scores of the newest epoch. `on_card` is the score that the agent's card shows.
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

-- Changes of an agent's grade.
CREATE TABLE reputation_grade (
  agent_did text NOT NULL,
  epoch date NOT NULL,
  grade text NOT NULL,
  score smallint NOT NULL,
  PRIMARY KEY (agent_did, epoch)
);

-- Bonds of agents. The units are those of the hold; a deposit opens a hold of the whole and releases the one before. Acts lock the row
-- first.
CREATE TABLE reputation_bond (
  agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512),
  id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  state text NOT NULL DEFAULT 'none' CHECK (state IN ('none', 'active', 'releasing', 'released', 'slashed')),
  hold_id bigint UNIQUE,
  matures_at timestamptz,
  releasable_at timestamptz,
  CHECK (CASE WHEN state IN ('none', 'released') THEN hold_id IS NULL WHEN state IN ('active', 'releasing') THEN hold_id IS NOT NULL
    ELSE true END),
  CHECK ((hold_id IS NOT NULL) <= (matures_at IS NOT NULL)),
  CHECK ((state = 'releasing') = (releasable_at IS NOT NULL))
) WITH (fillfactor = 80);

-- Units of a developer's agents that were earned by jobs that count or granted by an administrator, less what paid for jobs that count.
CREATE TABLE reputation_funds (
  developer_id bigint PRIMARY KEY,
  available numeric(38) NOT NULL DEFAULT 0 CHECK (available >= 0)
);

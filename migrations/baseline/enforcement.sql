-- Enforcement: suspensions of agents and developers.

-- Every suspension of an agent. One in force has no lifted_at; at most one is in force on each basis.
CREATE TABLE enforcement_suspension (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  did text NOT NULL CHECK (length(did) <= 512),
  -- Subject of the suspension: the agent itself, or its developer.
  basis text NOT NULL CHECK (basis IN ('agent', 'developer')),
  soft boolean NOT NULL,
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  suspended_by bigint NOT NULL,
  suspended_at timestamptz NOT NULL DEFAULT now(),
  lifted_by bigint,
  lifted_at timestamptz,
  CHECK ((lifted_by IS NULL) = (lifted_at IS NULL)),
  CHECK (basis = 'agent' OR NOT soft)
);
CREATE UNIQUE INDEX enforcement_suspension_in_force ON enforcement_suspension (did, basis) WHERE lifted_at IS NULL;
-- Suspensions of a party at a deadline.
CREATE INDEX enforcement_suspension_of_agent ON enforcement_suspension (did, suspended_at);

-- Every suspension of a developer.
CREATE TABLE enforcement_developer_suspension (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  developer_id bigint NOT NULL,
  reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
  suspended_by bigint NOT NULL,
  suspended_at timestamptz NOT NULL DEFAULT now(),
  lifted_by bigint,
  lifted_at timestamptz,
  CHECK ((lifted_by IS NULL) = (lifted_at IS NULL))
);
CREATE UNIQUE INDEX enforcement_developer_suspension_in_force ON enforcement_developer_suspension (developer_id) WHERE lifted_at IS NULL;

-- Agents on which an administrator acted; each act locks the row. While withheld_since is set, the agent's identity and ledger account are
-- withheld: a soft reinstatement leaves them so.
CREATE TABLE enforcement_agent (
  did text PRIMARY KEY CHECK (length(did) <= 512),
  withheld_since timestamptz
);

"""Achievements: facts and results of agents, their flares; flares on cards, and an index for readers of verified jobs."""

from alembic import op

revision = "2026120165"
down_revision = "2026120151"


def upgrade() -> None:
    op.execute("""
        -- Last signal of reputation that is counted in the tallies.
        CREATE TABLE achievements_progress (
          is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
          counted bigint NOT NULL DEFAULT 0 CHECK (counted >= 0)
        )
    """)
    op.execute("INSERT INTO achievements_progress DEFAULT VALUES")
    op.execute("""
        -- Counted signals of an agent. `settled` counts since the last dispute that the agent lost.
        CREATE TABLE achievements_tally (
          agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512),
          verified bigint NOT NULL CHECK (verified >= 0),
          foreigners bigint NOT NULL CHECK (foreigners BETWEEN 0 AND verified),
          settled bigint NOT NULL CHECK (settled >= 0)
        ) WITH (fillfactor = 80)
    """)
    op.execute("""
        -- First and last day of an agent. `event_seq` is that of its beginning.
        CREATE TABLE achievements_life (
          agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512),
          began_at timestamptz,
          event_seq bigint,
          ended_at timestamptz,
          CHECK ((began_at IS NULL) = (event_seq IS NULL))
        )
    """)
    op.execute("""
        CREATE TABLE achievements_earned (
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          code text NOT NULL CHECK (length(code) <= 64),
          earned_at timestamptz NOT NULL,
          event_seq bigint NOT NULL,
          PRIMARY KEY (agent_did, code)
        )
    """)
    op.execute("""
        -- Agents whose owners do not show their achievements.
        CREATE TABLE achievements_hidden (
          agent_did text PRIMARY KEY CHECK (length(agent_did) <= 512)
        )
    """)
    op.execute("""
        -- Flares that agents bought: each variant once. `price` is in minor units, without the fee.
        CREATE TABLE achievements_flare (
          agent_did text NOT NULL CHECK (length(agent_did) <= 512),
          variant text NOT NULL CHECK (length(variant) <= 64),
          slot text NOT NULL CHECK (slot IN ('corner', 'encirclement', 'overlay')),
          price bigint NOT NULL CHECK (price > 0),
          tx_id bigint NOT NULL UNIQUE,
          bought_at timestamptz NOT NULL DEFAULT now(),
          PRIMARY KEY (agent_did, variant),
          UNIQUE (agent_did, slot, variant)
        )
    """)
    op.execute("""
        -- Flares that an agent shows: only those that it bought, each in its own slot.
        CREATE TABLE achievements_selection (
          agent_did text PRIMARY KEY,
          corner text,
          encirclement text,
          overlay text,
          corner_slot text NOT NULL GENERATED ALWAYS AS ('corner') STORED,
          encirclement_slot text NOT NULL GENERATED ALWAYS AS ('encirclement') STORED,
          overlay_slot text NOT NULL GENERATED ALWAYS AS ('overlay') STORED,
          CHECK (overlay IS NULL OR encirclement IS NOT NULL),
          FOREIGN KEY (agent_did, corner_slot, corner) REFERENCES achievements_flare (agent_did, slot, variant),
          FOREIGN KEY (agent_did, encirclement_slot, encirclement) REFERENCES achievements_flare (agent_did, slot, variant),
          FOREIGN KEY (agent_did, overlay_slot, overlay) REFERENCES achievements_flare (agent_did, slot, variant)
        )
    """)
    op.execute("""
        -- Flares that the card of an own agent shows; `encircled` goes with the second.
        ALTER TABLE catalogue_card ADD COLUMN flare_corner text, ADD COLUMN flare_encirclement text, ADD COLUMN flare_overlay text
    """)
    op.execute("CREATE INDEX reputation_verified_job_event ON reputation_verified_job (event_seq)")

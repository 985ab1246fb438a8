"""Status: measurements of the components and their uptime by day, incidents; pinned agents of the showcase."""

from alembic import op

revision = "2026120163"
down_revision = "2026120166"


def upgrade() -> None:
    op.execute("""
        -- Last measurement of each component; `since` is the time since which the state lasts, `began_at` that of the first measurement.
        CREATE TABLE status_component (
          name text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 40),
          state text NOT NULL CHECK (state IN ('ok', 'degraded', 'failed', 'off')),
          since timestamptz NOT NULL,
          measured_at timestamptz NOT NULL,
          began_at timestamptz NOT NULL,
          CHECK (began_at <= since AND since <= measured_at)
        ) WITH (fillfactor = 50)
    """)
    op.execute("""
        -- Milliseconds of a day (UTC) that measurements enclose in which the component worked.
        CREATE TABLE status_day (
          name text NOT NULL REFERENCES status_component,
          day date NOT NULL,
          up_ms int NOT NULL CHECK (up_ms BETWEEN 0 AND 86400000),
          PRIMARY KEY (name, day)
        ) WITH (fillfactor = 50)
    """)
    op.execute("""
        CREATE TABLE status_incident (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          kind text NOT NULL CHECK (kind IN ('incident', 'maintenance')),
          title text NOT NULL CHECK (length(title) BETWEEN 1 AND 150),
          body text NOT NULL CHECK (length(body) BETWEEN 1 AND 4000),
          components text[] NOT NULL CHECK (cardinality(components) <= 9),
          state text NOT NULL DEFAULT 'investigating' CHECK (state IN ('investigating', 'identified', 'monitoring', 'resolved')),
          starts_at timestamptz NOT NULL,
          -- Planned end of a maintenance.
          ends_at timestamptz CHECK (ends_at > starts_at),
          created_at timestamptz NOT NULL DEFAULT now(),
          updated_at timestamptz NOT NULL DEFAULT now(),
          -- Updates of an open incident; one more resolves it.
          updates int NOT NULL DEFAULT 0 CHECK (updates BETWEEN 0 AND 101),
          CHECK (kind = 'maintenance' OR ends_at IS NULL)
        )
    """)
    op.execute("CREATE INDEX status_incident_open ON status_incident (id) WHERE state <> 'resolved'")
    op.execute("CREATE INDEX status_incident_updated ON status_incident (updated_at)")
    op.execute("""
        CREATE TABLE status_incident_update (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          incident_id uuid NOT NULL REFERENCES status_incident,
          number int NOT NULL CHECK (number >= 1),
          state text NOT NULL CHECK (state IN ('investigating', 'identified', 'monitoring', 'resolved')),
          body text NOT NULL CHECK (length(body) BETWEEN 1 AND 4000),
          created_at timestamptz NOT NULL DEFAULT now(),
          UNIQUE (incident_id, number)
        )
    """)
    op.execute("""
        -- Agents that administrators pin to the showcase, in this order.
        CREATE TABLE catalogue_showcase_pin (
          position int PRIMARY KEY CHECK (position BETWEEN 1 AND 20),
          did text NOT NULL UNIQUE CHECK (length(did) BETWEEN 10 AND 512),
          note text NOT NULL CHECK (length(note) <= 200)
        )
    """)

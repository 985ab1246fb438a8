"""Agents: when a genesis grant is due, and the site whose grants of an hour it counts among."""

from alembic import op

revision = "0251"
down_revision = "0250"

SQL = """
-- `due_at` and `paid_at` are null for grants of before, unless they were owed. `site` is deleted an hour after the grant was due.
ALTER TABLE agents_genesis_grant ADD COLUMN due_at timestamptz, ADD COLUMN paid_at timestamptz, ADD COLUMN site text CHECK (length(site) <= 64);
CREATE INDEX agents_genesis_grant_site ON agents_genesis_grant (site, due_at) WHERE site IS NOT NULL;
CREATE INDEX agents_genesis_grant_paid ON agents_genesis_grant (paid_at) WHERE paid_at IS NOT NULL;
-- Its only row is the lock under which grants become due and are paid.
CREATE TABLE agents_grant_places (is_lock boolean PRIMARY KEY CHECK (is_lock));
INSERT INTO agents_grant_places VALUES (true);
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)

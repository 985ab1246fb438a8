"""Commerce: at which rate a slash in another currency compensates."""

from alembic import op

revision = "0163"
down_revision = "0160"

# The limit of what was issued is the only constraint of the table that names `compensated` and another column.
SQL = """
ALTER TABLE commerce_settlement
  ADD COLUMN rate_own numeric NOT NULL DEFAULT 1 CHECK (rate_own > 0),
  ADD COLUMN rate_foreign numeric NOT NULL DEFAULT 1 CHECK (rate_foreign > 0);
ALTER TABLE commerce_settlement ALTER COLUMN rate_own DROP DEFAULT, ALTER COLUMN rate_foreign DROP DEFAULT;
DO $$
DECLARE
  named text;
BEGIN
  SELECT conname INTO STRICT named FROM pg_constraint
  WHERE conrelid = 'commerce_settlement'::regclass AND contype = 'c' AND position('compensated' IN pg_get_constraintdef(oid)) > 0;
  EXECUTE 'ALTER TABLE commerce_settlement DROP CONSTRAINT ' || quote_ident(named);
END $$;
-- Units of the defendant's registry, at the rate of the ruling, rounded down.
ALTER TABLE commerce_settlement ADD CHECK (compensated BETWEEN 0 AND
  least(compensation, div(slashed_amount * rate_own, rate_foreign)));
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SQL)

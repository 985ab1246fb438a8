-- Which payments between agents count toward their records.
-- after: agents/rights.sql
-- after: people/areas.sql

-- Whether a job that the payer pays to the payee counts: they are agents of this registry that are not related, and neither of
-- their owners has an area of the administration. One row; it becomes part of the query that reads it.
CREATE OR REPLACE FUNCTION commerce_counted(payer text, payee text) RETURNS TABLE (counts boolean)
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM agents_related(payer, payee) r WHERE NOT r.related
      AND NOT EXISTS (SELECT FROM people_administrator(r.developer_of_one))
      AND NOT EXISTS (SELECT FROM people_administrator(r.developer_of_other)))
$$;

-- Which payments between agents count toward their records.
-- after: agents/owners.sql
-- after: people/areas.sql

-- Whether a job that the payer pays to the payee counts: their owners are different developers of this registry, neither of
-- whom has an area of the administration. One row; it becomes part of the query that reads it.
CREATE OR REPLACE FUNCTION commerce_counted(payer text, payee text) RETURNS TABLE (counts boolean)
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM agents_known(payer) p JOIN agents_known(payee) q ON q.developer_id <> p.developer_id
    WHERE NOT EXISTS (SELECT FROM people_administrator(p.developer_id))
      AND NOT EXISTS (SELECT FROM people_administrator(q.developer_id)))
$$;

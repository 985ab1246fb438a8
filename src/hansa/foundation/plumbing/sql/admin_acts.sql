-- The log of administrators' acts is append-only; some authors are barred from it.

CREATE OR REPLACE FUNCTION plumbing_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' is append-only: ' || TG_OP || ' is refused',
    ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE OR REPLACE TRIGGER plumbing_admin_act_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON plumbing_admin_act
  FOR EACH STATEMENT EXECUTE FUNCTION plumbing_refuse_change();

-- Whether the acts of the developer as an administrator are refused.
CREATE OR REPLACE FUNCTION plumbing_is_barred_author(developer bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM plumbing_admin_author WHERE developer_id = developer AND barred_since IS NOT NULL)
$$;

-- Record an act, unless its author is barred; the author is not barred before the transaction ends. Whether it was recorded.
CREATE OR REPLACE FUNCTION plumbing_record_admin_act(author bigint, shown text, done text, concerned text, given text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO plumbing_admin_author (developer_id) VALUES (author) ON CONFLICT DO NOTHING;
  INSERT INTO plumbing_admin_act (developer_id, credential, act, subject, reason)
    SELECT developer_id, shown, done, concerned, given FROM plumbing_admin_author
    WHERE developer_id = author AND barred_since IS NULL FOR SHARE;
  RETURN FOUND;
END $$;

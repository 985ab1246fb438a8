-- The version of an agent: it rises with each change of what the check of its token reads.
-- after: plumbing/caller_versions.sql

CREATE OR REPLACE FUNCTION agents_next_version() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := OLD.version + 1;
  PERFORM plumbing_note_caller_version(NEW.did, NEW.version);
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER agents_agent_version
BEFORE UPDATE OF status, roles, secret_number, is_governed, developer_id, organization_id, client_id ON agents_agent FOR EACH ROW
WHEN ((OLD.status, OLD.roles, OLD.secret_number, OLD.is_governed, OLD.developer_id, OLD.organization_id,
  OLD.client_id)
  IS DISTINCT FROM (NEW.status, NEW.roles, NEW.secret_number, NEW.is_governed, NEW.developer_id,
  NEW.organization_id, NEW.client_id))
EXECUTE FUNCTION agents_next_version();

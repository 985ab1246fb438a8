-- Stamp of a database at revision 0258, the last of the former migrations: afterwards its schema is the baseline, name by name.

-- Reading whole tables to validate constraints may take longer than the server allows for a request.
SET LOCAL statement_timeout = 0;

-- Names that begin with a former name of their table.
ALTER SEQUENCE standing_suspension_id_seq RENAME TO enforcement_suspension_id_seq;
ALTER SEQUENCE standing_developer_suspension_id_seq RENAME TO enforcement_developer_suspension_id_seq;
DO $$
DECLARE
  named record;
BEGIN
  FOR named IN
    SELECT owner, conname AS former, owner || substr(conname, length(former_owner) + 1) AS present
    FROM (VALUES ('enforcement_agent', 'standing_agent'), ('enforcement_suspension', 'standing_suspension'),
        ('enforcement_developer_suspension', 'standing_developer_suspension'), ('federation_blocklist', 'standing_blocklist'),
        ('notifications_webhook', 'people_webhook'), ('notifications_webhook_delivery', 'people_webhook_delivery')
      ) AS renamed (owner, former_owner)
    JOIN pg_constraint ON conrelid = owner::regclass AND starts_with(conname, former_owner || '_')
  LOOP
    EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', named.owner, named.former, named.present);
  END LOOP;
END $$;

-- Names that begin with the name of their table and go on with that of a former column, or with a number that another order of
-- creation gave. PostgreSQL names NOT NULL from version 18 on. All names of a table are freed before they are given anew.
DO $$
DECLARE
  names text[] := ARRAY[
    ['enforcement_suspension', 'ground_check', 'basis_check'], ['enforcement_suspension', 'ground_not_null', 'basis_not_null'],
    ['notifications_webhook_delivery', 'tries_check', 'attempts_check'],
    ['notifications_webhook_delivery', 'tries_not_null', 'attempts_not_null'],
    ['journal_reactor_set_aside', 'trouble_not_null', 'error_not_null'],
    ['journal_event', 'seq_not_null1', 'seq_not_null'], ['journal_event', 'id_not_null1', 'id_not_null'],
    ['journal_event', 'event_type_not_null1', 'event_type_not_null'],
    ['journal_event', 'aggregate_id_not_null1', 'aggregate_id_not_null'],
    ['journal_event', 'aggregate_type_not_null1', 'aggregate_type_not_null'],
    ['journal_event', 'metadata_not_null1', 'metadata_not_null'], ['journal_event', 'recorded_at_not_null1', 'recorded_at_not_null'],
    ['journal_event', 'version_not_null1', 'version_not_null'],
    ['journal_event', 'source_service_not_null1', 'source_service_not_null'], ['journal_event', 'xid_not_null1', 'xid_not_null'],
    ['ledger_posting', 'bucket', 'bucket_check'], ['ledger_transaction', 'tx_type', 'tx_type_check'],
    ['ledger_crossing', 'direction', 'direction_check'], ['ledger_crossing', 'check3', 'check'],
    ['ledger_transaction', 'check1', 'check'], ['ledger_transaction', 'check2', 'check1'],
    ['catalogue_card', 'check', 'check2'], ['catalogue_card', 'check1', 'check3'], ['catalogue_card', 'check2', 'check'],
    ['catalogue_card', 'check3', 'check1'], ['commerce_settlement', 'check1', 'check2'], ['commerce_settlement', 'check3', 'check1'],
    ['commerce_dispute', 'check5', 'check8'], ['commerce_dispute', 'check6', 'check9'], ['commerce_dispute', 'check7', 'check10'],
    ['commerce_dispute', 'check8', 'check11'], ['commerce_dispute', 'check9', 'check12'], ['commerce_dispute', 'check10', 'check13'],
    ['commerce_dispute', 'check11', 'check14'], ['commerce_dispute', 'check12', 'check5'], ['commerce_dispute', 'check13', 'check6'],
    ['commerce_dispute', 'check14', 'check15'], ['commerce_dispute', 'check15', 'check16'], ['commerce_dispute', 'check16', 'check7']
  ];
  one text[];
  present text[];
BEGIN
  FOREACH one SLICE 1 IN ARRAY names LOOP
    IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = one[1]::regclass AND conname = one[1] || '_' || one[2]) THEN
      EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', one[1], one[1] || '_' || one[2], one[3] || ' of ' || one[1]);
      present := present || ARRAY[one];
    END IF;
  END LOOP;
  FOREACH one SLICE 1 IN ARRAY present LOOP
    EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', one[1], one[3] || ' of ' || one[1], one[1] || '_' || one[3]);
  END LOOP;
END $$;

-- Constraints that were added without a look at the rows that were there.
DO $$
DECLARE
  added record;
BEGIN
  FOR added IN
    SELECT conrelid::regclass AS owner, conname FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace AND contype = 'c' AND NOT convalidated AND coninhcount = 0
  LOOP
    EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', added.owner, added.conname);
  END LOOP;
END $$;

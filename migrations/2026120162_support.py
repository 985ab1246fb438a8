"""Support: tickets of developers, reports about agents."""

from alembic import op

revision = "2026120162"
down_revision = "2026120164"


def upgrade() -> None:
    op.execute("""
        -- Tickets of developers, and reports about agents, which have no author. `subject` and `body` are without secrets. The address of
        -- a report is erased when it closes.
        CREATE TABLE support_ticket (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
          author_id bigint CHECK (author_id > 0),
          category text NOT NULL CHECK (category IN ('account', 'payment', 'dispute', 'agent', 'federation', 'security', 'other', 'abuse')),
          subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 150),
          body text NOT NULL CHECK (octet_length(body) BETWEEN 1 AND 8192),
          agent_did text CHECK (length(agent_did) <= 512),
          related_type text CHECK (related_type IN ('contract', 'dispute', 'token', 'transaction', 'organization')),
          related_id text CHECK (length(related_id) BETWEEN 1 AND 64),
          reporter_email text CHECK (length(reporter_email) <= 254),
          status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'waiting_for_user', 'resolved', 'closed')),
          priority text NOT NULL DEFAULT 'normal' CHECK (priority IN ('low', 'normal', 'high')),
          assignee_id bigint CHECK (assignee_id > 0),
          created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          first_answered_at timestamptz,
          resolved_at timestamptz,
          closed_at timestamptz,
          CHECK ((category = 'abuse') = (author_id IS NULL)),
          CHECK ((related_type IS NULL) = (related_id IS NULL)),
          CHECK (author_id IS NULL OR reporter_email IS NULL),
          CHECK (author_id IS NOT NULL OR status <> 'waiting_for_user' AND first_answered_at IS NULL),
          CHECK (author_id IS NOT NULL OR agent_did IS NOT NULL),
          CHECK (status NOT IN ('open', 'waiting_for_user') OR resolved_at IS NULL AND closed_at IS NULL),
          CHECK (status <> 'resolved' OR resolved_at IS NOT NULL AND closed_at IS NULL),
          CHECK (status <> 'closed' OR closed_at IS NOT NULL AND reporter_email IS NULL)
        ) WITH (fillfactor = 80)
    """)
    op.execute(
        "CREATE INDEX support_ticket_of ON support_ticket (author_id, number DESC) WHERE author_id IS NOT NULL"
    )
    op.execute("""
        CREATE INDEX support_ticket_open_of ON support_ticket (author_id)
        WHERE status IN ('open', 'waiting_for_user') AND author_id IS NOT NULL
    """)
    op.execute("CREATE INDEX support_ticket_in ON support_ticket (status, number DESC)")
    op.execute(
        "CREATE INDEX support_ticket_for ON support_ticket (assignee_id, number DESC) WHERE assignee_id IS NOT NULL"
    )
    op.execute("CREATE INDEX support_ticket_due ON support_ticket (resolved_at) WHERE status = 'resolved'")
    op.execute("""
        -- Messages that the author reads: of the author (`author_id`), else of the support (`staff_id` is null once that account is erased).
        CREATE TABLE support_message (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          seq bigint GENERATED ALWAYS AS IDENTITY,
          ticket_id uuid NOT NULL REFERENCES support_ticket ON DELETE CASCADE,
          author_id bigint CHECK (author_id > 0),
          staff_id bigint CHECK (staff_id > 0),
          body text NOT NULL CHECK (octet_length(body) BETWEEN 1 AND 8192),
          created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
          CHECK (author_id IS NULL OR staff_id IS NULL)
        )
    """)
    op.execute("CREATE INDEX support_message_of ON support_message (ticket_id, seq)")
    op.execute(
        "CREATE INDEX support_message_by ON support_message (author_id, created_at) WHERE author_id IS NOT NULL"
    )
    op.execute("CREATE INDEX support_message_staff ON support_message (staff_id) WHERE staff_id IS NOT NULL")
    op.execute("""
        -- Notes of the support, which no author reads.
        CREATE TABLE support_note (
          id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
          seq bigint GENERATED ALWAYS AS IDENTITY,
          ticket_id uuid NOT NULL REFERENCES support_ticket ON DELETE CASCADE,
          staff_id bigint CHECK (staff_id > 0),
          body text NOT NULL CHECK (octet_length(body) BETWEEN 1 AND 8192),
          created_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
    """)
    op.execute("CREATE INDEX support_note_of ON support_note (ticket_id, seq)")
    op.execute("CREATE INDEX support_note_staff ON support_note (staff_id) WHERE staff_id IS NOT NULL")
    op.execute("""
        -- States of a ticket, the first one with its opening.
        CREATE TABLE support_move (
          seq bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
          ticket_id uuid NOT NULL REFERENCES support_ticket ON DELETE CASCADE,
          status text NOT NULL CHECK (status IN ('open', 'waiting_for_user', 'resolved', 'closed')),
          moved_by text NOT NULL CHECK (moved_by IN ('author', 'support', 'registry')),
          moved_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
    """)
    op.execute("CREATE INDEX support_move_of ON support_move (ticket_id, seq)")

"""All events of the journal: a row stands for one, or for those of a transfer."""

ALL_EVENTS = "(SELECT x.* FROM journal_event e CROSS JOIN LATERAL journal_expand(e) x)"
"""A relation without a name. Its alias is the caller's, and PostgreSQL 15 requires one."""

"""Approvals: the tiers of an organization, and the members whose approvals count."""

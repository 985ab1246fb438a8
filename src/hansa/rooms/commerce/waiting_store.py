"""SQL of the contracts and disputes that wait for an act of their party, for a page of the party's owner."""

from hansa.foundation.plumbing.storage.page_facts import PageFact

REVIEWS_WAITING = PageFact("""
SELECT count(*) FROM commerce_contract c
WHERE c.contractor_did = asked.did AND c.status = 'SUBMITTED' AND c.crossing IS NULL
""")
"""Contracts whose submitted work the agent has to review; none whose payment is under way."""

ANSWERS_WAITING = PageFact("""
SELECT count(*) FROM commerce_dispute d
WHERE d.defendant_did = asked.did AND d.status = 'OPEN' AND d.evidence_until > clock_timestamp()
  AND NOT EXISTS (SELECT FROM commerce_dispute_evidence e WHERE e.dispute_id = d.id AND e.by_did = asked.did)
""")
"""Disputes in which the agent is the defendant, has filed no evidence, and still may."""

"""The administration in a browser.

- Each page names the area that it needs in its signature; links that a person may not open are not shown.
- An act is a form that is carried out once (`act_once`), with the use case of the API; it needs the password of the last ten
  minutes, and is in the audit log.
"""

from . import (
    administrator_pages,
    admission_pages,
    agent_pages,
    attestation_pages,
    award_pages,
    card_pages,
    circuit_pages,
    developer_pages,
    dispute_pages,
    event_pages,
    governance_pages,
    incident_pages,
    invite_pages,
    job_pages,
    jurisdiction_pages,
    key_pages,
    licence_pages,
    listing_pages,
    organization_pages,
    overview_page,
    peer_invitation_pages,
    peer_pages,
    pool_pages,
    record_pages,
    slash_request_pages,
    support_pages,
    sync_pages,
    treasury_pages,
)

ROUTERS = (
    overview_page.router,
    developer_pages.router,
    administrator_pages.router,
    agent_pages.router,
    attestation_pages.router,
    dispute_pages.router,
    invite_pages.router,
    organization_pages.router,
    support_pages.router,
    treasury_pages.router,
    award_pages.router,
    governance_pages.router,
    incident_pages.router,
    listing_pages.router,
    circuit_pages.router,
    event_pages.router,
    job_pages.router,
    sync_pages.router,
    record_pages.router,
    licence_pages.router,
    jurisdiction_pages.router,
    admission_pages.router,
    card_pages.router,
    peer_pages.router,
    peer_invitation_pages.router,
    pool_pages.router,
    slash_request_pages.router,
    key_pages.router,
)

__all__ = ["ROUTERS"]

"""The administration in a browser.

- Each page names the area that it needs in its signature; what a person may not open is not shown.
- An act is a form that is carried out once (`act_once`), with the use case of the API; it needs the password of the last ten
  minutes, and is in the audit log.
"""

from . import agent_pages, developer_pages, dispute_pages, job_pages, overview_page, record_pages

ROUTERS = (
    overview_page.router,
    developer_pages.router,
    agent_pages.router,
    dispute_pages.router,
    job_pages.router,
    record_pages.router,
)

__all__ = ["ROUTERS"]

"""A real SMTP server for tests of mail."""

import email
from email.message import EmailMessage
from email.policy import default as mail_policy

from aiosmtpd.controller import Controller


class MailServer:
    """Accepts mail on a port of 127.0.0.1; `answer` is its reply to a message."""

    def __init__(self, port: int) -> None:
        self.url = f"smtp://127.0.0.1:{port}"
        self.taken = []
        self.answer = "250 OK"
        self.controller = Controller(self, hostname="127.0.0.1", port=port)

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        if self.answer.startswith("250"):
            self.taken.append(envelope)
        return self.answer

    def messages(self) -> list[EmailMessage]:
        """The mails accepted so far, oldest first."""
        return [email.message_from_bytes(one.content, policy=mail_policy) for one in self.taken]

    def messages_to(self, address: str) -> list[EmailMessage]:
        """Those to one address, oldest first."""
        return [mail for mail in self.messages() if mail["To"] == address]

"""Outgoing mail: by SMTP where SMTP_URL is set, else as `.eml` files in DIR/outbox. Plain text, and the same as HTML."""

import html
import re
from email.message import EmailMessage
from email.utils import format_datetime, localtime, make_msgid, parseaddr
from pathlib import Path
from time import time_ns
from typing import Protocol
from urllib.parse import unquote, urlsplit

import aiosmtplib

SMTP_TIMEOUT_SECONDS = 10

_LINK = re.compile(r"https?://[^\s<>]+")


class Mailbox(Protocol):
    """Somewhere mail can be put."""

    async def send(self, *, to: str, subject: str, text: str) -> None:
        """Hand the mail over; raises OSError or aiosmtplib.SMTPException when it is not taken."""


class OutboxMail:
    """Mail as files, for a registry without a mail server and for tests."""

    def __init__(self, directory: Path, sender: str) -> None:
        self._directory = directory
        self._sender = sender

    async def send(self, *, to: str, subject: str, text: str) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._directory / f"{time_ns()}.eml"
        path.write_bytes(bytes(_compose(self._sender, to, subject, text)))


class SmtpMail:
    """Mail by SMTP, with STARTTLS where the server offers it, or TLS from the start with smtps."""

    def __init__(self, url: str, sender: str) -> None:
        self._server = urlsplit(url)
        self._sender = sender

    async def send(self, *, to: str, subject: str, text: str) -> None:
        tls = self._server.scheme == "smtps"
        await aiosmtplib.send(
            _compose(self._sender, to, subject, text),
            hostname=self._server.hostname,
            port=self._server.port or (465 if tls else 25),
            username=unquote(self._server.username) if self._server.username else None,
            password=unquote(self._server.password) if self._server.password else None,
            use_tls=tls,
            timeout=SMTP_TIMEOUT_SECONDS,
        )


def mailbox(smtp_url: str | None, sender: str, data_dir: Path) -> Mailbox:
    """The mailbox that the settings ask for."""
    return SmtpMail(smtp_url, sender) if smtp_url else OutboxMail(data_dir / "outbox", sender)


def _compose(sender: str, to: str, subject: str, text: str) -> EmailMessage:
    composed = EmailMessage()
    composed["From"], composed["To"], composed["Subject"] = sender, to, subject
    composed["Date"] = format_datetime(localtime())
    composed["Message-ID"] = make_msgid(domain=parseaddr(sender)[1].rpartition("@")[2] or None)
    # RFC 3834: nobody's absence note is to answer this.
    composed["Auto-Submitted"] = "auto-generated"
    composed.set_content(text)
    composed.add_alternative(_as_html(text), subtype="html")
    return composed


def _as_html(text: str) -> str:
    """The same text in paragraphs, with links that can be followed."""
    paragraphs = [html.escape(paragraph.strip()) for paragraph in re.split(r"\n{2,}", text.strip())]
    linked = [_LINK.sub(r'<a href="\g<0>">\g<0></a>', paragraph) for paragraph in paragraphs]
    body = "\n".join("<p>" + paragraph.replace("\n", "<br>\n") + "</p>" for paragraph in linked)
    return f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"></head><body>\n{body}\n</body></html>\n'

"""What waited when an older version stopped is done by the jobs of this one."""

import json
from datetime import timedelta
from pathlib import Path

from hansa.foundation.plumbing.database import Database
from hansa.foundation.plumbing.keys import Keyring
from hansa.foundation.plumbing.mail_queue import PURPOSE
from hansa.foundation.plumbing.migrate import migrate
from hansa.foundation.plumbing.seal import Seal
from tests.operation.own_database import own_database
from tests.registry import open_registry, text_of

BEFORE_JOBS = "0031"


async def test_mail_and_forgotten_passwords_that_waited_are_answered_after_the_upgrade(
    postgres: str, tmp_path: Path
):
    directory = tmp_path / "upgraded"
    directory.mkdir()
    content = json.dumps({"subject": "Before", "text": "Written by an older version."})
    async with own_database(postgres) as dsn:
        await migrate(dsn, BEFORE_JOBS)
        database = Database(dsn, pool_size=1)
        await database.open()
        await database.act(
            lambda tx: tx.execute(
                "INSERT INTO plumbing_letter (recipient, sealed_content, good_until) VALUES ($1, $2, now() + $3::interval)",
                "ada@example.org",
                Seal(Keyring(directory)).close(content.encode(), PURPOSE),
                timedelta(days=1),
            )
        )
        await database.act(
            lambda tx: tx.execute(
                "INSERT INTO people_forgotten_password (email) VALUES ('nobody@example.org')"
            )
        )
        await database.close()
        async with open_registry(dsn, directory) as registry:
            (mail,) = await registry.outbox()
            left = await registry.database.look(
                lambda tx: tx.fetchval(
                    "SELECT (SELECT count(*) FROM plumbing_letter) + (SELECT count(*) FROM people_forgotten_password)"
                    " + (SELECT count(*) FROM plumbing_job WHERE kind <> 'auditor: audit cycle')"
                )
            )
    assert (mail["To"], text_of(mail).strip()) == ("ada@example.org", "Written by an older version.")
    assert left == 0

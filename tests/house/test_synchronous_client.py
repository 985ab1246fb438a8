"""The synchronous client has one source, which is the asynchronous one."""

from pathlib import Path

from tests.house import synchronous


def test_the_synchronous_client_is_the_asynchronous_one_without_async():
    assert synchronous.stale(synchronous.CLIENT) == [], "stale: run `python -m tests.house.synchronous`"


def test_a_change_by_hand_and_a_file_without_a_source_are_seen(tmp_path: Path):
    client = tmp_path / "hansa_client"
    source = client / "asynchronous" / "transfers.py"
    source.parent.mkdir(parents=True)
    source.write_text(
        "class AsyncTransfers:\n    async def send(self):\n        return await self.http.aclose()\n"
    )
    synchronous.write(client)
    made = client / "synchronous" / "transfers.py"
    assert made.read_text().splitlines()[1:] == [
        "class Transfers:",
        "    def send(self):",
        "        return self.http.close()",
    ]
    assert synchronous.stale(client) == []
    made.write_text(made.read_text() + "changed = True\n")
    (made.parent / "forgotten.py").write_text("")
    assert synchronous.stale(client) == ["synchronous/forgotten.py", "synchronous/transfers.py"]

"""`hansa licence` and `hansa verify licence`: a genesis, a frame and an operator, from the command line alone."""

import json
from pathlib import Path
from typing import Any

from tests.operation.registry_process import run
from tests.registry import DatabaseFarm, TestRegistry, open_registry

GENESIS, SECOND, FRAME = "genesis.example", "second.example", "frame.example"


def mainframe(trust_domain: str) -> dict[str, str]:
    return {
        "TRUST_DOMAIN": trust_domain,
        "IS_CENTRAL_REGISTRY": "true",
        "SOVEREIGN_MAINFRAMES": trust_domain,
    }


async def list_file(registry: TestRegistry, place: Path) -> str:
    answer = await registry.http.get("/.well-known/federation-licences.json")
    assert answer.status_code == 200, answer.text
    return write(place, answer.text)


def write(place: Path, text: str) -> str:
    place.write_text(text)
    return str(place)


async def test_a_network_is_founded_extended_and_verified_by_commands(
    database_farm: DatabaseFarm, tmp_path: Path
):
    homes = {name: (await database_farm.fresh(), tmp_path / name) for name in (GENESIS, FRAME)}

    async def licence(where: str, *arguments: str, **more: str) -> tuple[int, Any]:
        dsn, data_dir = homes[where]
        environment = mainframe(where) | more | {"DATABASE_URL": dsn}
        ended = await run("licence", *arguments, "--json", data_dir=data_dir, **environment)
        return ended.code, json.loads(ended.output) if ended.code == 0 else ended.complaint

    settings = {"is_central_registry": True, "sovereign_mainframes": [GENESIS, FRAME]}
    async with (
        open_registry(*homes[GENESIS], trust_domain=GENESIS, **settings) as genesis,
        open_registry(*homes[FRAME], trust_domain=FRAME, **settings) as frame,
    ):
        code, root = await licence(GENESIS, "genesis")
        assert code == 0, root
        code, refused = await licence(GENESIS, "genesis")
        assert (code, "issued once" in refused) == (1, True)
        (tmp_path / "key.json").write_text(json.dumps((await licence(FRAME, "key"))[1]))
        code, network = await licence(
            GENESIS, "issue", FRAME, "Frame", "--plan=founding", f"--key={tmp_path / 'key.json'}", "--days=90"
        )
        assert code == 0, network
        delivered = tmp_path / "licence.json"
        delivered.write_text(
            json.dumps({"certificate": network["certificate"], "chain": [root["certificate"]]})
        )
        pinned = {"FEDERATION_ROOT_HASH": root["hash"]}
        code, installed = await licence(FRAME, "install", str(delivered), **pinned)
        assert (code, installed) == (0, {"hash": network["hash"], "state": "active"})
        code, operator = await licence(FRAME, "issue", FRAME, "north", "--plan=operator-free")
        assert code == 0, operator
        chained = tmp_path / "operator.json"
        chain = [network["certificate"], root["certificate"]]
        chained.write_text(json.dumps({"certificate": operator["certificate"], "chain": chain}))

        async def verified(*options: str) -> tuple[int, str]:
            lists = [
                f"--list={await list_file(genesis, tmp_path / 'genesis-list.json')}",
                f"--list={await list_file(frame, tmp_path / 'frame-list.json')}",
            ]
            ended = await run(
                "verify", "licence", str(chained), *lists, *options, "--json", data_dir=tmp_path / "none"
            )
            return ended.code, json.loads(ended.output)["code"]

        assert await verified(f"--root={root['hash']}") == (0, "verified")
        assert await verified(f"--root={'0' * 64}") == (1, "untrusted_root")
        assert await verified() == (1, "unverified")
        code, changed = await licence(GENESIS, "suspend", network["lid"], "--reason=unpaid")
        assert (code, changed["state"], changed["changed"]) == (0, "suspended", [network["lid"]])
        assert await verified(f"--root={root['hash']}") == (1, "suspended")
        assert (await licence(GENESIS, "reinstate", network["lid"], "--reason=paid"))[0] == 0
        assert await verified(f"--root={root['hash']}") == (0, "verified")
        assert (await licence(FRAME, "revoke", operator["lid"], "--reason=stolen"))[0] == 0
        assert await verified(f"--root={root['hash']}") == (1, "revoked")
        code, listed = await licence(FRAME, "list", "--state=revoked")
        assert (code, [one["lid"] for one in listed["licences"]]) == (0, [operator["lid"]])


async def test_after_the_loss_of_a_genesis_another_one_founds_a_new_network_that_licenses_every_frame_anew(
    database_farm: DatabaseFarm, tmp_path: Path
):
    homes = {name: (await database_farm.fresh(), tmp_path / name) for name in (GENESIS, SECOND, FRAME)}
    settings = {"is_central_registry": True, "sovereign_mainframes": list(homes)}

    async def licence(where: str, *arguments: str, **more: str) -> Any:
        dsn, data_dir = homes[where]
        environment = mainframe(where) | more | {"DATABASE_URL": dsn}
        ended = await run("licence", *arguments, "--json", data_dir=data_dir, **environment)
        assert ended.code == 0, ended
        return json.loads(ended.output)

    async def licensed(by: str, root: Any, list_of_issuer: str) -> tuple[Path, str]:
        """The document that the frame installs with the new root pinned, and the list of its issuer."""
        issued = await licence(
            by, "issue", FRAME, "Frame", "--plan=founding", f"--key={tmp_path / 'key.json'}"
        )
        document = tmp_path / f"licensed-by-{by}.json"
        chained = {"certificate": issued["certificate"], "chain": [root["certificate"]]}
        write(document, json.dumps(chained))
        installed = await licence(FRAME, "install", str(document), FEDERATION_ROOT_HASH=root["hash"])
        assert installed == {"hash": issued["hash"], "state": "active"}
        return document, list_of_issuer

    async def verified(document: Path, list_of_issuer: str, root: Any) -> str:
        arguments = (str(document), f"--list={list_of_issuer}", f"--root={root['hash']}", "--json")
        ended = await run("verify", "licence", *arguments, data_dir=tmp_path / "none")
        code: str = json.loads(ended.output)["code"]
        return code

    async with (
        open_registry(*homes[GENESIS], trust_domain=GENESIS, **settings) as genesis,
        open_registry(*homes[FRAME], trust_domain=FRAME, **settings) as frame,
    ):
        write(tmp_path / "key.json", json.dumps(await licence(FRAME, "key")))
        first = await licence(GENESIS, "genesis")
        former, former_list = await licensed(GENESIS, first, str(tmp_path / "first-list.json"))
        await list_file(genesis, Path(former_list))
        operator = await licence(FRAME, "issue", FRAME, "north", "--plan=operator-free")
        assert await verified(former, former_list, first) == "verified"

        # The keys of the genesis are gone, and with them its network.
        async with open_registry(*homes[SECOND], trust_domain=SECOND, **settings) as second:
            root = await licence(SECOND, "genesis")
            assert root["hash"] != first["hash"]
            assert await verified(former, former_list, root) == "untrusted_root"
            present, present_list = await licensed(SECOND, root, str(tmp_path / "second-list.json"))
            await list_file(second, Path(present_list))
        assert await verified(present, present_list, root) == "verified"
        assert await verified(present, present_list, first) == "untrusted_root"
        served = (await frame.http.get("/.well-known/federation-licence.json")).json()
        assert served["chain"] == [root["certificate"]]
        (listed,) = (await licence(FRAME, "list", "--state=active"))["licences"]
        assert (listed["sub_name"], listed["hash"] == operator["hash"]) == ("north", False)
        north = await frame.http.get(f"/api/v1/public/federation/licences/{listed['hash']}")
        chain = [json.loads(present.read_text())["certificate"], root["certificate"]]
        chained = write(
            tmp_path / "north.json",
            json.dumps({"certificate": north.json()["certificate"], "chain": chain}),
        )
        frame_list = await list_file(frame, tmp_path / "frame-list.json")
        lists = (f"--list={present_list}", f"--list={frame_list}", f"--root={root['hash']}")
        ended = await run("verify", "licence", chained, *lists, "--json", data_dir=tmp_path / "none")
        assert json.loads(ended.output)["code"] == "verified", ended


async def test_a_licence_that_cannot_be_read_or_issued_ends_in_one_line(
    database_farm: DatabaseFarm, tmp_path: Path
):
    missing = await run("verify", "licence", str(tmp_path / "none.json"), data_dir=tmp_path)
    assert (missing.code, missing.complaint.count("\n")) == (2, 1)
    (tmp_path / "odd.json").write_text("[]")
    odd = await run("verify", "licence", str(tmp_path / "odd.json"), data_dir=tmp_path)
    assert (odd.code, odd.complaint.count("\n")) == (2, 1)
    dsn, data_dir = await database_farm.fresh(), tmp_path / "data"
    async with open_registry(dsn, data_dir):
        for arguments in (
            ("genesis",),
            ("issue", "hansa.local", "north", "--plan=operator-free"),
            ("issue", "hansa.local", "north", "--plan=Operator"),
            ("install", str(tmp_path / "odd.json")),
            ("suspend", "unknown", "--reason=none"),
        ):
            ended = await run("licence", *arguments, data_dir=data_dir, DATABASE_URL=dsn)
            assert ended.code in {1, 2}, arguments
            assert ended.complaint.startswith("hansa: "), ended.complaint
            assert ended.complaint.count("\n") == 1, ended.complaint

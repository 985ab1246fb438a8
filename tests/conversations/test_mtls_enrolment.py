"""Enrolment for mutual TLS: an agent takes a workload identity, gives it up, loses it with a suspension."""

from datetime import datetime, timedelta

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from hansa.rooms import agents
from tests.registry import at_once

ENABLE = "/agent/enable-mtls"


def code(answer):
    return answer.status_code, answer.json()["error"]["code"]


async def sql(registry, statement, *arguments):
    return await registry.database.transaction(lambda tx: tx.fetch(statement, *arguments))


async def act(agent, use_case, **named):
    return await agent.registry.database.transaction(lambda tx: use_case(tx, agent.did, **named))


async def enable(agent):
    return await agent.registry.post(ENABLE, json={}, headers=agent.headers)


async def disable(agent):
    return await agent.registry.post("/agent/disable-mtls", json={}, headers=agent.headers)


async def status(agent):
    answer = await agent.registry.get("/agent/mtls-status", headers=agent.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def revoked(registry):
    answer = await registry.get("/agent/revoked-identities")
    assert answer.status_code == 200
    return answer.json()["revoked"]


def spiffe_id_of(agent):
    return "spiffe://hansa.local/agent/" + agent.did.replace(":", "-")


async def events_of(agent, *event_types):
    events = (await agent.registry.get("/public/eventstore-recent")).json()["events"]
    return [
        event["event_type"]
        for event in events
        if event["event_type"] in event_types and event["data"].get("spiffe_id") == spiffe_id_of(agent)
    ]


async def test_an_agent_takes_a_certificate_that_verifies_and_names_it(registry):
    agent = await registry.agent()
    answer = await enable(agent)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert set(body) == {"delivery", "status", "spiffe_id", "svid"}
    assert (body["delivery"], body["status"]) == ("inline", "enrolled")
    svid = body["svid"]
    assert set(svid) == {"svid_pem", "key_pem", "bundle_pem", "ttl_seconds", "expires_at", "spiffe_id"}
    assert body["spiffe_id"] == svid["spiffe_id"] == spiffe_id_of(agent)
    assert svid["ttl_seconds"] == 1800
    leaf = x509.load_pem_x509_certificate(svid["svid_pem"].encode())
    store = Store(x509.load_pem_x509_certificates(svid["bundle_pem"].encode()))
    found = PolicyBuilder().store(store).build_client_verifier().verify(leaf, [])
    assert found.subjects == [x509.UniformResourceIdentifier(spiffe_id_of(agent))]
    assert leaf.not_valid_after_utc == datetime.fromisoformat(svid["expires_at"])
    (row,) = await sql(registry, "SELECT now() AS now")
    assert timedelta(minutes=29) < leaf.not_valid_after_utc - row["now"] <= timedelta(minutes=30)


async def test_the_status_shows_the_state_of_an_identity(registry):
    agent = await registry.agent()
    before = await status(agent)
    assert (before["status"], before["enabled"], before["spiffe_id"]) == ("not_enrolled", False, None)
    assert (before["issuer"], before["trust_domain"]) == ("embedded", "hansa.local")
    svid = (await enable(agent)).json()["svid"]
    enrolled = await status(agent)
    assert (enrolled["status"], enrolled["enabled"]) == ("enrolled", True)
    assert enrolled["spiffe_id"] == spiffe_id_of(agent)
    assert enrolled["certificate_expires_at"] == svid["expires_at"]
    await disable(agent)
    given_up = await status(agent)
    assert (given_up["status"], given_up["enabled"]) == ("disabled", False)
    assert given_up["revoked_at"] is not None


async def test_a_renewal_gives_another_certificate_and_is_no_second_enrolment(registry):
    agent = await registry.agent()
    first, second = [(await enable(agent)).json()["svid"] for _ in range(2)]
    assert first["svid_pem"] != second["svid_pem"]
    assert first["key_pem"] != second["key_pem"]
    assert first["bundle_pem"] == second["bundle_pem"]
    assert await events_of(agent, "AgentMtlsEnrolled") == ["AgentMtlsEnrolled"]


async def test_enrolments_at_once_all_get_a_certificate_and_are_one_enrolment(registry):
    agent = await registry.agent()
    answers = await at_once(*(enable(agent) for _ in range(6)))
    assert [answer.status_code for answer in answers] == [200] * 6
    assert len({answer.json()["svid"]["svid_pem"] for answer in answers}) == 6
    assert await events_of(agent, "AgentMtlsEnrolled") == ["AgentMtlsEnrolled"]


async def test_an_identity_given_up_is_to_be_refused_until_its_last_certificate_ends(registry):
    agent = await registry.agent()
    await enable(agent)
    assert (await disable(agent)).json() == {"status": "disabled"}
    assert (await disable(agent)).json() == {"status": "not_enrolled"}
    (published,) = await revoked(registry)
    assert published["spiffe_id"] == spiffe_id_of(agent)
    assert datetime.fromisoformat(published["revoked_at"])
    await sql(
        registry,
        "UPDATE agents_mtls SET issued_at = now() - interval '31 minutes', expires_at = now() - interval '1 minute'",
    )
    assert await revoked(registry) == []


async def test_an_identity_that_was_given_up_can_be_taken_again(registry):
    agent = await registry.agent()
    await enable(agent)
    await disable(agent)
    assert (await enable(agent)).status_code == 200
    assert await revoked(registry) == []
    published = await events_of(agent, "AgentMtlsEnrolled", "AgentMtlsRevoked")
    assert sorted(published) == ["AgentMtlsEnrolled", "AgentMtlsEnrolled", "AgentMtlsRevoked"]


async def test_who_was_never_enrolled_has_nothing_to_give_up(registry):
    agent = await registry.agent()
    assert (await disable(agent)).json() == {"status": "not_enrolled"}
    assert await revoked(registry) == []


async def test_a_suspension_that_takes_the_identity_puts_it_on_the_list_until_it_is_given_back(registry):
    agent = await registry.agent()
    await enable(agent)
    await act(agent, agents.suspend)
    assert await act(agent, agents.revoke_mtls) == "revoked"
    assert [one["spiffe_id"] for one in await revoked(registry)] == [spiffe_id_of(agent)]
    assert code(await enable(agent)) == (403, "AGENT_SUSPENDED")
    await act(agent, agents.reinstate)
    assert code(await enable(agent)) == (403, "IDENTITY_REVOKED")
    assert (await status(agent))["status"] == "revoked"
    assert await act(agent, agents.restore_mtls) == "enrolled"
    assert await revoked(registry) == []
    assert (await enable(agent)).status_code == 200


async def test_an_identity_revoked_by_an_administrator_stays_on_the_list_after_its_certificates_end(registry):
    agent = await registry.agent()
    await enable(agent)
    await act(agent, agents.revoke, by="administrator")
    await sql(
        registry,
        "UPDATE agents_mtls SET issued_at = now() - interval '2 days', expires_at = now() - interval '1 day'",
    )
    assert [one["spiffe_id"] for one in await revoked(registry)] == [spiffe_id_of(agent)]


async def test_a_suspension_and_an_enrolment_at_once_never_leave_a_trusted_certificate(registry):
    async def stop(agent):
        async def suspended(tx):
            await agents.suspend(tx, agent.did)
            return await agents.revoke_mtls(tx, agent.did)

        return await registry.database.transaction(suspended)

    developer = await registry.developer()
    for number in range(6):
        agent = await developer.agent(name=f"Racer {number}")
        enrolled, stopped = await at_once(enable(agent), stop(agent))
        listed = {one["spiffe_id"] for one in await revoked(registry)}
        assert (enrolled.status_code, stopped) in {(200, "revoked"), (403, "not_enrolled")}
        assert (enrolled.status_code == 200) == (spiffe_id_of(agent) in listed)


async def test_the_permission_comes_with_the_roles_client_and_service_provider(registry):
    developer = await registry.developer()
    agent = await developer.agent()
    await sql(registry, "UPDATE agents_agent SET roles = '{trader,staker,governor}'")
    assert code(await enable(agent)) == (403, "PERMISSION_MISSING")
    await registry.post(
        f"/agents/{agent.did}/authz/roles", json={"role": "service-provider"}, headers=developer.headers
    )
    assert (await enable(agent)).status_code == 200


async def test_a_registry_without_an_issuer_says_so(start_registry):
    registry = await start_registry(agent_identity_issuer="none")
    agent = await registry.agent()
    answer = await enable(agent)
    assert code(answer) == (503, "IDENTITY_ISSUER_MISSING")
    assert answer.json()["detail"]
    assert (await status(agent))["issuer"] == "none"
    assert not (registry.settings.data_dir / "keys" / "identity-authority.pem").exists()


async def test_the_61st_certificate_of_an_agent_in_an_hour_is_too_many(registry):
    agent = await registry.agent()
    statuses = [(await enable(agent)).status_code for _ in range(61)]
    assert statuses == [200] * 60 + [429]


async def test_no_key_of_a_certificate_is_kept(registry):
    agent = await registry.agent()
    key = (await enable(agent)).json()["svid"]["key_pem"].splitlines()[1]
    tables = await sql(
        registry, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    )
    for table in tables:
        for row in await sql(registry, f'SELECT to_jsonb(t)::text AS whole FROM "{table["table_name"]}" t'):
            assert key not in row["whole"], table["table_name"]


async def test_a_developer_has_no_workload_identity(registry):
    developer = await registry.developer()
    for path in (ENABLE, "/agent/disable-mtls"):
        assert (await registry.post(path, json={}, headers=developer.headers)).status_code == 401

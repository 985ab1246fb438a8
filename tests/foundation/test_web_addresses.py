"""The rules for addresses of users: where the public part of the internet ends, and which ports are of the web."""

from ipaddress import ip_address

import pytest

from hansa.foundation.values.errors import HostRefused
from hansa.foundation.values.web_address import (
    is_odd_port,
    is_public_host,
    is_public_ip,
    read_web_address,
    require_callable,
    why_closed,
)

JUST_OUTSIDE = [
    "1.0.0.0",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::",
    "2001:200::1",
    "2001:db7:ffff::",
    "2001:db9::",
    "2003::",
    "2606:4700::1111",
    "3ffe:ffff::",
    "3fff:1000::",
]
JUST_INSIDE = [
    "0.255.255.255",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.0",
    "127.255.255.255",
    "169.254.0.0",
    "169.254.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.88.99.0",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.0",
    "203.0.113.255",
    "224.0.0.0",
    "255.255.255.255",
    "1fff:ffff::",
    "2001::",
    "2001:1ff:ffff::",
    "2001:db8::",
    "2001:db8:ffff::",
    "2002::",
    "2002:ffff::",
    "3fff::",
    "3fff:fff:ffff::",
    "4000::",
    "::ffff:8.8.8.8",
]


@pytest.mark.parametrize("address", JUST_OUTSIDE)
def test_what_borders_on_a_closed_block_is_public(address: str):
    assert is_public_ip(ip_address(address))
    assert is_public_host(address)


@pytest.mark.parametrize("address", JUST_INSIDE)
def test_the_ends_of_a_closed_block_are_closed(address: str):
    assert not is_public_ip(ip_address(address))
    assert not is_public_host(address)


def test_ports_of_the_system_and_of_other_protocols_are_odd():
    assert [port for port in (80, 443, 1024, 3000, 8000, 8080, 8443, 9000, 65535) if is_odd_port(port)] == []
    assert [
        port for port in (1, 22, 25, 79, 81, 442, 444, 1023, 3306, 5432, 6379, 11211) if not is_odd_port(port)
    ] == []


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port"),
    [
        ("https://Cards.Example.com", "https", "cards.example.com", 443),
        ("http://cards.example.com./x?y", "http", "cards.example.com", 80),
        ("https://[2606:4700::1111]:8443/", "https", "2606:4700::1111", 8443),
    ],
)
def test_an_address_is_read(text: str, scheme: str, host: str, port: int):
    address = read_web_address(text)
    assert address is not None
    assert (address.url, address.scheme, address.host, address.port) == (text, scheme, host, port)


def test_the_reasons_come_in_one_order_and_the_operators_list_is_above_them():
    for text, allowed, reason in (
        ("http://intranet:22/", (), "internal_host"),
        ("http://cards.example.com:22/", (), "odd_port"),
        ("http://cards.example.com/", (), "plain_http"),
        ("https://cards.example.com/", (), None),
        ("http://intranet:22/", ("intranet:22",), None),
        ("http://INTRANET.:22/", ("intranet:22",), None),
        ("http://intranet:22/", ("intranet:23",), "internal_host"),
    ):
        address = read_web_address(text)
        assert address is not None
        assert why_closed(address, allowed) == reason


def test_a_refusal_names_the_member_and_not_the_address():
    with pytest.raises(HostRefused) as refused:
        require_callable("https://user:secret@cards.example.com/", (), field="url")
    assert refused.value.field == "url"
    assert "secret" not in refused.value.detail

"""Hosts that the registry must never call: this machine and its neighbours, in every spelling that some program reads."""

from itertools import product

IN_DIGITS_OF_OTHER_KINDS = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
IN_FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９．")

PRIVATE_IPV4 = [
    "127.0.0.1",
    "127.1.2.3",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.254",
    "169.254.169.254",
    "169.254.0.1",
    "172.16.0.1",
    "172.31.255.254",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.254",
    "198.18.0.1",
    "198.19.255.254",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
]
PRIVATE_IPV6 = [
    "::1",
    "::",
    "0:0:0:0:0:0:0:1",
    "::2",
    "fe80::1",
    "fe80::1%eth0",
    "fe80::1%25eth0",
    "fec0::1",
    "fc00::1",
    "fd00::1",
    "fd12:3456:789a::1",
    "ff02::1",
    "ff05::2",
    "2001:db8::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:20::1",
    "3fff::1",
    "100::1",
    "64:ff9b:1::7f00:1",
]
PRIVATE_NAMES = [
    "localhost",
    "LOCALHOST",
    "LocalHost",
    "localhost.",
    "localhost.localdomain.local",
    "ip6-localhost",
    "intranet",
    "router",
    "printer.local",
    "A.LOCAL.",
    "a.test",
    "a.invalid",
    "a.example",
    "a.localhost",
    "metadata.google.internal",
    "db.internal.",
    "hidden.onion",
    "nas.home.arpa",
]
NOT_EVEN_NAMES = [
    "1.2.3.4.5",
    "256.256.256.256",
    "0x.1",
    "1.2.3",
    "8.8.8",
    "a..example.org",
    "-a.example.org",
    "a-.example.org",
    "a b.example.org",
    "a%00.example.org",
    "a%2e.example.org",
    "*.example.org",
    "${host}.example.org",
    "ex\u00adample.org",
    "example。org",
    "\u212aelvin.example.org",
    "a" * 64 + ".example.org",
    ".".join(["a"] * 130) + ".example.org",
    "[::1",
    "::1]",
    "[::1]x",
    "[127.0.0.1]",
    "[v1.a]",
    "[]",
]


def hosts() -> list[str]:
    """All of them as they stand in an address, IPv6 in brackets."""
    spelled = [spelling for address in PRIVATE_IPV4 for spelling in spellings(address)]
    embedded = [form for address in PRIVATE_IPV4[:12] for form in inside_ipv6(address)]
    bracketed = [f"[{address}]" for address in PRIVATE_IPV6 + embedded]
    return list(dict.fromkeys(spelled + bracketed + PRIVATE_NAMES + NOT_EVEN_NAMES))


def spellings(ipv4: str) -> list[str]:
    """Return the spellings that some resolver reads as this address."""
    first, second, third, fourth = (int(part) for part in ipv4.split("."))
    whole = (first << 24) + (second << 16) + (third << 8) + fourth
    return [
        ipv4,
        f"{ipv4}.",
        str(whole),
        hex(whole),
        f"{whole:#o}".replace("0o", "0"),
        f"{first}.{(second << 16) + (third << 8) + fourth}",
        f"{first:#x}.{second:#x}.{third:#x}.{fourth:#x}",
        f"{first:04o}.{second}.{third}.{fourth}",
        ipv4.translate(IN_DIGITS_OF_OTHER_KINDS),
        ipv4.translate(IN_FULL_WIDTH),
        ipv4.replace(".", "。"),
    ]


def inside_ipv6(ipv4: str) -> list[str]:
    """The IPv6 addresses that carry this address: mapped, compatible, NAT64, 6to4."""
    first, second, third, fourth = (int(part) for part in ipv4.split("."))
    high, low = f"{(first << 8) + second:x}", f"{(third << 8) + fourth:x}"
    return [
        f"::ffff:{ipv4}",
        f"::ffff:{high}:{low}",
        f"::{high}:{low}",
        f"64:ff9b::{high}:{low}",
        f"2002:{high}:{low}::",
    ]


def urls(port: int, schemes: tuple[str, ...] = ("https",)) -> list[str]:
    """An address for each host on this port, and addresses that lie about their host."""
    plain = [f"{scheme}://{host}:{port}/x" for scheme, host in product(schemes, hosts())]
    return [
        *plain,
        f"https://user@127.0.0.1:{port}/",
        f"https://public.example.org@127.0.0.1:{port}/",
        f"https://public.example.org:443@127.0.0.1:{port}/",
        f"https://public.example.org\\@127.0.0.1:{port}/",
        f"https://127.0.0.1:{port}\\@public.example.org/",
        f"https://127.0.0.1:{port}#@public.example.org/",
        f"https://public.example.org#@127.0.0.1:{port}/",
        f"https:\\\\127.0.0.1:{port}/",
        f"https:///127.0.0.1:{port}/",
        f"https:127.0.0.1:{port}/",
        f"//127.0.0.1:{port}/",
        f"https://127.0.0.1\t:{port}/",
        f"https://127.0.0.1\n:{port}/",
        f" https://127.0.0.1:{port}/",
        f"file://127.0.0.1:{port}/etc/passwd",
        f"gopher://127.0.0.1:{port}/_x",
        f"ftp://127.0.0.1:{port}/",
        f"ws://127.0.0.1:{port}/",
        f"dict://127.0.0.1:{port}/",
        f"unix://127.0.0.1:{port}/",
        f"jar:https://127.0.0.1:{port}/!/",
        "https://public.example.org:22/",
        "https://public.example.org:25/",
        "https://public.example.org:6379/",
        "https://public.example.org:0/",
        "https://public.example.org:65536/",
        "https://public.example.org:-1/",
        "https://public.example.org:４４３/",
    ]

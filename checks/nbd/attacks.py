#!/usr/bin/env python3
"""A day of a hostile client of a served volume's page and metrics, and of its control socket.

    checks/nbd/attacks.py SEED ROUNDS CONTROL PORT...     CONTROL is the control socket, the ports are of this machine

Every kind of request is sent ROUNDS times, in an order drawn from SEED, while clients that do nothing hold more
connections than a server keeps. After each round somebody who asks as one should must be answered. That is waited for,
and not for how long it takes.
"""

import contextlib
import random
import socket
import sys

SEED, ROUNDS, CONTROL, PORTS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], [int(port) for port in sys.argv[4:]]
# More than the server keeps of one address.
SILENT = 80
HOST = b"Host: 127.0.0.1\r\n"
LONG = b"99999999999999"
ANSWER_SECONDS = 120
TRIES = 20

dice = random.Random(SEED)


def connected(port):
    client = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


def answer(client):
    """All that a server says until it ends the connection."""
    said = b""
    with contextlib.suppress(ConnectionError):
        while part := client.recv(65536):
            said += part
    return said


def sent(port, *parts, reads=True):
    with connected(port) as client:
        # A server that has had enough may have gone.
        with contextlib.suppress(ConnectionError):
            for part in parts:
                client.sendall(part)
            return answer(client) if reads else b""
    return b""


def long_body(port):
    method = dice.choice([b"GET", b"POST", b"HEAD", b"PUT"])
    path = dice.choice([b"/", b"/metrics", b"/status.json", b"/else"])
    length = dice.choice([LONG, b"18446744073709551615", b"-1", b"1e9", b"10, 10", b"4096"])
    sent(port, method + b" " + path + b" HTTP/1.1\r\n" + HOST + b"Content-Length: " + length + b"\r\n\r\n")


def chunks(port):
    size = dice.choice([b"ffffffffffffffff", b"fffffffffffffffffff", b"zz", b"10"])
    sent(port, b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\nabc")


def endless_headers(port):
    line = b"X-" + b"a" * dice.randrange(1, 4000) + b": " + b"b" * dice.randrange(4000) + b"\r\n"
    sent(port, b"GET / HTTP/1.1\r\n" + HOST, *[line] * 200)


def endless_line(port):
    sent(port, b"GET /" + b"a" * dice.randrange(1 << 20))


def pipelined(port):
    sent(port, (b"GET /status.json HTTP/1.1\r\n" + HOST + b"\r\n") * dice.randrange(2, 2000), reads=False)


def half_closed(port):
    def ask():
        with connected(port) as client, contextlib.suppress(ConnectionError):
            client.sendall(b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n")
            client.shutdown(socket.SHUT_WR)
            return answer(client)
        return b""

    expect(ask, b"200")


def nonsense(port):
    sent(port, bytes(dice.randrange(256) for _ in range(dice.randrange(1, 300))) + b"\r\n\r\n")


def upgrade(port):
    sent(port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" if dice.random() < 0.5 else
         b"GET / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nExpect: 100-continue\r\n\r\n")


def expect(ask, status):
    """A machine that is busy may take longer than a connection may last, or than the volume's server is waited for."""
    for _ in range(TRIES):
        said = ask()
        if said and not said.startswith(b"HTTP/1.1 503"):
            break
    assert said.startswith(b"HTTP/1.1 " + status), f"{status} is expected, and this is said: {said[:200]}"


KINDS = [long_body, chunks, endless_headers, endless_line, pipelined, half_closed, nonsense, upgrade]


def asked(control, text):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(ANSWER_SECONDS)
        client.connect(control)
        with contextlib.suppress(ConnectionError):
            client.sendall(text)
            return answer(client)
    return b""


def at_the_control_socket():
    asked(CONTROL, dice.choice([b"", b"\n", b"{" * 5000 + b"\n", b"[" * 4000 + b"\n", bytes(300), b'{"ask":"throttle","percent":300}\n']))


def is_answered(port):
    for line, status in [(b"GET /metrics", b"200"), (b"GET /else", b"404"), (b"DELETE /metrics", b"405")]:
        expect(lambda line=line: sent(port, line + b" HTTP/1.1\r\n" + HOST + b"\r\n"), status)


def main():
    silent = []
    for round_ in range(ROUNDS):
        for port in PORTS:
            if round_ % 50 == 0:
                silent += [connected(port) for _ in range(SILENT)]
                for client in silent[-SILENT // 2:]:
                    # A request of which the rest never comes.
                    client.sendall(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n" * dice.randrange(2))
            for attack in dice.sample(KINDS, len(KINDS)):
                attack(port)
            is_answered(port)
        at_the_control_socket()
    print(f"{ROUNDS * len(KINDS) * len(PORTS)} requests, {len(silent)} clients that say nothing")
    return silent


# They stay until whoever started this has seen how the server stands.
clients = main()
sys.stdout.flush()
sys.stdin.read()

#!/usr/bin/env python3
"""A day of a hostile client of a served volume's page and metrics, and of its control socket.

    checks/nbd/attacks.py SEED ROUNDS CONTROL PORT...     CONTROL is the control socket, the ports are of this machine

Every kind of request is sent ROUNDS times, in an order drawn from SEED, while clients that do nothing hold more
connections than a server keeps. After each round, and all along beside them, somebody who asks as one should must be
answered. That is waited for, and not for how long it takes.

Where the rest of a request never comes, the server ends the connection when its time is over. Nobody waits for that:
such connections are left until they have ended, and all of them must.
"""

import contextlib
import random
import select
import socket
import sys
import threading
import time

SEED, ROUNDS, CONTROL, PORTS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], [int(port) for port in sys.argv[4:]]
# More than the server keeps of one address, and for how many rounds. Those before them are closed: a process may have
# as few as 1024 files.
SILENT = 80
SILENT_ROUNDS = 50
# Of these, those that send a byte in each round.
SLOW = 8
# Unfinished requests whose connections have not ended. A control socket takes no more than 64 at a time.
MOST_LEFT = 32
SCRAPED_EVERY_SECONDS = 0.1
HOST = b"Host: 127.0.0.1\r\n"
LONG = b"99999999999999"
ANSWER_SECONDS = 120
TRIES = 20

dice = random.Random(SEED)
left = []


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


def send(client, *parts):
    # A server that has had enough may have gone.
    with contextlib.suppress(ConnectionError):
        for part in parts:
            client.sendall(part)


def sent(port, *parts, reads=True):
    with connected(port) as client:
        send(client, *parts)
        return answer(client) if reads else b""


def is_over(client):
    """Whether the server has ended a connection."""
    try:
        while client.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    client.close()
    return True


def leave(client, *parts):
    """Sends what may be no whole request. The server ends the connection, at once or later."""
    send(client, *parts)
    client.setblocking(False)
    left.append(client)
    see_ended(MOST_LEFT)


def see_ended(most):
    """Waits until no more than so many of those that were left have not ended."""
    left[:] = [client for client in left if not is_over(client)]
    while len(left) > most:
        assert select.select(left, [], [], ANSWER_SECONDS)[0], f"{len(left)} connections are not ended"
        left[:] = [client for client in left if not is_over(client)]


def long_body(port):
    method = dice.choice([b"GET", b"POST", b"HEAD", b"PUT"])
    path = dice.choice([b"/", b"/metrics", b"/status.json", b"/events.json", b"/else"])
    length = dice.choice([LONG, b"18446744073709551615", b"-1", b"1e9", b"10, 10", b"4096"])
    sent(port, method + b" " + path + b" HTTP/1.1\r\n" + HOST + b"Content-Length: " + length + b"\r\n\r\n")


def chunks(port):
    size = dice.choice([b"ffffffffffffffff", b"fffffffffffffffffff", b"zz", b"10"])
    sent(port, b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\nabc")


def endless_headers(port):
    line = b"X-" + b"a" * dice.randrange(1, 4000) + b": " + b"b" * dice.randrange(4000) + b"\r\n"
    leave(connected(port), b"GET / HTTP/1.1\r\n" + HOST, *[line] * 200)


def endless_line(port):
    leave(connected(port), b"GET /" + b"a" * dice.randrange(1 << 20))


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


def at_the_control_socket():
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(ANSWER_SECONDS)
    client.connect(CONTROL)
    leave(client, dice.choice([b"", b"\n", b"{" * 5000 + b"\n", b"[" * 4000 + b"\n", bytes(300), b'{"ask":"throttle","percent":300}\n']))


def is_answered(port):
    for line, status in [(b"GET /metrics", b"200"), (b"GET /else", b"404"), (b"DELETE /metrics", b"405")]:
        expect(lambda line=line: sent(port, line + b" HTTP/1.1\r\n" + HOST + b"\r\n"), status)


class Scraper(threading.Thread):
    """Asks for the metrics as Prometheus does, beside everything else, until it is told to end."""

    def __init__(self):
        super().__init__(daemon=True)
        self.over, self.scrapes, self.slowest, self.error = threading.Event(), 0, 0, None

    def run(self):
        try:
            while not self.over.wait(SCRAPED_EVERY_SECONDS):
                began = time.monotonic()
                for port in PORTS:
                    expect(lambda port=port: sent(port, b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n"), b"200")
                self.slowest = max(self.slowest, time.monotonic() - began)
                self.scrapes += 1
        except Exception as error:
            self.error = error

    def end(self):
        self.over.set()
        self.join()
        assert self.error is None, f"somebody who scrapes beside the attacks: {self.error!r}"


def silent_clients(port):
    clients = [connected(port) for _ in range(SILENT)]
    for client in clients[SILENT // 2:]:
        # A request of which the rest never comes.
        send(client, b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n" * dice.randrange(2))
    return clients


def main():
    silent, scraper = [], Scraper()
    scraper.start()
    for round_ in range(ROUNDS):
        if round_ % SILENT_ROUNDS == 0:
            for client in silent:
                client.close()
            silent = [client for port in PORTS for client in silent_clients(port)]
        for port in PORTS:
            for attack in dice.sample(KINDS, len(KINDS)):
                attack(port)
            is_answered(port)
        at_the_control_socket()
        for client in silent[-SLOW:]:
            send(client, b"X")
    see_ended(0)
    scraper.end()
    print(f"{ROUNDS * len(KINDS) * len(PORTS)} requests, {len(silent)} clients that say nothing, {scraper.scrapes} scrapes, "
          f"the slowest of which took {scraper.slowest:.2f} s")
    return silent


# They stay until whoever started this has seen how the server stands.
clients = main()
sys.stdout.flush()
sys.stdin.read()

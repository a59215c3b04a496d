#!/usr/bin/env python3
"""Clients of a served volume that stay: of its socket, its control socket, and its page and metrics.

    checks/nbd/silent.py KIND SOCKET PORT...     the ports are of this machine, and the control socket is SOCKET.control

With KIND `silent` they say nothing, stop in the middle of a handshake, a request or what it writes, or send a byte now
and then. With `stubborn` one asks for more than its socket holds, and takes none of it. They are told of when they are
there, and stay until standard input ends.
"""

import contextlib
import socket
import struct
import sys
import threading
import time

KIND, SOCKET, PORTS = sys.argv[1], sys.argv[2], [int(port) for port in sys.argv[3:]]
GREETING_BYTES = 18
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
OPTION = b"IHAVEOPT"
GO, ACK = 7, 1
REQUEST = 0x25609513
READ, WRITE = 0, 1
MIB = 1 << 20
EVERY_SECONDS = 0.02


def connected(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def received(client, count):
    said = b""
    while len(said) < count:
        part = client.recv(count - len(said))
        assert part, "the server ends a client that it should serve"
        said += part
    return said


def greeted():
    client = connected(SOCKET)
    received(client, GREETING_BYTES)
    return client


def in_handshake(then=b""):
    client = greeted()
    client.sendall(struct.pack(">I", FIXED_NEWSTYLE | NO_ZEROES) + then)
    return client


def served():
    """A client whose handshake is done."""
    client = in_handshake(OPTION + struct.pack(">IIIH", GO, 6, 0, 0))
    kind = None
    while kind != ACK:
        _, _, kind, length = struct.unpack(">QIII", received(client, 20))
        received(client, length)
    return client


def request(kind, cookie=1):
    return struct.pack(">IHHQQI", REQUEST, 0, kind, cookie, 0, MIB)


def sent(client, text):
    client.sendall(text)
    return client


def drips(client):
    """Has a client send a byte now and then."""
    def send():
        with contextlib.suppress(OSError):
            while True:
                client.sendall(b"x")
                time.sleep(EVERY_SECONDS)

    threading.Thread(target=send, daemon=True).start()
    return client


def silent():
    yield connected(SOCKET)
    yield greeted()
    yield in_handshake()
    yield in_handshake(OPTION + b"\0\0")
    yield in_handshake(OPTION + struct.pack(">II", GO, 4000) + b"x")
    yield served()
    yield sent(served(), request(READ)[:10])
    yield sent(served(), request(WRITE) + b"x" * 5000)
    yield connected(f"{SOCKET}.control")
    yield drips(connected(f"{SOCKET}.control"))
    for port in PORTS:
        yield socket.create_connection(("127.0.0.1", port))
        yield drips(sent(socket.create_connection(("127.0.0.1", port)), b"GET / HTTP/1.1\r\nX: "))


def stubborn():
    client = served()
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        for cookie in range(MIB):
            client.sendall(request(READ, cookie))
    yield client


clients = list({"silent": silent, "stubborn": stubborn}[KIND]())
print(f"{len(clients)} clients", flush=True)
sys.stdin.read()

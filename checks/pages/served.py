"""A volume that is served, and what writes to it."""

import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path


class Served:
    """A small volume, served with its page until the end of the block."""

    def __init__(self, program: Path, work: Path):
        self.image, self.work, self.program = work / "volume.img", work, program
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/"

    def __enter__(self):
        words = [self.program, "format", self.image, "--layer", "fifo-log", "--drive", "small-zoned"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        words = [self.program, "serve", self.image, "--http", str(self.port)]
        self.server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()

    @contextmanager
    def load(self):
        """Writes and reads go on until the end of the block."""
        uri = f"--uri=nbd+unix:///?socket={self.image}.sock"
        load = subprocess.Popen(
            ["fio", "--name=load", "--ioengine=nbd", uri, "--rw=randrw", "--bs=4k", "--size=32M", "--iodepth=8",
             "--rate_iops=500", "--time_based", "--runtime=300", f"--output={self.work}/fio",
             # A process of its own would outlive the one that is ended here.
             "--thread"])
        try:
            yield
        finally:
            load.kill()
            load.wait()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            policy = answer.headers["Content-Security-Policy"] or answer.read().decode()
            return answer.status == 200 and "default-src 'none'" in policy and not answer.headers["Set-Cookie"]
    except OSError:
        return False


def refuses(address):
    asked = urllib.request.Request(address, headers={"Host": "elsewhere.example"})
    try:
        urllib.request.urlopen(asked, timeout=20)
    except urllib.error.HTTPError as error:
        return error.code == 421
    return False

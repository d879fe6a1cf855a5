"""A socket that outlives its server: of another program (LISTEN_FDS), or of a keeper (-o survive)."""
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import h5py
import numpy as np

from serving import ServeTest
from support.program import H5MOUNT, run, terminate, until

# Starts the words after the names with the descriptors from 3 on, as systemd does.
START = """
import os, sys
names, count, *words = sys.argv[1:]
os.environ.update({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count, "LISTEN_FDNAMES": names})
os.execv(words[0], words)
"""


def listening(family=socket.AF_INET, place=("127.0.0.1", 0)):
    out = socket.socket(family)
    out.bind(place)
    out.listen(512)
    return out


def start_with(sockets, *words, names=None):
    """Starts the program with these sockets as descriptors from 3 on."""
    own = [os.dup(one.fileno()) for one in sockets]
    base = 100
    for i, fd in enumerate(own):
        os.dup2(fd, base + i)
    moved = " ".join(f"{3 + i}<&{base + i}" for i in range(len(own)))
    names = names or ":".join("web" for _ in own)
    with open("start.py", "w") as f:
        f.write(START)
    words = " ".join(f"'{word}'" for word in words)
    out = subprocess.Popen(
        f"exec {sys.executable} start.py '{names}' {len(own)} '{H5MOUNT}' {words} {moved}",
        shell=True,
        pass_fds=[base + i for i in range(len(own))],
        stdout=subprocess.PIPE,
        stderr=open("serve.err", "w"),
        text=True,
        executable="/bin/bash",
    )
    for fd in own:
        os.close(fd)
    for i in range(len(own)):
        os.close(base + i)
    return out


def get(port, target="/x", connection=None, **fields):
    connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", target, headers=fields)
    answer = connection.getresponse()
    return answer.status, answer.read()


def server_of(keeper):
    with open(f"/proc/{keeper}/task/{keeper}/children") as f:
        return [int(word) for word in f.read().split()]


class Readers:
    """Clients that ask again and again until they are stopped: half of them each time on a connection of its
    own, and the others on one for as long as the server lets them."""

    def __init__(self, port, want, count=4):
        self.port, self.want, self.answers, self.troubles, self.going = port, want, 0, [], True
        self.threads = [threading.Thread(target=self.ask, args=(i % 2 == 1,)) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def ask(self, keeps):
        kept = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while self.going:
            try:
                status, body = get(self.port, connection=kept) if keeps else get(self.port)
                assert status == 200 and body == self.want, (status, len(body))
                self.answers += 1
            except ConnectionRefusedError as error:
                self.troubles.append(repr(error))
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.troubles.append("in work: " + repr(error))
                kept.close()

    def stop(self):
        self.going = False
        for thread in self.threads:
            thread.join()
        return self.troubles


class ServeSurvive(ServeTest):
    seconds = 240

    def setUp(self):
        super().setUp()
        self.want = np.arange(1000, dtype="<i4").tobytes()
        with h5py.File("f.h5", "w") as f:
            f["x"] = np.arange(1000, dtype="<i4")

    def started(self, process):
        self.addCleanup(terminate, process)
        url = process.stdout.readline().strip()
        assert url.startswith("http://"), (url, open("serve.err").read())
        return url

    def test_a_socket_that_is_handed_over_is_taken_and_outlives_the_server(self):
        with listening() as web:
            port = web.getsockname()[1]
            for how in (signal.SIGTERM, signal.SIGINT):
                process = start_with([web], "--serve", str(port), "f.h5")
                assert self.started(process) == f"http://127.0.0.1:{port}/"
                assert get(port) == (200, self.want)
                # On loopback the Host must be one, whoever made the socket.
                assert get(port, Host="example.org")[0] == 421
                idle = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                assert get(port, connection=idle) == (200, self.want)
                process.send_signal(how)
                assert process.wait(60) == 0
                # Nobody is refused while there is no server: who connects now is answered by the next one.
                waiting = socket.create_connection(("127.0.0.1", port), timeout=60)
                self.addCleanup(waiting.close)

    def test_who_connects_between_two_servers_is_answered_by_the_second(self):
        with listening() as web:
            port = web.getsockname()[1]
            got = []
            thread = threading.Thread(target=lambda: got.append(get(port)))
            thread.start()
            time.sleep(0.3)
            self.started(start_with([web], "--serve", f"127.0.0.1:{port}", "f.h5"))
            thread.join()
            assert got == [(200, self.want)], got

    def test_the_place_that_is_named_must_be_the_sockets(self):
        with listening() as web:
            port = web.getsockname()[1]
            for place in (str(port + 1), f"127.0.0.2:{port}", "unix:here.sock"):
                process = start_with([web], "--serve", place, "f.h5")
                self.addCleanup(terminate, process)
                assert process.wait(60) != 0
                assert f"127.0.0.1:{port}" in open("serve.err").read(), place
            assert self.started(start_with([web], "--serve", "0", "f.h5")) == f"http://127.0.0.1:{port}/"

    def test_the_keepers_own_descriptors_are_no_sockets_of_the_server(self):
        with listening() as web, open(os.devnull) as other:
            port = web.getsockname()[1]
            process = start_with([other, web], "--serve", str(port), "f.h5", names="h5mount-memory:web")
            self.started(process)
            assert get(port) == (200, self.want)

    def test_a_unix_socket_that_others_may_open_is_an_open_port(self):
        place = os.path.abspath("web.sock")
        with listening(socket.AF_UNIX, place) as web:
            os.chmod("f.h5", 0o600)
            words = ("--serve", "unix:" + place, "-o", "external=beneath", "f.h5")
            os.chmod(place, 0o666)
            process = start_with([web], *words)
            self.addCleanup(terminate, process)
            assert process.wait(60) != 0 and "not all users may read it" in open("serve.err").read()
            os.chmod(place, 0o600)
            assert self.started(start_with([web], *words)) == f"http://unix:{place}:/"
            # The file of a socket that others made is theirs.
            assert os.path.exists(place)

    def test_a_crash_and_an_upgrade_refuse_nobody(self):
        with listening() as web:
            port = web.getsockname()[1]
            for sockets, place in (([web], str(port)), ([], "0")):
                process = start_with(sockets, "--serve", place, "-o", "survive", "f.h5")
                url = self.started(process)
                at = int(url.rstrip("/").rsplit(":", 1)[1])
                readers = Readers(at, self.want)
                for how in ("kill", "upgrade", "kill", "upgrade"):
                    time.sleep(0.5)
                    before, troubles = server_of(process.pid), len(readers.troubles)
                    if how == "kill":
                        os.kill(before[-1], signal.SIGKILL)
                    else:
                        process.send_signal(signal.SIGUSR2)
                    until(
                        lambda: server_of(process.pid) and before[-1] not in server_of(process.pid),
                        "another server",
                        60,
                    )
                    assert get(at) == (200, self.want)
                    time.sleep(1.5)
                    # What a server had begun when it was killed is lost; nobody is refused.
                    met = readers.troubles[troubles:]
                    assert len(met) <= (len(readers.threads) if how == "kill" else 0), (how, met)
                    assert all(one.startswith("in work") for one in met), met
                assert not readers.stop()[troubles:], readers.troubles
                assert readers.answers > 20, readers.answers
                process.terminate()
                assert process.wait(60) == 0

    def test_an_upgrade_lets_what_was_begun_end(self):
        with h5py.File("f.h5", "a") as f:
            f["long"] = np.zeros(200 << 20, "u1")
        process = start_with([], "--serve", "0", "-o", "survive", "f.h5")
        at = int(self.started(process).rstrip("/").rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", at), timeout=60) as client:
            client.sendall(b"GET /long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            got = len(client.recv(1 << 16))
            before = server_of(process.pid)
            process.send_signal(signal.SIGUSR2)
            until(lambda: len(server_of(process.pid)) == 2, "a second server", 60)
            assert get(at) == (200, self.want)
            time.sleep(32)  # a server that ends for good has cut its clients off by then
            while more := client.recv(1 << 20):
                got += len(more)
            assert got > 200 << 20, got
        until(
            lambda: len(server_of(process.pid)) == 1 and before[0] not in server_of(process.pid),
            "the first one ends",
            60,
        )

    def test_a_server_that_cannot_begin_says_so_at_once_and_what_cannot_be_repeated_is_refused(self):
        p = run(H5MOUNT, "--serve", "0", "-o", "survive", "missing.h5")
        assert (
            p.returncode == run(H5MOUNT, "--serve", "0", "missing.h5").returncode != 0
            and "missing.h5" in p.stderr
        ), p
        p = run(H5MOUNT, "--serve", "0", "--token", "-o", "survive", "f.h5")
        assert p.returncode != 0 and "--token-file" in p.stderr, p
        p = run(H5MOUNT, "--serve", "0", "-o", "survive", "http://127.0.0.1:9/f.h5")
        assert p.returncode != 0 and "survive is for local files" in p.stderr, p

    def test_the_socket_of_a_keeper_is_gone_with_it(self):
        process = start_with([], "--serve", "unix:own.sock", "-o", "survive", "f.h5")
        self.started(process)
        os.kill(server_of(process.pid)[0], signal.SIGKILL)
        until(lambda: server_of(process.pid), "another server", 60)
        p = run("curl", "-sf", "--unix-socket", "own.sock", "http://localhost/x", text=False)
        assert p.stdout == self.want, p
        process.terminate()
        assert process.wait(60) == 0
        assert not os.path.exists("own.sock")

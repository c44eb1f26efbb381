#!/usr/bin/env python3
"""relay.py - the bad network of the fault tests is as bad as it was told.

Covers tests/fault/relay.c, relay_flow.h and relay_settings.h. Times are lower
bounds only: a busy machine makes a relay slower, never faster.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import checks  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("SKEIN_BUILD", ROOT / "build")).resolve()
RELAY = str(BUILD / "fault" / "fault_relay")
PATIENCE_S = 60


class Network(unittest.TestCase):
    """A server, a relay before it, and whoever connects."""

    def setUp(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(PATIENCE_S)
        self.addCleanup(self.server.close)

    def relay(self, *options, before=()):
        where = "127.0.0.1:%d" % self.server.getsockname()[1]
        self.process = process = subprocess.Popen(
            [*before, RELAY, "127.0.0.1:0", where, "--for-ms", "120000",
             *map(str, options)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(self.forget, process)
        self.port = self.told("listening")["port"]

    @staticmethod
    def forget(process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def told(self, event):
        line = json.loads(self.process.stdout.readline())
        self.assertEqual(line["event"], event)
        return line

    def command(self, text, event="obeyed"):
        self.process.stdin.write(text + "\n")
        return self.told(event)

    def until(self, holds):
        """Asks for the counters till they are so."""
        for _ in range(PATIENCE_S * 100):
            status = self.command("status")
            if holds(status):
                return status
            time.sleep(0.01)
        self.fail("the relay's counters stay at %s" % status)

    def connect(self):
        """Both ends of a new connection."""
        near = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        self.addCleanup(near.close)
        far = self.server.accept()[0]
        far.settimeout(PATIENCE_S)
        self.addCleanup(far.close)
        return near, far

    def receive(self, end, count):
        got = b""
        while len(got) < count:
            more = end.recv(count - len(got))
            self.assertTrue(more, "closed after %d bytes" % len(got))
            got += more
        return got

    def assert_reset(self, end):
        with self.assertRaises(ConnectionResetError):
            while end.recv(65536):
                pass
            self.fail("closed, not reset")


class Passing(Network):
    """What any relay does."""

    def test_bytes_pass_both_ways_and_ends_too(self):
        """In order, whatever their number; then a close of one half."""
        self.relay()
        near, far = self.connect()
        sent = os.urandom(9000001)
        back = threading.Thread(target=far.sendall, args=(sent[::-1],))
        forth = threading.Thread(target=near.sendall, args=(sent,))
        back.start()
        forth.start()
        read = []
        taker = threading.Thread(
            target=lambda: read.append(self.receive(near, len(sent))))
        taker.start()
        self.assertEqual(self.receive(far, len(sent)), sent)
        for thread in (taker, back, forth):
            thread.join()
        self.assertEqual(read, [sent[::-1]])
        near.shutdown(socket.SHUT_WR)
        self.assertEqual(far.recv(1), b"")
        far.sendall(b"still open")
        self.assertEqual(self.receive(near, 10), b"still open")
        far.close()
        self.assertEqual(near.recv(1), b"")
        self.until(lambda status: status["open"] == 0)
        end = self.ended()
        self.assertEqual((end["bytes_up"], end["bytes_down"], end["cuts"],
                          end["lost_bytes"], end["connections"]),
                         (len(sent), len(sent) + 10, 0, 0, 1))

    def ended(self):
        self.command("quit")
        return self.told("end")

    def test_it_ends_when_told(self):
        """By a signal, by its time; the end of its input is none."""
        self.relay()
        self.process.stdin.close()
        near, far = self.connect()
        near.sendall(b"x")
        self.assertEqual(self.receive(far, 1), b"x")
        self.process.terminate()
        self.assertEqual(self.told("end")["connections"], 1)
        self.assertEqual(self.process.wait(), 0)
        self.relay("--for-ms", 1)
        self.told("end")

    def test_memory_is_bounded(self):
        """When nobody reads, the sender has to wait."""
        self.relay("--buffer-kib", 64)
        near, far = self.connect()
        near.setblocking(False)
        sent = 0
        while select.select([], [near], [], 0.5)[1]:
            sent += near.send(bytes(65536))
        status = self.until(lambda s: s["held_bytes_max"] > 0)
        self.assertLessEqual(status["held_bytes_max"], 65536)
        self.receive(far, sent)

    def test_more_connections_than_allowed_are_turned_away(self):
        """And those before are untouched."""
        self.relay("--connections", 1)
        near, far = self.connect()
        with socket.create_connection(("127.0.0.1", self.port)) as other:
            self.assert_reset(other)
        near.sendall(b"x")
        self.assertEqual(self.receive(far, 1), b"x")
        self.assertEqual(self.command("status")["turned_away"], 1)

    def test_a_server_that_is_away_is_told(self):
        """Who connects is reset, and it is counted."""
        self.relay()
        self.server.close()
        with socket.create_connection(("127.0.0.1", self.port)) as near:
            self.assert_reset(near)
        self.until(lambda status: status["unreachable"] == 1)

    def test_nonsense_is_refused(self):
        """Commands, options, addresses."""
        self.relay()
        for text in ("fly 3", "delay", "delay x", "delay 3 left", "rate -1",
                     "", "stall 99999999999999999999"):
            self.command(text, "refused")
        for words in ([], ["here"], ["127.0.0.1:0", "nowhere"],
                      ["127.0.0.1:0", "127.0.0.1:70000"],
                      *(["127.0.0.1:0", "127.0.0.1:1", *more] for more in (
                          ["--delay-ms"], ["--delay-ms", "x"],
                          ["--seed", "1 "], ["--connections", "0"],
                          ["--cut-at-ms", "1,,2"], ["--cut-at-ms", "1,"],
                          ["--fly", "3"], ["delay-ms", "3"]))):
            done = subprocess.run([RELAY, *words], capture_output=True,
                                  check=False, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 64, words)
            self.assertTrue(done.stderr, words)


class Slow(Network):
    """Delay, rate, stall."""

    def round_trip_s(self, near, far):
        began = time.monotonic()
        near.sendall(b"?")
        far.sendall(self.receive(far, 1))
        self.receive(near, 1)
        return time.monotonic() - began

    def test_a_delay_is_one_way_each_way(self):
        """From the start, by command, in one direction."""
        self.relay("--delay-ms", 50)
        near, far = self.connect()
        self.assertGreaterEqual(self.round_trip_s(near, far), 0.1)
        self.command("delay 0")
        self.command("delay 300 up")
        self.assertGreaterEqual(self.round_trip_s(near, far), 0.3)
        began = time.monotonic()
        near.sendall(b"late")
        far.sendall(b"soon")
        self.receive(near, 4)
        soon_s = time.monotonic() - began
        self.receive(far, 4)
        self.assertLess(soon_s, time.monotonic() - began)

    def test_many_bytes_are_under_way_in_a_delay(self):
        """A long line is not a slow line: bytes wait together."""
        self.relay("--delay-ms", 200)
        near, far = self.connect()
        began = time.monotonic()
        for _ in range(1000):
            near.sendall(bytes(100))
        self.receive(far, 100000)
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        self.assertLess(time.monotonic() - began, 1000 * 0.2)

    def test_a_rate_holds_for_all_connections_together(self):
        """300,000 bytes at 1 MB/s take 0.3 s, less what may wait before."""
        self.relay("--rate", 1000000)
        ends = [self.connect() for _ in range(3)]
        began = time.monotonic()
        for near, _ in ends:
            near.sendall(bytes(100000))
        for _, far in ends:
            self.receive(far, 100000)
        self.assertGreaterEqual(time.monotonic() - began, 0.29)
        self.command("rate 0")
        near, far = ends[0]
        near.sendall(bytes(3000000))
        self.receive(far, 3000000)

    def test_a_stall_stops_one_way_and_passes(self):
        """Nothing is lost by it."""
        self.relay()
        near, far = self.connect()
        began = time.monotonic()
        self.command("stall 400 up")
        near.sendall(b"late")
        far.sendall(b"soon")
        self.assertEqual(self.receive(near, 4), b"soon")
        self.assertEqual(self.receive(far, 4), b"late")
        self.assertGreaterEqual(time.monotonic() - began, 0.4)
        self.assertEqual(self.command("status")["stalls"], 1)


class Broken(Network):
    """Cuts, refusals, spoilt bytes."""

    def test_a_cut_resets_both_ends(self):
        """And whoever connects again is served."""
        self.relay()
        for count in (1, 2):
            near, far = self.connect()
            near.sendall(b"x")
            self.receive(far, 1)
            self.assertEqual(self.command("cut")["cuts"], count)
            self.assert_reset(near)
            self.assert_reset(far)

    def test_what_was_held_at_a_cut_is_lost(self):
        """And counted."""
        self.relay("--delay-ms", 60000)
        near, _ = self.connect()
        near.sendall(bytes(1000))
        self.until(lambda status: status["held_bytes_max"] == 1000)
        self.assertEqual(self.command("cut")["lost_bytes"], 1000)

    def test_after_a_cut_nobody_may_listen(self):
        """For the time that was asked for."""
        self.relay("--refuse-ms", 300)
        near, _ = self.connect()
        began = time.monotonic()
        self.command("cut")
        self.assert_reset(near)
        while True:
            try:
                near, far = self.connect()
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        self.assertGreaterEqual(time.monotonic() - began, 0.29)
        near.sendall(b"x")
        self.receive(far, 1)

    def test_cuts_come_at_their_times(self):
        """One after the other; then no more."""
        self.relay("--cut-at-ms", "50,100")
        self.until(lambda status: status["cuts"] == 2)
        self.assertGreaterEqual(self.command("status")["seconds"], 0.1)
        near, far = self.connect()
        near.sendall(b"x")
        self.receive(far, 1)
        self.assertEqual(self.command("status")["cuts"], 2)

    def cuts_of(self, *options):
        """The bytes forwarded before each of the first three cuts."""
        self.relay(*options)
        found = []
        for _ in range(3):
            near, _ = self.connect()
            try:
                while True:
                    near.sendall(bytes(100))
            except OSError:
                pass
            status = self.until(lambda s: s["cuts"] == len(found) + 1)
            found.append(status["bytes_up"])
        return found

    def test_cuts_come_at_their_byte(self):
        """Exactly; with a seed at another byte, the same in every run."""
        self.assertEqual(self.cuts_of("--cut-every-bytes", 1234),
                         [1234, 2468, 3702])
        seven = self.cuts_of("--cut-every-bytes", 1000, "--seed", 7)
        again = self.cuts_of("--cut-every-bytes", 1000, "--seed", 7)
        eight = self.cuts_of("--cut-every-bytes", 1000, "--seed", 8)
        self.assertEqual(seven, again)
        self.assertNotEqual(seven, eight)
        for before, after in zip([0] + seven, seven):
            self.assertTrue(500 <= after - before <= 1500, seven)

    def test_cuts_come_every_so_often(self):
        """Without an end."""
        self.relay("--cut-every-ms", 20)
        status = self.until(lambda s: s["cuts"] >= 5)
        self.assertGreaterEqual(status["seconds"], 0.1)

    def test_one_bit_is_spoilt(self):
        """Of the next bytes; those after are whole."""
        self.relay()
        near, far = self.connect()
        sent = bytes(range(256))
        self.command("garble up")
        near.sendall(sent)
        got = self.receive(far, 256)
        flipped = [a ^ b for a, b in zip(sent, got) if a != b]
        self.assertEqual([bin(bits).count("1") for bits in flipped], [1])
        near.sendall(sent)
        self.assertEqual(self.receive(far, 256), sent)
        self.assertEqual(self.command("status")["garbled"], 1)


class Namespaces(Network):
    """It stands between two networks that do not know each other."""

    def setUp(self):
        super().setUp()
        self.name = "sk-relay-%d" % os.getpid()
        made = subprocess.run(["ip", "netns", "add", self.name],
                              capture_output=True, check=False) \
            if os.geteuid() == 0 else None
        if made is None or made.returncode != 0:
            self.skipTest("needs root and the right to make networks")
        self.addCleanup(subprocess.run, ["ip", "netns", "del", self.name],
                        check=False)
        subprocess.run(["ip", "-n", self.name, "link", "set", "lo", "up"],
                       check=True)

    def test_it_listens_there_and_connects_here(self):
        """Nobody here reaches the port, and there it leads to here."""
        self.relay("--listen-in", self.name)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.port))
        talker = subprocess.Popen(
            ["ip", "netns", "exec", self.name, sys.executable, "-c",
             "import socket\nsocket.create_connection(('127.0.0.1', %d))"
             ".sendall(b'hello')" % self.port])
        far = self.server.accept()[0]
        self.assertEqual(self.receive(far, 5), b"hello")
        far.close()
        self.assertEqual(talker.wait(), 0)

    def test_it_listens_here_and_connects_from_there(self):
        """Where nobody serves: the server here is not reached."""
        self.relay("--connect-from", self.name)
        with socket.create_connection(("127.0.0.1", self.port)) as near:
            self.assert_reset(near)
        self.until(lambda status: status["unreachable"] == 1)


if __name__ == "__main__":
    checks.main()

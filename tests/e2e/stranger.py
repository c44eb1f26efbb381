#!/usr/bin/env python3
"""stranger.py - the attacker of the fault tests does what it says it did.

Covers tests/fault/stranger.c and stranger_raw.h: against servers that only
listen, and one that speaks enough ZMTP to be sent messages.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import re
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
STRANGER = str(BUILD / "fault" / "fault_stranger")
PATIENCE_S = 60
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01"
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06ROUTER"


class Server:
    """Takes what comes, till the other side is done; keeps all of it."""

    def __init__(self, closes=False, greets=False):
        self.closes, self.greets = closes, greets
        self.heard, self.open, self.open_max = [], 0, 0
        self.lock = threading.Lock()
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                peer = self.socket.accept()[0]
                with self.lock:
                    self.open += 1
                    self.open_max = max(self.open_max, self.open)
                threading.Thread(target=self.listen, args=(peer,),
                                 daemon=True).start()
        except OSError:
            return

    def listen(self, peer):
        got = b""
        with peer:
            try:
                if self.greets:
                    peer.sendall(GREETING + b"NULL" + bytes(48) + READY)
                while not self.closes:
                    more = peer.recv(65536)
                    if not more:
                        break
                    got += more
            except OSError:
                pass
            with self.lock:
                self.heard.append(got)
                self.open -= 1

    def settled(self, count):
        """What was heard, when so many connections have ended."""
        for _ in range(PATIENCE_S * 100):
            with self.lock:
                if len(self.heard) >= count and self.open == 0:
                    return self.heard
            time.sleep(0.01)
        raise AssertionError("%d of %d" % (len(self.heard), count))


def messages(stream):
    """The messages, lists of frames, behind a greeting and a command."""
    found, parts, at = [], [], 64
    while at + 2 <= len(stream):
        flags, long = stream[at], stream[at] & 2
        size = int.from_bytes(stream[at + 1:at + (9 if long else 2)], "big")
        at += 9 if long else 2
        if not flags & 4:
            parts.append(stream[at:at + size])
            if not flags & 1:
                found.append(parts)
                parts = []
        at += size
    return found


class Attacks(unittest.TestCase):
    """Each of them, at a server in this process."""

    def attack(self, server, what, *options):
        self.addCleanup(server.socket.close)
        done = subprocess.run(
            [STRANGER, "127.0.0.1:%d" % server.port, "--what", what,
             *map(str, options)], capture_output=True, text=True,
            check=True, timeout=PATIENCE_S)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def test_random_bytes_come_over_many_connections(self):
        """As many as were asked for; the same for the same seed."""
        server = Server()
        did = self.attack(server, "random", "--count", 300)["random"]
        heard = server.settled(300)
        self.assertEqual((did["tried"], did["failed"], len(heard)),
                         (300, 0, 300))
        self.assertLessEqual(sum(map(len, heard)), did["bytes"])
        self.assertLessEqual(did["open_max"], 64)
        longest = max(heard, key=len)
        self.assertTrue(3000 < len(longest) <= 4096, len(longest))
        self.assertGreater(len(set(longest)), 200)
        for seed, same in ((1, True), (2, False)):
            again = self.attack(Server(), "random", "--count", 300, "--seed",
                                seed)["random"]
            self.assertEqual(again["bytes"] == did["bytes"], same)

    def test_greetings_are_cut_at_every_byte(self):
        """Of three mechanisms."""
        server = Server()
        self.attack(server, "greeting", "--count", 900)
        heard = server.settled(900)
        for name, whole in ((b"NULL", 94), (b"PLAIN", 78), (b"CURVE", 266)):
            begin = (GREETING + name.ljust(20, b"\0") + bytes(32))[:64]
            own = {len(got) for got in heard
                   if len(got) > 17 and got[:64] == begin[:len(got)]}
            # A reset may take the last bytes with it; most come through.
            self.assertGreater(len(own), (whole - 17) // 3, name)
            self.assertEqual(max(own), whole, name)

    def test_openings_have_one_wrong_bit(self):
        """Or none, where a reset took it along."""
        server = Server()
        self.attack(server, "flipped", "--count", 200)
        right = (GREETING + b"NULL" + bytes(48))[:64]
        found = set()
        for got in server.settled(200):
            bits = [a ^ b for a, b in zip(got[:12], right) if a != b]
            self.assertLessEqual(sum(bin(b).count("1") for b in bits), 1)
            found.update(bits)
        self.assertGreater(len(found), 5)

    def test_an_endless_message_does_not_end(self):
        """Till the time is over."""
        server = Server()
        did = self.attack(server, "endless", "--sockets", 3, "--for-ms",
                          1000)["endless"]
        heard = server.settled(3)
        self.assertEqual(did["open_max"], 3)
        for got in heard:
            self.assertTrue(got.startswith(GREETING + b"NULL"))
            self.assertGreater(len(got), 1000)
            self.assertEqual(messages(got), [])

    def test_a_drip_is_slow_and_many(self):
        """A byte at a time, all sockets open at once."""
        server = Server()
        did = self.attack(server, "drip", "--sockets", 20, "--for-ms", 1000,
                          "--drip-ms", 80)["drip"]
        heard = server.settled(20)
        self.assertEqual((did["open_max"], server.open_max), (20, 20))
        self.assertTrue(all(1 <= len(got) <= 14 for got in heard))

    def test_silence_is_kept(self):
        """Nothing is said, and nobody leaves."""
        server = Server()
        did = self.attack(server, "silent", "--sockets", 20, "--for-ms",
                          200)["silent"]
        self.assertEqual(server.settled(20), [b""] * 20)
        self.assertEqual((did["tried"], did["bytes"]), (20, 0))

    def test_a_huge_frame_begins(self):
        """Its length is said, and little of it sent."""
        server = Server()
        self.attack(server, "huge", "--count", 10)
        self.assertTrue(any(b"\x02\x40" + bytes(7) in got
                            for got in server.settled(10)))

    def test_it_sees_that_it_is_thrown_out(self):
        """And that nobody is there."""
        server = Server(closes=True)
        did = self.attack(server, "silent", "--sockets", 4, "--for-ms", 200,
                          "--a-second", 100)["silent"]
        self.assertGreater(did["ended_by_peer"], 4)
        self.assertLessEqual(did["tried"], 100)
        server.socket = socket.socket()     # bound, but nobody listens
        server.socket.bind(("127.0.0.1", 0))
        server.port = server.socket.getsockname()[1]
        did = self.attack(server, "random", "--count", 50)["random"]
        self.assertEqual((did["tried"], did["failed"], did["bytes"]),
                         (50, 50, 0))

    def test_malformed_messages_arrive(self):
        """Of every kind, where nobody asks for a key."""
        server = Server(greets=True)
        did = self.attack(server, "frames", "--count", 900)["frames"]
        self.assertEqual((did["tried"], did["reopened"]), (900, 0))
        got = messages(server.settled(1)[0])
        self.assertEqual(len(got), 900)
        self.assertEqual(sum(map(len, got)), did["frames"])
        self.assertEqual({len(message) for message in got},
                         {1, 2, 3, 4, 5, 6, 7, 100})
        heads = [message[0] for message in got]
        self.assertEqual(min(map(len, heads)), 0)
        self.assertGreater(max(map(len, heads)), 1024)
        self.assertGreater(max(len(m[1]) for m in got if len(m) > 1), 65536)
        self.assertTrue(any(head.startswith(b"\xdd\xff") for head in heads))
        # A header in the form of fragment.h: twelve values, version 1.
        self.assertGreater(sum(head.startswith(b"\x9c\x01")
                               for head in heads), 350)

    def test_messages_are_dropped_where_nobody_takes_them(self):
        """It dials anew, with a throw-away key too, and gets to its end."""
        for more in ((), ("--server-key", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL"
                                          "/@{H8]yf7")):
            did = self.attack(Server(), "frames", "--count", 3000,
                              *more)["frames"]
            self.assertEqual(did["tried"], 3000)
            self.assertGreaterEqual(did["reopened"], 2)

    def test_it_holds_to_its_pace_and_its_time(self):
        """Both, for connections and for messages."""
        for what, server in (("random", Server()),
                             ("frames", Server(greets=True))):
            did = self.attack(server, what, "--count", 30, "--a-second",
                              100)[what]
            self.assertGreaterEqual(did["seconds"], 0.28)
            did = self.attack(server, what, "--a-second", 100, "--for-ms",
                              100)[what]
            self.assertLess(did["tried"], 30)

    def test_attacks_come_one_after_the_other(self):
        """In the order that was asked for."""
        did = self.attack(Server(), "huge,random", "--count", 2)
        self.assertEqual(list(did), ["huge", "random"])

    def test_nonsense_is_refused(self):
        """With the list of what there is."""
        for words in ([], ["there"], ["127.0.0.1:0"], ["localhost:7"],
                      *(["127.0.0.1:7", *more] for more in (
                          ["--count"], ["--count", "x"], ["--count", "-1"],
                          ["--at-once", "0"], ["--what", "fly"],
                          ["--server-key", "short"], ["--fly", "3"]))):
            done = subprocess.run([STRANGER, *words], capture_output=True,
                                  text=True, check=False, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 64, words)
            self.assertTrue(re.search("^usage: stranger", done.stderr, re.M))


if __name__ == "__main__":
    checks.main()

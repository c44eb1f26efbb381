#!/usr/bin/env python3
"""hold_ports.py - ports of loopback that are a script's until it ends.

Usage: hold_ports.py COUNT PID   prints COUNT ports that the system chose, and
                                 holds them until process PID has ended
A port that is looked for, let go and bound later may be taken in between. Here
it stays bound, so the system gives it neither to a program that asks for any
port nor to a connection. Nothing listens on it: whoever dials is refused, and
what is tested binds it too, since both sockets have SO_REUSEADDR.
SPDX-License-Identifier: Apache-2.0
"""
import os
import select
import socket
import sys


def main():
    count, owner = int(sys.argv[1]), os.pidfd_open(int(sys.argv[2]))
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
    print(*(one.getsockname()[1] for one in held), flush=True)
    if os.fork() != 0:  # no child of the script, whose `wait` would wait for it
        return
    os.setsid()
    for stream in range(3):
        os.close(stream)
    select.select([owner], [], [])  # it is readable when the process has ended


if __name__ == "__main__":
    main()

#!/bin/sh
# own_net.sh - runs a test on a loopback of its own, where that is allowed, so
# that nobody else on the machine reaches what listens there.
#
# Usage: tests/own_net.sh COMMAND [ARGUMENT...]
# SPDX-License-Identifier: Apache-2.0
if unshare -n ip link set lo up 2>/dev/null; then
    exec unshare -n sh -c 'ip link set lo up; exec "$@"' sh "$@"
fi
exec "$@"

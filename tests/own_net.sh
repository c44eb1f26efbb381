#!/bin/sh
# own_net.sh - runs a test on a loopback of its own, where that is allowed, so
# that nobody else on the machine reaches what listens there.
#
# Usage: tests/own_net.sh COMMAND [ARGUMENT...]
# SKEIN_OWN_NET=yes or no answers whether it is: tests/run.sh asks for all.
# SPDX-License-Identifier: Apache-2.0
is_allowed=${SKEIN_OWN_NET:-$(
    unshare -n ip link set lo up 2>/dev/null && echo yes
)}
if [ "$is_allowed" = yes ]; then
    exec unshare -n sh -c 'ip link set lo up; exec "$@"' sh "$@"
fi
exec "$@"

#!/bin/sh
# Record an edge archive of real connections: `ss -neit` dumps, counters and an access log of a server that hundreds of
# clients at several distances download from, with CUBIC, BBR and Reno. Needs Linux, root, Python 3 and iproute2; no
# module of the kernel beyond tun: delay, loss and rate of each path are made in user space, between two namespaces.
#
#     scripts/record_edge.sh FOLDER [CONNECTIONS]
#
# FOLDER gets <machine>/<cc>/{ss-neit:<time>,nstat:<time>,access.log}; one machine for each algorithm.
set -eu
folder=$1
connections=${2:-200}
here=$(dirname "$0")

for cc in cubic bbr reno; do
    target="$folder/edge-$cc/$cc"
    mkdir -p "$target"
    unshare --net --mount python3 "$here/record_edge.py" "$cc" "$target" "$connections"
done

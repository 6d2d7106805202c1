#!/usr/bin/env bash
# Record the RPC results in tests/fixtures/{netperf,flent} and rpc_load.tar.xz: netperf and flent between two network
# namespaces of one machine, over a link of 200 Mbit/s, with CUBIC and BBR. rpc_load.tar.xz is a whole archive, RPCs of
# 10 kB and 1 MB at loads of 1 to 8 pairs of connections. Needs root, iproute2 and Debian's sources in deb822 form.
#
#     sudo scripts/record_rpc.sh [FOLDER]
#
# The kernels of small machines have no netem, so the delay is the queue's; where there is netem, it adds 10 ms.
set -euo pipefail

folder=${1:-tests/fixtures}
server=10.77.0.1
listening=
added=/etc/apt/sources.list.d/record_rpc.sources

install_tools() {
    # netperf is in the component non-free: the machine's own sources, with that component.
    sed '/^$/q; s/^Components:.*/Components: non-free/' /etc/apt/sources.list.d/debian.sources >"$added"
    apt-get update
    apt-get install --yes --no-install-recommends netperf flent fping
}

make_link() {
    ip netns add rpc_server
    ip netns add rpc_client
    ip link add rpc0 netns rpc_server type veth peer name rpc1 netns rpc_client
    ip -n rpc_server address add "$server/24" dev rpc0
    ip -n rpc_client address add 10.77.0.2/24 dev rpc1
    for side in server client; do
        ip -n "rpc_$side" link set lo up
    done
    ip -n rpc_server link set rpc0 up
    ip -n rpc_client link set rpc1 up
    ip -n rpc_client link set rpc1 gso_max_segs 1
    for end in server:rpc0 client:rpc1; do
        tc -n "rpc_${end%:*}" qdisc add dev "${end#*:}" root handle 1: tbf rate 200mbit burst 64kb limit 500kb
        tc -n "rpc_${end%:*}" qdisc add dev "${end#*:}" parent 1: netem delay 5ms 2>/dev/null || true
    done
    ip netns exec rpc_server netserver -D -4 >/dev/null 2>&1 &
    listening=$!
    sleep 1
}

clean_up() {
    if [[ -n $listening ]]; then
        kill "$listening" || true
    fi
    ip netns delete rpc_client 2>/dev/null || true
    ip netns delete rpc_server 2>/dev/null || true
    rm -f "$added"
}

run_netperf() {
    local name=$1
    shift
    ip netns exec rpc_client netperf -H "$server" -l 1 "$@" >"$folder/netperf/$name.txt" 2>&1
}

record_netperf() {
    local selected=THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION,ELAPSED_TIME,REQUEST_SIZE,RESPONSE_SIZE,BURST_SIZE
    selected+=,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,STDDEV_LATENCY
    selected+=,LOCAL_TRANSPORT_RETRANS,REMOTE_TRANSPORT_RETRANS,LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL,COMMAND_LINE
    for cc in cubic bbr; do
        run_netperf "rr_1_keyval_$cc" -j -t omni -- -d rr -r 1,1 -K "$cc" -k all
        run_netperf "rr_16k_csv_$cc" -j -t TCP_RR -- -r 128,16384 -K "$cc" -o "$selected"
        run_netperf "stream_keyval_$cc" -j -D 0.2 -t TCP_STREAM -- -K "$cc" -k "$selected,TRANSPORT_MSS,LOCAL_BYTES_SENT"
    done
    run_netperf rr_1_csv_all -j -t omni -- -d rr -r 1,1 -o all
    run_netperf rr_1_human_all -j -t omni -- -d rr -r 1,1 -O all
    run_netperf rr_burst_csv -D 0.3 -t TCP_RR -- -r 64,64 -b 4 -o "$selected"
    run_netperf rr_no_banner -P 0 -D 0.3 -t TCP_RR -- -k "$selected"
    run_netperf stream_classic -v 2 -t TCP_STREAM
    run_netperf stream_classic_interim -D 0.3 -f M -t TCP_STREAM
    run_netperf maerts_classic -t TCP_MAERTS
    run_netperf rr_classic -v 2 -t TCP_RR -- -r 128,16384
    run_netperf rr_classic_cpu -c -C -t TCP_RR
    run_netperf crr_classic -t TCP_CRR
    run_netperf udp_stream_classic -t UDP_STREAM -- -m 1400
    run_netperf udp_rr_classic -t UDP_RR
    run_netperf csv_without_labels -P 0 -t TCP_RR -- -o THROUGHPUT,P99_LATENCY
    ip netns exec rpc_client netperf -H 10.77.0.1 -p 1 -t TCP_RR >"$folder/netperf/no_server.txt" 2>&1 || true
}

record_flent() {
    local work
    work=$(mktemp --directory)
    ip netns exec rpc_client flent tcp_nup --test-parameter upload_streams=2 --test-parameter cc_algos=cubic,bbr \
        --length 3 --step-size 0.2 --host "$server" --title 'cubic and bbr' --data-dir "$work"
    ip netns exec rpc_client flent rrul --length 3 --step-size 0.2 --host "$server" --data-dir "$work"
    ip netns exec rpc_client flent tcp_1up --socket-stats --length 3 --step-size 0.2 --host "$server" --data-dir "$work"
    for test in tcp_nup rrul tcp_1up; do
        mv "$work/$test"-*.flent.gz "$folder/flent/$test.flent.gz"
    done
    rm --recursive "$work"
}

record_load() {
    # Pairs of connections, one with large and one with small RPCs each, all at the same time.
    local work selected=THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL,DIRECTION,ELAPSED_TIME,REQUEST_SIZE,RESPONSE_SIZE,BURST_SIZE
    selected+=,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,STDDEV_LATENCY,TRANSPORT_MSS
    selected+=,LOCAL_TRANSPORT_RETRANS,REMOTE_TRANSPORT_RETRANS,LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL,DEST_ADDR
    work=$(mktemp --directory)
    for repetition in 1 2 3; do
        for load in 1 2 4 8; do
            for cc in cubic bbr; do
                local into="$work/cc=$cc/load=$load/rep=$repetition" running=()
                mkdir --parents "$into"
                for client in $(seq "$load"); do
                    for size in 10000 1000000; do
                        ip netns exec rpc_client netperf -H "$server" -l 3 -j -t TCP_RR -- \
                            -r "$size,1" -K "$cc" -k "$selected" >"$into/$size-$client.txt" 2>&1 &
                        running+=("$!")
                    done
                done
                wait "${running[@]}"
            done
        done
    done
    tar --create --xz --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --directory "$work" \
        --file "$folder/rpc_load.tar.xz" cc=bbr cc=cubic
    rm --recursive "$work"
}

trap clean_up EXIT
mkdir --parents "$folder/netperf" "$folder/flent"
install_tools
make_link
record_netperf
record_flent
record_load

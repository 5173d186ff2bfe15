# shellcheck shell=bash
# To be sourced: an EPMD of a test's own.

epmd_pid=
# Whether it answers, and listens itself: where the port is taken, somebody else's EPMD answers before it has ended.
epmd_is_ours() {
  timeout 5 epmd -names >/dev/null 2>&1 &&
    find "/proc/$epmd_pid/fd" -printf '%l\n' 2>/dev/null |
    grep -qxFf <(awk '$4 == "0A" { print "socket:[" $10 "]" }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)
}
# start_epmd FIRST COUNT [ARGUMENT...]: starts an EPMD, as $epmd_pid, at one of COUNT ports from FIRST on that nobody
# else has, and exports ERL_EPMD_PORT. Who calls it ends it.
start_epmd() {
  local first=$1 count=$2 try end
  shift 2
  for try in {0..49}; do
    export ERL_EPMD_PORT=$((first + ($$ + try) % count))
    epmd "$@" &
    epmd_pid=$!
    end=$((SECONDS + 60))
    while kill -0 "$epmd_pid" 2>/dev/null; do
      if epmd_is_ours; then return 0; fi
      if ((SECONDS > end)); then
        kill "$epmd_pid"
        wait "$epmd_pid"
        echo "EPMD does not answer at port $ERL_EPMD_PORT" >&2
        return 1
      fi
      sleep 0.05
    done
  done
  epmd_pid=
  echo "EPMD has ended at each of 50 ports of $first to $((first + count - 1))" >&2
  return 1
}

#!/usr/bin/env bash
# Runs a test. A test that runs out of time tells its story before it is ended: for each of its programs, the processes
# of its nodes and the stacks of its threads, so that one occurrence is enough to find the cause.
#
# usage: deadline.sh SECONDS COMMAND [ARGUMENT...]
# Ends with the command's status, or with 124 when it ran out of time.
set -uo pipefail

seconds=$1
shift
helper=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/scripts/gdb/ergon.py

# A process group of its own, so that the programs that it starts can be ended.
set -m
"$@" </dev/null &
test=$!
sleep "$seconds" &
timer=$!
set +m
# end ID...: asks these processes and groups to end, so that they remove what they have made; then ends what is left.
end() {
  kill -TERM -- "$@" 2>/dev/null
  for _ in {1..20}; do
    kill -0 -- "$@" 2>/dev/null || return
    sleep 0.1
  done
  kill -KILL -- "$@" 2>/dev/null
}
stop() {
  kill -KILL -- "-$timer" 2>/dev/null
  end "-$test"
  wait 2>/dev/null
}
trap 'stop; exit 130' INT TERM HUP

wait -n "$test" "$timer"
status=$?
if kill -0 "$timer" 2>/dev/null; then
  stop
  exit $status
fi

# members: the process ids of the group, and of what these have started, which may be in groups of their own.
members() {
  local stat
  for stat in /proc/[0-9]*/stat; do
    sed -E 's/^([0-9]+) \(.*\) . ([0-9]+) ([0-9]+) .*/\1 \2 \3/' "$stat" 2>/dev/null
  done | awk -v group="$test" '
    { parent[$1] = $2; if ($3 == group) found[$1] = 1 }
    END {
      do {
        more = 0
        for (id in parent) if (!(id in found) && parent[id] in found) more = found[id] = 1
      } while (more)
      for (id in found) print id
    }' | sort -n
}

echo "OUT OF TIME: $* has not ended after $seconds s"
processes=$(members)
for process in $processes; do
  echo "==== process $process: $(tr '\0' ' ' <"/proc/$process/cmdline")"
  case $(readlink "/proc/$process/exe") in
    /bin/* | /usr/*) continue ;;  # shells and other tools
  esac
  if ! command -v gdb >/dev/null; then
    echo "gdb is not installed, so there are no stacks"
    continue
  fi
  DEBUGINFOD_URLS='' timeout --kill-after=5 60 gdb -nx -batch -p "$process" -ex 'set pagination off' \
    -ex "source $helper" -ex 'ergon ps' -ex 'thread apply all backtrace 40' </dev/null 2>&1 |
    grep -vE '^(\[New LWP|Reading symbols|warning: |Download failed)' | head -n 1500
done
# shellcheck disable=SC2086  # ids
end $processes
stop
exit 124

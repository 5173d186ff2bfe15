#!/usr/bin/env bash
# usage: dialogue.sh PROGRAM
#
# Starts an Erlang node, which starts PROGRAM (the example erlang_pool) under a supervisor and talks to its pool. Ends with
# 0 if every answer is the one that was expected. Needs escript, of the Debian package erlang-base.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $# != 1 || ${1:-} == --help ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  [[ ${1:-} == --help ]] && exit 0
  exit 2
fi
if ! command -v escript >/dev/null; then
  echo "dialogue.sh: there is no escript here: apt-get install erlang-base"
  exit 77
fi
HOME=$(mktemp -d)  # Erlang puts a cookie there
export HOME
# An EPMD of its own, which ends with the dialogue.
. "$here/../../tests/epmd.sh"
trap 'kill "$epmd_pid" 2>/dev/null || true; wait "$epmd_pid" 2>/dev/null || true; rm -rf "$HOME"' EXIT
start_epmd 8000 6000 || exit 1
program=$(realpath "$1")
escript "$here/dialogue.escript" "$program"
# Alone, with an input that ends at once, and a log that nobody reads.
mkfifo "$HOME/unread"
exec 3</dev/null 5<>"$HOME/unread"
exec 4>"$HOME/unread" 5<&-
RELEASE_COOKIE=secret "$program" "alone$$@127.0.0.1" <&3 2>&4
if ((8#$(sed -n 's/^flags:[^0-9]*//p' /proc/self/fdinfo/3) & 8#4000)); then
  echo "dialogue.sh: its input is non-blocking now, also for others"
  exit 1
fi

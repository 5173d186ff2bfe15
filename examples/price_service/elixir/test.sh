#!/usr/bin/env bash
# usage: test.sh PROGRAM
#
# Runs the tests of the shop (mix test) against PROGRAM, which its supervisor starts. Nothing is written into this folder. Ends
# with 0 if they pass, with 77 where there is no mix. Needs the Debian packages elixir and erlang-inets.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ $# != 1 || ${1:-} == --help ]]; then
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  [[ ${1:-} == --help ]] && exit 0
  exit 2
fi
if ! command -v mix >/dev/null; then
  echo "test.sh: there is no mix here: apt-get install elixir"
  exit 77
fi
PRICE_SERVICE=$(realpath "$1")
export PRICE_SERVICE PRICE_NODE="prices$$@127.0.0.1"
work=$(mktemp -d)
export MIX_ENV=test MIX_BUILD_PATH=$work/build MIX_HOME=$work/mix LC_ALL=C.UTF-8
# An EPMD of its own, which ends with the test.
. "$here/../../../tests/epmd.sh"
trap 'kill "$epmd_pid" 2>/dev/null || true; wait "$epmd_pid" 2>/dev/null || true; rm -rf "$work"' EXIT
start_epmd 26000 5000 || exit 1
cd "$here"
elixir --name "shop$$@127.0.0.1" --cookie secret -S mix test

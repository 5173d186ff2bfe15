#!/usr/bin/env bash
# usage: observer_pictures.sh PROGRAM FOLDER
#
# Starts Erlang's observer on a display of its own, lets it look at PROGRAM (the example erlang_pool), and writes a picture
# of each of its pages to FOLDER, for people. Ends with 1 if observer has ended meanwhile. No test of ctest's: it needs the
# Debian packages erlang-observer, xvfb and imagemagick.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

. "$here/tls_files.sh"
command -v escript >/dev/null || absent escript erlang-base
command -v Xvfb >/dev/null || absent Xvfb xvfb
command -v import >/dev/null || absent import imagemagick
erl -noshell -eval 'halt(case code:which(observer_wx) of non_existing -> 1; _ -> 0 end).' ||
  absent observer erlang-observer
mkdir -p "$2"
pids=()
HOME=$(mktemp -d)  # Erlang puts a cookie there
trap 'kill "${pids[@]}" 2>/dev/null || true; wait; rm -rf "$HOME"' EXIT
export ERL_EPMD_PORT=$((14000 + $$ % 6000)) DISPLAY=:$((100 + $$ % 900)) HOME
epmd &
pids+=($!)
Xvfb "$DISPLAY" -screen 0 1000x750x24 -nolisten tcp >/dev/null 2>&1 &
pids+=($!)
escript "$here/observer_pictures.escript" "$(realpath "$1")" "$(realpath "$2")"

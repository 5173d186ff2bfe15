#!/usr/bin/env bash
# How scripts/test ends, with a setup, a cmake and suites that are played: its last line is the sum, and who ends it has not
# seen it pass. And what the scripts share: they work whatever CDPATH is, by a link, and help wherever --help stands.
#
# usage: test_script.sh SOURCE_DIR
set -euo pipefail

source_dir=$1
. "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

checkout=$work/checkout
mkdir -p "$checkout/scripts" "$work/bin"
cp "$source_dir"/scripts/{test,check,common.sh} "$checkout/scripts"
printf '#!/bin/sh\n' >"$checkout/scripts/setup"
# Two tests in each build.
cat >"$checkout/scripts/suites" <<'SUITES'
#!/bin/sh
mkdir -p "$1"
printf 'one\t1\tpassed\ntwo\t1\t%s\n' "${RESULT:-passed}" >"$1/suites.tsv"
[ "${RESULT:-passed}" = passed ]
SUITES
# Sends SIGNAL to scripts/test when it comes to asan-ubsan.
cat >"$work/bin/cmake" <<'CMAKE'
#!/bin/sh
case "$*" in
  *--preset?asan-ubsan*) [ -z "${SIGNAL:-}" ] || kill "-$SIGNAL" "$(cat "$PIDS")" ;;
esac
CMAKE
chmod +x "$checkout"/scripts/{setup,suites} "$work/bin/cmake"
export PATH=$work/bin:$PATH PIDS=$work/pid

# ends STATUS LINE: scripts/test ends so.
ends() {
  local status=0 said
  # The shell that writes its number is the script afterwards.
  # shellcheck disable=SC2016  # is for that shell
  said=$(bash -c 'echo $$ >"$PIDS"; exec "$0"' "$checkout/scripts/test" 2>&1) || status=$?
  [[ $status == "$1" && $(tail -n 1 <<<"$said") == "$2" ]] || fail "not '$2', $1: status $status, $said"
}
ends 0 "6 passed, 0 failed"
RESULT=failed ends 1 "1 passed, 1 failed"
# INT and HUP may be ignored where this runs, and then by what it starts.
SIGNAL=TERM ends 143 "2 passed, 1 failed"

# refused SENTENCE SCRIPT ARGUMENT...
refused() {
  local sentence=$1 script=$2 said
  shift 2
  ! said=$("$checkout/scripts/$script" "$@" 2>&1) || fail "scripts/$script $* is not refused"
  [[ $(grep "^$script: " <<<"$said") == "$script: $sentence" ]] || fail "scripts/$script $*: $said"
}
refused "--quick leaves out what --everything adds: one of them" test --quick --everything
refused "--quick leaves out what --long adds: one of them" check --long --quick
refused "unknown argument '--fast', see --help" test --fast

[[ $("$checkout/scripts/test" --quick --help) == "usage: scripts/test "* ]] || fail "--help that is not first is no help"
ln -s "$checkout/scripts/test" "$work/linked"
[[ $("$work/linked" --help) == "usage: scripts/test "* ]] || fail "a link to a script is not the script"
# shellcheck disable=SC2016  # is for that shell
[[ $(cd "$checkout" && CDPATH=. bash -c '. scripts/common.sh && echo "$root"') == "$checkout" ]] || fail "with CDPATH, root is not $checkout"
exit $failed

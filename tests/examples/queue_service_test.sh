#!/usr/bin/env bash
# Tests the example queue_service, whose program is the first argument.
set -u
export LC_ALL=C
program=$(realpath "$1")
[[ -x $program ]] || { echo "usage: $0 QUEUE_SERVICE"; exit 2; }
work=$(mktemp -d)
background=
cleanup() {
  [[ -n $background ]] && kill -KILL "$background" 2>/dev/null
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1

failures=0
# check NAME COMMAND...: runs the command, prints the name and whether it succeeded.
check() {
  local name=$1
  shift
  if "$@"; then
    printf 'ok      %s\n' "$name"
  else
    printf 'FAILED  %s\n' "$name"
    failures=$((failures + 1))
    sed 's/^/        | /' out err | head -20
  fi
}
is() { [[ $1 == "$2" ]] || { printf '        %s, expected %s\n' "$1" "$2"; return 1; }; }
prints() { grep -qE -- "$1" out || { printf '        not printed: %s\n' "$1"; return 1; }; }
says() { grep -qF -- "$1" err || { printf '        not on standard error: %s\n' "$1"; return 1; }; }
silent() { [[ ! -s err ]]; }
# run ARGUMENT...: output goes to out, messages to err, the exit status to $status.
run() {
  "$program" "$@" >out 2>err
  status=$?
}
same_as_deque() { is "$status" 0 && silent && prints '^all as with a std::deque'; }

run --operations 20000
check 'a small run' same_as_deque
check 'says how many' prints '^20000 operations of 8 customers in '
run -n 1 -c 1
check 'one operation' same_as_deque
run -n 10 -c 100
check 'more customers than operations' same_as_deque
run -n 20001 -c 7 -s 18446744073709551615
check 'another seed and an uneven share' same_as_deque
check 'all of the uneven share' prints '^20001 operations of 7 customers'

run --help
check 'help' is "$status" 0
check 'help explains' prints '^  -n,--operations N '
for wrong in '--operations 0' '-n x' '-c 0' '-c 10001' '-s -1' '--nonsense' 'argument'; do
  # shellcheck disable=SC2086
  run $wrong
  check "wrong: $wrong" is "$status" 2
  check "wrong: $wrong is explained" says "Try 'queue_service --help'."
done

for signal in INT TERM; do
  # A shell's background process ignores SIGINT unless it has job control.
  set -m
  "$program" -n 100000000 >out 2>err &
  background=$!
  set +m
  # Its node has threads, so it has begun; it has work for minutes.
  until [[ $(find "/proc/$background/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l) -gt 3 ]]; do
    kill -0 "$background" 2>/dev/null || break
    read -rt 0.01 <> <(:) || true
  done
  kill -"$signal" "$background"
  wait "$background"
  status=$?
  background=
  check "SIG$signal ends it in order" is "$status" "$([[ $signal == INT ]] && echo 130 || echo 143)"
  check "SIG$signal: it says so" prints ', then interrupted, in '
  check "SIG$signal: what was done is right" prints '^all as with a std::deque'
done

[[ $failures == 0 ]] || { echo "$failures failed"; exit 1; }

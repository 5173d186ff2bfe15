# shellcheck shell=bash disable=SC2034
# Sourced by the tests of the examples with the program's path as argument: changes to a scratch folder,
# which is removed at the end, together with what runs in the background.
set -u
export LC_ALL=C
program=$(realpath "$1")
[[ -x $program ]] || { echo "usage: $0 PROGRAM"; exit 2; }
work=$(mktemp -d)
background=
cleanup() {
  # Waited for: what still writes in the folder keeps it from being removed.
  [[ -z $background ]] || { kill -KILL "$background" && wait "$background"; } 2>/dev/null
  chmod -R u+rwx "$work" 2>/dev/null
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
    [[ -s err ]] && sed 's/^/        | /' err | head -20
  fi
}
is() { [[ $1 == "$2" ]] || { printf '        %s, expected %s\n' "$1" "$2"; return 1; }; }
prints() { grep -qE -- "$1" out || { printf '        not printed: %s\n' "$1"; return 1; }; }
says() { grep -qF -- "$1" err || { printf '        not on standard error: %s\n' "$1"; return 1; }; }
silent() { [[ ! -s err ]]; }
# run ARGUMENT...: the program's output goes to out, its messages to err, its exit status to $status.
run() {
  "$program" "$@" >out 2>err
  status=$?
}
# open_unread FILE-DESCRIPTOR: opens it as a pipe that nobody reads any more.
open_unread() {
  local reader
  mkfifo unread
  exec {reader}<>unread
  eval "exec $1>unread"
  exec {reader}<&-
  rm unread
}
# run_unread ARGUMENT...: as run, but nobody reads the output.
run_unread() {
  open_unread 9
  "$program" "$@" >&9 2>err
  status=$?
  exec 9>&-
}
# run_as_nobody ARGUMENT...: likewise, by a user without rights: for root with a copy that he may read.
run_as_nobody() {
  if [[ $(id -u) != 0 ]]; then
    run "$@"
    return
  fi
  chmod 711 .
  cp "$program" of_nobody
  setpriv --reuid 65534 --clear-groups ./of_nobody "$@" >out 2>err
  status=$?
}
# start ARGUMENT...: as run, in the background, as $background. With job control, because without it a
# shell's background process ignores SIGINT.
start() {
  set -m
  "$program" "$@" >out 2>err &
  background=$!
  set +m
}
# eventually CONDITION...: waits until it is true, a minute at most.
eventually() {
  local end=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < end)) || return 1
    read -rt 0.01 <> <(:) || true
  done
}
has_ended() { [[ $(cut -d' ' -f3 "/proc/$background/stat" 2>/dev/null) =~ ^Z?$ ]]; }
# await_end: waits for the program in the background, and kills it after a minute; its exit status is $status.
await_end() {
  eventually has_ended || kill -KILL "$background"
  wait "$background"
  status=$?
  background=
}
# The last command of a test.
finish() { [[ $failures == 0 ]] || { echo "$failures failed"; exit 1; }; }

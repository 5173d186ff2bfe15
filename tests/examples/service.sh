# shellcheck shell=bash disable=SC2034,SC2154
# Sourced before checks.sh, whose functions it uses, by the tests of services: starts one, and stops it. It prints "listening at ... port N".

listens() { grep -qs '^listening at ' out && catches_signals; }
# SIGINT and SIGTERM, bits 1 and 14: it says where it listens a moment before.
catches_signals() {
  local caught
  caught=$(sed -n 's/^SigCgt:\t*//p' "/proc/$background/status" 2>/dev/null)
  [[ -n $caught ]] && (((16#$caught & 0x4002) == 0x4002))
}
# serve ARGUMENT...: starts a server; its port is $port.
serve() {
  rm -f out  # of the one before
  start "$@"
  eventually listens || check 'starts' false
  port=$(sed -n 's/^listening at .* port //p' out)
}
# stop SIGNAL: and wait for it; its exit status is $status.
stop() {
  kill -"$1" "$background"
  await_end
}

#!/usr/bin/env bash
# Tests the example price_service, whose program is the first argument, without Elixir: examples/price_service/elixir/test.sh is
# the rest.
deploy=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/price_service/deploy" && pwd)
. "$(dirname "$0")/../epmd.sh"
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/checks.sh"
export RELEASE_COOKIE=secret
name=prices$$@127.0.0.1
# An EPMD of its own, which ends with the test.
trap 'kill "$epmd_pid" 2>/dev/null; cleanup' EXIT
check 'its EPMD is there' start_epmd 31000 1500

# http METHOD PATH [HOST]: prints the status and all lines of the body as one.
http() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf '%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\n\r\n' "$1" "$2" "${3:-localhost}" >&3
  timeout 20 cat <&3 | tr -d '\r' | sed -n '1s/^HTTP[^ ]* \([0-9]*\) .*/\1/p; 1,/^$/!p' | paste -sd' '
  exec 3>&-
}

serve --name "$name" --pool 3
check 'it is healthy' is "$(http GET /health)" '200 ok'
check 'its numbers' is "$(http GET /stats | cut -d' ' -f1-9)" '200 workers 3 busy 0 queued 0 handled 0'
check 'more workers' is "$(http PUT /workers/5)" '200 workers 5'
check 'fewer' is "$(http PUT /workers/1)" '200 workers 1'
check 'too few' is "$(http PUT /workers/0)" '400 incorrect value: workers: 0 is outside 1..1000'
check 'no number' is "$(http PUT /workers/9x)" '400 workers: "9x" is no number'
check 'another page' is "$(http GET /other)" '404 there are GET /health, GET /stats and PUT /workers/N'
check "by another's name" is "$(http PUT /workers/5 evil.example)" '403 the host is neither 127.0.0.1 nor localhost'
exec 4<>"/dev/tcp/127.0.0.1/$port"  # says nothing
check 'while another client says nothing' is "$(http GET /health "127.0.0.1:$port")" '200 ok'
exec 4>&-
run --name "other$name" --http-port "$port"
check 'the port is taken' is "$status" 1
check 'and it says what to do' says "--http-port $port: Address already in use; somebody else does: choose another one, or 0"
run --name "$name"
check 'the name is taken' is "$status" 1
check 'and it says so, too' says "price_service: "
stop TERM
check 'SIGTERM ends it in order' is "$status" 0
serve --name "$name"
stop INT
check 'so does Ctrl-C' is "$status" 0
serve --name "$name"
{ kill -KILL "$background" && wait "$background"; } 2>/dev/null
background=
serve --name "$name"
check 'one that was killed is started again under its name' is "$(http GET /health)" '200 ok'
stop TERM
(unset RELEASE_COOKIE && HOME=$work run --name "$name" && exit "$status")
check 'no cookie' is "$?" 1
check 'and it says where one may be' says "RELEASE_COOKIE are empty, and '$work/.erlang.cookie': No such file"
run --name short
check 'no name of a node' is "$status" 1
check 'and it says why' says '"short" is not of the form name@host'
"$program" --name "$name" >/dev/full 2>err
check 'a full disk: exit status 1' is "$?" 1
check 'a full disk is reported' says 'price_service: cannot write to standard output: No space left on device'
run_unread --name "$name"
check 'nobody reads the output: exit status 1' is "$status" 1
check 'and it is reported' says 'price_service: cannot write to standard output: Broken pipe'
# As somebody who must not, if there are such ports here.
if (($(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) > 1)); then
  run_as_nobody --name "$name" --http-port 1
  check 'no permission' is "$status" 1
  check 'and it says what to do' says '--http-port 1: Permission denied; choose one from 1024 on'
fi
exec 5</dev/null
run --name "$name" --stop-with-input <&5
check 'it ends with its input' is "$status" 0
check 'which stays as it was' is "$((8#$(sed -n 's/^flags:[^0-9]*//p' /proc/self/fdinfo/5) & 8#4000))" 0
exec 5<&-

run --help
check 'help' is "$status" 0
for wrong in '--http-port 65536' '--pool 0' '--queue 0' '--work nan' '--log-level loud' '--nonsense' 'argument'; do
  # shellcheck disable=SC2086
  run $wrong
  check "wrong: $wrong" is "$status" 2
  check "wrong: $wrong is named" says "${wrong%% *}"
done

# The unit, as systemd reads it, with the program that is there.
if command -v systemd-analyze >/dev/null; then
  sed "s|^ExecStart=/usr/local/bin/price_service|ExecStart=$program|" "$deploy/price_service.service" >price_service.service
  systemd-analyze verify ./price_service.service >out 2>err
  check 'the unit is one' is "$?" 0
  check 'without a warning' silent
  # shellcheck disable=SC2046
  run --help $(sed -n "s/^ExecStart=[^ ]* //; T; s|/etc/|$deploy/|; p" price_service.service)
  check 'its command line is right' is "$status" 0
else
  echo 'skipped the unit: there is no systemd-analyze here'
fi
# What the image needs, and what is said of it, is there in Debian under these names.
check 'the image has all that is linked' is \
  "$(ldd "$program" | sed -nE 's/.*lib(boost_context|fmt|spdlog|ssl)\.so.*/\1/p' | sort | paste -sd' ')" \
  'boost_context fmt spdlog ssl'

finish

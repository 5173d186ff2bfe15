#!/usr/bin/env bash
# Tests the example line_server, whose program is the first argument, with its client beside it.
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/checks.sh"
client=$(dirname "$program")/line_client

# ask TEXT: sends it over a connection of its own and prints all that is answered until that is closed.
ask() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf '%b' "$1" >&3
  timeout 20 cat <&3 2>/dev/null  # a connection that is reset ends, too
  exec 3>&-
}

serve
check 'echo' is "$(ask 'echo some text\nquit\n')" 'some text'
check 'upper' is "$(ask 'upper some text\nquit\n')" 'SOME TEXT'
check 'sum' is "$(ask 'sum 1 -2 30\nquit\n')" 29
check 'lines that come together' is "$(ask 'echo 1\necho 2\necho 3\nquit\n')" $'1\n2\n3'
check 'ends of lines as of telnet' is "$(ask 'echo 1\r\nquit\r\necho 2\r\n')" 1
check 'an empty line' is "$(ask '\nquit\n')" 'error: "" is none of echo, upper, sum, quit'
check 'no such command' is "$(ask 'add 1\nquit\n')" 'error: "add" is none of echo, upper, sum, quit'
check 'no number' is "$(ask 'sum 1 x\nquit\n')" 'error: "x" is not a number that fits'
check 'too large' is "$(ask 'sum 9223372036854775807 1\nquit\n')" 'error: the sum does not fit'
long=$(head -c 70000 /dev/zero | tr '\0' a)
check 'a line without an end' is "$(ask "$long")" 'error: the line is too long'
# Bash cannot end its side alone, as nc does.
if command -v perl >/dev/null; then
  # shellcheck disable=SC2016
  half='$socket = IO::Socket::INET->new("127.0.0.1:$ARGV[0]") or die;
    print $socket "echo 1\necho 2"; $socket->shutdown(1); print while <$socket>'
  check 'half a line at the end' is "$(timeout 20 perl -MIO::Socket::INET -e "$half" "$port")" $'1\nerror: the line has no end'
else
  echo 'skipped half a line: there is no perl here'
fi
run --port "$port"
check 'the port is taken' is "$status" 1
check 'and it says which' says "cannot listen at 127.0.0.1 port $port: Address already in use"

"$client" --port "$port" --connections 1000 --lines 20 >client.out 2>err
check '1,000 connections at once' is $? 0
check 'all answered' grep -q '^1000 connections at once, 20 lines each, all answered in ' client.out

# A request that has begun is answered, and whoever waits for nothing is told.
exec 4<>"/dev/tcp/127.0.0.1/$port"
printf 'echo here\n' >&4
read -r -t 20 answer <&4
check 'a connection that stays' is "$answer" here
stop INT
check 'SIGINT ends it in order' is "$status" 0
check 'its connections are told' is "$(timeout 20 cat <&4)" 'error: server stops'
exec 4>&-
serve
stop TERM
check 'SIGTERM does, too' is "$status" 0
check 'it says what it has done' prints '^answered 0 lines of 0 connections, refused 0$'

serve --idle 0.05
check 'idle connections are closed' is "$(ask '')" 'error: nothing came for too long'
stop INT
serve --connections 1
exec 4<>"/dev/tcp/127.0.0.1/$port"
printf 'echo first\n' >&4
read -r -t 20 answer <&4
check 'one connection' is "$answer" first
check 'more are refused' is "$(ask '')" 'error: there are too many connections'
exec 4>&-
again() { [[ $(ask 'echo again\nquit\n' 2>/dev/null) == again ]]; }
check 'until it has gone' eventually again
stop INT

run --help
check 'help' is "$status" 0
check 'help explains' prints '^  -c,--connections N '
"$program" >/dev/full 2>err
check 'a full disk: exit status 1' is "$?" 1
check 'a full disk is reported' says 'line_server: cannot write to standard output: No space left on device'
run_unread --port 0
check 'nobody reads the output: exit status 1' is "$status" 1
check 'and it is reported' says 'line_server: cannot write to standard output: Broken pipe'
for wrong in '--port 65536' '-p x' '-p nan' '-c 0' '-c nan' '-i -1' '-i nan' '-i inf' '-i 1x' '-i 86401' '--nonsense' 'argument'; do
  # shellcheck disable=SC2086
  run $wrong
  check "wrong: $wrong" is "$status" 2
  check "wrong: $wrong is explained" says "Try 'line_server --help'."
  [[ $wrong != -?' '* ]] || check "wrong: $wrong is named" says "${wrong#* }"
done
run --address nowhere
check 'a wrong address' is "$status" 1
check 'a wrong address is named' says '"nowhere" is not an IP address'
run --address 192.0.2.1
check 'an address of another machine' is "$status" 1
"$client" --help >/dev/full 2>err
check 'the client: a full disk: exit status 1' is "$?" 1
check 'the client: a full disk is reported' says 'line_client: cannot write to standard output: No space left on device'
"$client" --port 1 --connections 1 2>err
check 'no server' is $? 1
check 'no server is explained' says 'Connection refused'

finish

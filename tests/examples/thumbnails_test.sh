#!/usr/bin/env bash
# Tests the example thumbnails, whose program is the first argument. The load comes from ab (apache2-utils).
. "$(dirname "$0")/service.sh"
. "$(dirname "$0")/checks.sh"
command -v ab >/dev/null || { echo "ab is missing; on Debian, it comes with apache2-utils"; exit 1; }

# http REQUEST: sends it over a connection of its own, prints the status and all lines of the body as one.
http() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf '%s' "$1" >&3
  timeout 20 cat <&3 | tr -d '\r' | sed -n '1s/^HTTP[^ ]* \([0-9]*\) .*/\1/p; 1,/^$/!p' | paste -sd' '
  exec 3>&-
}
# post BODY: escapes are those of printf.
post() {
  local body
  printf -v body '%b' "$1"
  http $'POST /thumbnail HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: '"${#body}"$'\r\n\r\n'"$body"
}
# The service's last line: how many there were of each kind.
count() { sed -nE "s/.*\b([0-9]+) $1\b.*/\1/p" out; }
# load ARGUMENT...: ab with an image; what it gets goes to ab.out, how far it is to ab.err.
{ printf 'P6\n200 150\n255\n' && head -c 90000 /dev/zero; } >image.ppm
load() {
  stdbuf -oL ab -v 3 -r -l -p image.ppm -T image/x-portable-pixmap "$@" "http://127.0.0.1:$port/thumbnail" >ab.out 2>ab.err
}
# What ab says of its answers: their kinds, and how many have one.
answers() { grep -aoE 'Response code.*' ab.out | sort -u | paste -sd,; }
answered_with() { grep -acE "Response code.*\b$1\b" ab.out; }

serve --size 2 --max-body 100
check 'a thumbnail' is "$(post 'P6 # four by two\n4 2\n255\nAAACCCaaacccAAACCCaaaccc')" '200 P6 2 1 255 BBBbbb'
check 'a small image' is "$(post 'P6 1 1 255\nRGB')" '200 P6 1 1 255 RGB'
check 'no PPM' is "$(post 'GIF89a')" '400 magic: not P6, as a binary PPM file begins'
check 'another magic' is "$(post 'P62 2 255\n')" '400 magic: not P6, as a binary PPM file begins'
check 'no width' is "$(post 'P6 x 2 255\n')" '400 width: not a number from 1 to 10000'
check 'no height' is "$(post 'P6 2 0 255\n')" '400 height: not a number from 1 to 10000'
check 'too large a number' is "$(post 'P6 2 99999999999 255\n')" '400 height: not a number from 1 to 10000'
check 'two bytes a colour' is "$(post 'P6 2 2 65535\n')" '400 maxval: not 255, the only one that is understood'
check 'no space' is "$(post 'P6 1 1 255#abc')" '400 maxval: no space after it'
check 'too few pixels' is "$(post 'P6 2 2 255\nabc')" '400 pixels: 3 bytes, but 2 x 2 pixels have 12'
check 'too many pixels' is "$(post 'P6 1 1 255\nabcd')" '400 pixels: 4 bytes, but 1 x 1 pixels have 3'
check 'an endless comment' is "$(post 'P6 #')" '400 width: not a number from 1 to 10000'
check 'too large' is "$(post "$(head -c 101 /dev/zero | tr '\0' a)")" '413 the request has more than 100 bytes'
asks_first() { printf '%s\r\n' 'POST /thumbnail HTTP/1.1' 'Host: here' 'Connection: close' "Content-Length: $1" 'Expect: 100-continue' ''; }
check 'too large a body need not be sent' is "$(http "$(asks_first 101)"$'\n')" '413 the request has more than 100 bytes'
exec 3<>"/dev/tcp/127.0.0.1/$port"
asks_first 14 >&3
read -r -t 20 go_on <&3
check 'a client that asks first is told to go on' is "${go_on%$'\r'}" 'HTTP/1.1 100 Continue'
printf 'P6 1 1 255\nRGB' >&3
check 'and its image is taken' grep -q '^HTTP/1.1 200 OK' <(timeout 20 cat <&3)
exec 3>&-
check 'another page' is "$(http $'POST /other HTTP/1.0\r\n\r\n')" '404 there is only /thumbnail'
check 'no POST' is "$(http $'GET /thumbnail HTTP/1.0\r\n\r\n')" '405 POST an image'
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf '%s\r\n' 'HEAD /thumbnail HTTP/1.1' 'Host: here' '' 'GET /other HTTP/1.1' 'Host: here' 'Connection: close' '' >&3
timeout 20 cat <&3 | tr -d '\r' >heads
exec 3>&-
check 'a HEAD and what comes after it' is "$(sed -nE 's/^HTTP[^ ]* ([0-9]*) .*/\1/p' heads | paste -sd' ')" '405 404'
check 'HEAD: an answer without a body' is "$(grep -ciE '^content-length: 14$' heads) $(grep -cF 'POST an image' heads)" '1 0'
check 'no HTTP' is "$(http $'hello\r\n\r\n')" ''

stop TERM

# Its options file is read again at SIGHUP, wherever it is then; the command line goes before it.
echo 'log_level = "info"' >node.toml
serve --config node.toml --workers 2
reread() { kill -HUP "$background" && eventually grep -qsF -- "$1" err; }
check 'SIGHUP: the file is read again' reread "SIGHUP: $(pwd -P)/node.toml was read"
printf 'workers = 3\nmailbox_size = 9\n' >node.toml
check 'another number of workers than that of the command line is no fault' reread 'mailbox_size: 9, was 0'
echo 'mailbox_size = "many"' >node.toml
check 'SIGHUP: a fault is told' reread 'node.toml:1: mailbox_size: "many", must be '
check 'and it goes on' is "$(post 'P6 1 1 255\nRGB')" '200 P6 1 1 255 RGB'
stop TERM
check 'it ends in order' is "$status" 0

echo 'log_level = "info"' >node.toml
open_unread 9
rm -f out
set -m
"$program" --config node.toml >out 2>&9 &
background=$!
set +m
exec 9>&-
eventually listens
port=$(sed -n 's/^listening at .* port //p' out)
echo 'log_level = "nonsense"' >node.toml
kill -HUP "$background"  # it has something to say, and nobody hears it
post_goes_on() { is "$(post 'P6 1 1 255\nRGB')" '200 P6 1 1 255 RGB'; }
check 'nobody reads the log: it goes on' post_goes_on
stop TERM
check 'and ends in order' is "$status" 0

serve --size 2 --max-body 100
# The trace of a request: traced HEADER... prints that of the answer, and its flags.
trace=0af7651916cd43dd8448eb211c80319c
parent=00f067aa0ba902b7
own=00000000000000000000000000000000
traced() {
  local request=$'POST /thumbnail HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: 14\r\n' header
  for header; do request+=$header$'\r\n'; done
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf '%s\r\nP6 1 1 255\nRGB' "$request" >&3
  timeout 20 cat <&3 | tr -d '\r' | sed -nE "s/^traceresponse: 00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])\$/\1 \3/p"
  exec 3>&-
}
begins_one() { [[ $1 =~ ^[0-9a-f]{32}\ 00$ && $1 != *"${trace:16}"* && $1 != "$own"* ]] || { echo "        $1"; return 1; }; }
check 'the trace of a request is that of its answer' is "$(traced "traceparent: 00-$trace-$parent-01")" "$trace 01"
check 'one that nobody records' is "$(traced "Traceparent: 00-$trace-$parent-00")" "$trace 00"
check 'flags that are not known are not passed on' is "$(traced "TRACEPARENT:  00-$trace-$parent-ff ")" "$trace 01"
check 'a later version' is "$(traced "traceparent: 01-$trace-$parent-01-and-more")" "$trace 01"
check 'a request without a trace begins one' begins_one "$(traced)"
check 'each its own' test "$(traced)" != "$(traced)"
for wrong in '' nonsense "00-$trace-$parent" "00-$trace-$parent-1" "00-$trace-$parent-01-more" "00-$trace-$parent-01-" \
  "01-$trace-$parent-01and-more" "ff-$trace-$parent-01" "0-$trace-$parent-011" "00-${trace^^}-$parent-01" \
  "00-$trace-${parent^^}-01" "00-$own-$parent-01" "00-$trace-${own:16}-01" "00-$trace-$parent-0x" "zz-$trace-$parent-01" \
  "00_$trace-$parent-01" "00-$trace/$parent-01" "00-$trace-$parent 01" "00-${trace:1}-0$parent-01"; do
  check "no traceparent: '$wrong'" begins_one "$(traced "traceparent: $wrong")"
done
check 'two of them are none' begins_one "$(traced "traceparent: 00-$trace-$parent-01" "traceparent: 00-$trace-$parent-01")"
check 'the right half is 0' is "$(traced "traceparent: 00-${trace::16}${own:16}-$parent-01")" "${trace::16}${own:16} 01"
check 'an answer without a thumbnail has it, too' grep -q '^traceresponse: 00-' \
  <(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /other HTTP/1.0\r\n\r\n' >&3 && timeout 20 cat <&3)
run --port "$port"
check 'the port is taken' is "$status" 1
check 'and it says what to do' says "port $port: Address already in use; somebody else does: choose another --port"
stop INT
check 'SIGINT ends it in order' is "$status" 0

# Who handles a request logs with its trace id, the worker too.
serve --pool 1 --log-level debug
check 'a trace in the log' is "$(traced "traceparent: 00-$trace-$parent-01")" "$trace 01"
check 'its worker has it' grep -qE "\[trace ${trace:16}\].* an image of 1 x 1 pixels" err
check 'its connection has it' grep -qE "\[trace ${trace:16}\].* POST /thumbnail: 200" err
check 'one whose right half is 0' is "$(traced "traceparent: 00-${trace::16}${own:16}-$parent-01")" \
  "${trace::16}${own:16} 01"
check 'has the left one' grep -qE "\[trace ${trace::16}\].* an image of 1 x 1 pixels" err
stop TERM

# More connections than there may be.
serve --connections 1
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /other HTTP/1.1\r\nHost: here\r\n\r\n' >&3
read -r -t 20 first <&3
check 'one connection' is "${first%$'\r'}" 'HTTP/1.1 404 Not Found'
exec 4<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /other HTTP/1.1\r\nHost: here\r\n\r\n' >&4
timeout 20 cat <&4 | tr -d '\r' >refused
check 'more are refused' is "$(sed -n '1p;$p' refused | paste -sd,)" 'HTTP/1.1 503 Service Unavailable,there are too many connections'
check 'and may try again' grep -q '^Retry-After: 1$' refused
exec 4>&- 3>&-
again() { is "$(http $'GET /other HTTP/1.0\r\n\r\n')" '404 there is only /thumbnail' 2>/dev/null >&2; }
check 'until it has gone' eventually again
stop TERM

# More at once than there is room for.
serve --pool 1 --queue 1 --workers 4 --connections 1000
load -k -n 500 -c 50  # with connections that stay
stop TERM
check 'SIGTERM ends it in order' is "$status" 0
check 'connections stay' grep -aq '^Keep-Alive requests: *500$' ab.out
check 'all are answered, with 200 or 503' is "$(answers)" 'Response code = 200,Response code not 2xx (503)'
check 'as many as there were' is "$(count requests) $(count answered)" '500 500'
check 'each thumbnail has come' is "$(count thumbnails)" "$(answered_with 200)"
check 'each refusal has come' is "$(count refused)" "$(answered_with 503)"
check 'nothing else' is "$(count wrong) $(count failed)" '0 0'

# SIGTERM in the middle of a load without end: from then on ab is refused, but for what has been accepted.
serve --pool 1 --queue 10 --workers 4 --connections 1000
true >ab.out
loading=
# ab is in a group of its own, which nobody else ends.
trap '[[ -z $loading ]] || { kill -KILL -- "-$loading" && wait "$loading"; } 2>/dev/null; cleanup' EXIT
set -m
load -n 1000000 -c 50 &
loading=$!
set +m
in_the_middle() { (($(answered_with '(200|503)') >= 100)); }
check 'a load' eventually in_the_middle
stop TERM
check 'SIGTERM ends it in order, too' is "$status" 0
# all_of COUNTED RECEIVED...: whether nothing lacks. But ab may end when connects have failed more than ten times; each
# of its other 49 connections may lack one answer then.
all_of() {
  local lacks=0 most=0
  ! grep -q '^Test aborted' ab.err || most=49
  while (($# > 0)); do
    [[ -n $1 && -n $2 && $1 -ge $2 ]] || return 1
    ((lacks += $1 - $2))
    shift 2
  done
  ((lacks <= most))
}
check 'what was accepted is answered' all_of "$(count requests)" "$(count answered)"
all_have_come() { all_of "$(count thumbnails)" "$(answered_with 200)" "$(count refused)" "$(answered_with 503)"; }
check 'and the answers have come' eventually all_have_come
was_refused() { grep -q 'Connection refused' ab.err; }
check 'until it was refused' eventually was_refused
{ kill -KILL -- -"$loading" && wait "$loading"; } 2>/dev/null
loading=

run --help
check 'help' is "$status" 0
check 'help explains' prints '^  --queue N '
check 'help explains the options of the node' prints '^  --workers NUMBER'
"$program" >/dev/full 2>err
check 'a full disk: exit status 1' is "$?" 1
check 'a full disk is reported' says 'thumbnails: cannot write to standard output: No space left on device'
run_unread --port 0
check 'nobody reads the output: exit status 1' is "$status" 1
check 'and it is reported' says 'thumbnails: cannot write to standard output: Broken pipe'
for wrong in '--port 65536' '--port nan' '--pool 0' '--queue 0' '--size 0' '--size 10001' '--connections 0' '--max-body 0' '--max-body 1x' \
  '--workers 1' '--log-level loud' '--config nowhere' '--nonsense' 'argument'; do
  # shellcheck disable=SC2086
  run $wrong
  check "wrong: $wrong" is "$status" 2
  check "wrong: $wrong is named" says "${wrong%% *}"
  check "wrong: $wrong is explained" says "Try 'thumbnails --help'."
done
run --address nowhere
check 'a wrong address' is "$status" 1
check 'a wrong address is named' says '--address: "nowhere" is not an IP address'
run --address 192.0.2.1
check 'an address of another machine' is "$status" 1
check 'and it says what to do' says 'choose an --address of this machine'
# As somebody who must not, if there are such ports here.
if (($(cat /proc/sys/net/ipv4/ip_unprivileged_port_start) > 1)); then
  run_as_nobody --port 1
  check 'no permission' is "$status" 1
  check 'and it says what to do' says 'port 1: Permission denied; choose a --port from 1024 on'
fi

finish

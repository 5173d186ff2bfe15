#!/usr/bin/env bash
# Tests the example logpipe, whose program is the first argument.
. "$(dirname "$0")/checks.sh"

# lines COUNT: of three programs, each with numbers that rise; every tenth is an error (<11>), the others are info (<14>).
lines() { seq "$1" | awk '{ printf "<%d>app%d: number %d\n", $1 % 10 ? 14 : 11, $1 % 3, $1 }'; }
# What is left of a program's records, in their order.
numbers_of() { sed -nE "s/.*\"tag\":\"$1\",\"text\":\"number ([0-9]+)\".*/\1/p" out; }
rises() { sort -n -C -u; }

lines 30000 >log
run log
check 'a file' is "$status" 0
check 'all is written' is "$(wc -l <out)" 30000
check 'and counted' says 'read 30000 lines: 30000 written, 0 left out, 0 malformed'
for app in app0 app1 app2; do
  check "$app stays in its order" rises < <(numbers_of "$app")
done
check 'as JSON' is "$(grep -c '^{"severity":"\(info\|error\)","tag":"app[0-2]","text":"number [0-9]*"}$' out)" 30000

cp log input
run --minimum error log - <input
check 'two sources, and a least severity' is "$status $(wc -l <out)" '0 6000'
check 'what is left out is counted' says 'read 60000 lines: 6000 written, 54000 left out, 0 malformed'

printf '<11>a: one\nno priority\n<999>b: too large\n<11>no colon\n<11>: no tag\n<12>c: "q" \\ \t\n<13>d: no end' >shapes
run shapes
check 'other shapes are counted' says 'read 7 lines: 3 written, 0 left out, 4 malformed'
check 'quotes and control characters' grep -qF '{"severity":"warning","tag":"c","text":"\"q\" \\ \u0009"}' out
printf '<11>utf: \xff \xc3\xa9 \xc3 \xed\xa0\x80 \xf0\x9f\x98\x80 \xf4\x90\x80\x80 \xc0\xaf \xe2\x82' >bytes
"$program" bytes >bytes.json 2>err
utf=$'\\ufffd \xc3\xa9 \\ufffd \\ufffd\\ufffd\\ufffd \xf0\x9f\x98\x80 \\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd'
check 'what is no UTF-8 is marked' is "$(<bytes.json)" '{"severity":"error","tag":"utf","text":"'"$utf"'"}'
check 'the last line needs no end' grep -qF '{"severity":"notice","tag":"d","text":"no end"}' out
{ head -c 2000000 /dev/zero | tr '\0' x; printf '\n<11>a: after\n'; } >long
run long
check 'a line that is too long' says 'read 2 lines: 1 written, 0 left out, 1 malformed'
: >empty
run empty
check 'an empty file' says 'read 0 lines: 0 written, 0 left out, 0 malformed'

# Small mailboxes, and a reader that takes its time.
mkfifo slow
exec 5<>slow  # logpipe opens no pipe that nobody reads
exec 6<slow
"$program" --queue 1 --parsers 2 --output slow log 2>err 5<&- 6<&- &
background=$!
read -rt 60 _ <&6
exec 5<&-  # logpipe has it open: now the pipe ends with that
sleep 0.5
cat <&6 >rest
exec 6<&-
await_end
check 'a slow output loses nothing' is "$status $(wc -l <rest)" '0 29999'

exec 5<>slow
for _ in {1..10}; do cat log; done >much
"$program" --queue 1 --parsers 2 --output slow much 2>err &
background=$!
read -rt 60 _ <&5
kill -TERM "$background"
sleep 0.5  # the program is told while its output is full
cat <&5 >rest &
reader=$!
await_end
check 'a file that was not read to its end: exit status 1' is "$status" 1
check 'it says which' says 'logpipe: much: not read to its end'
check 'what has been read is written' grep -qE '^read ([0-9]+) lines: \1 written, 0 left out, 0 malformed$' err
kill "$reader"
exec 5<&-

echo '<11>a: one' >'[a,b]'
run '[a,b]'
check 'a file with an odd name' says 'read 1 lines: 1 written'
echo '<11>a: one' >-odd
run -- -odd
check 'a file, after --' says 'read 1 lines: 1 written'

run log nowhere
check 'a file that is not there beside another one' is "$status" 1
check 'it says which' says 'cannot read nowhere: No such file or directory'

status=0
"$program" empty 2>/dev/full || status=$?
check 'a full standard error ends nothing' is $status 0
status=0
"$program" nowhere 2>/dev/full || status=$?
check 'nor does it change the exit status' is $status 1

timeout 20 "$program" <&- >out 2>err
check 'a closed input' is $? 1
check 'is told' says 'Bad file descriptor'

mkfifo lonely
start lonely
is_open() { find "/proc/$background/fd" -lname "*/lonely" 2>/dev/null | grep -q .; }
check 'a pipe without a writer' eventually is_open
kill -TERM "$background"
await_end
check 'SIGTERM ends the wait for somebody who writes' is "$status" 0

mkfifo pipe
start pipe
exec 4>pipe
printf '%s\n<11>app1: begun' "$(lines 10)" >&4
written() { [[ $(wc -l <out) == "$1" ]]; }
check 'a pipe is written out while it is open' eventually written 10
kill -TERM "$background"
await_end
check 'SIGTERM ends it in order' is "$status" 0
check 'with what it has read' says 'read 11 lines: 11 written'
check 'of a line that has begun, too' grep -qF '"text":"begun"' out
exec 4>&-

start --udp 0 --output records
listens() { grep -q '^listening at ' err; }
check 'takes datagrams' eventually listens
port=$(sed -n 's/^listening at .* port //p' err)
for i in 1 2 3; do printf '<11>net: datagram %d\n' "$i" >"/dev/udp/127.0.0.1/$port"; done
recorded() { [[ -f records && $(wc -l <records) == "$1" ]]; }
check 'of a line each' eventually recorded 3
check 'in their order' is "$(tail -1 records)" '{"severity":"error","tag":"net","text":"datagram 3"}'
run --udp "$port"
check 'the port is taken' says "port $port: Address already in use"
kill -INT "$background"
await_end
check 'SIGINT ends it in order' is "$status" 0

# A terminal is one open file as input and as output: what makes one of them non-blocking does so for both.
if command -v script >/dev/null; then
  SHELL=/bin/bash script -qec "$program log - 2>err; cat /proc/self/fdinfo/0 >flags" screen </dev/null >/dev/null
  check 'a terminal, both input and output' is "$(grep -c '^{"severity":' screen)" 30000
  check 'is no error' says 'read 30000 lines: 30000 written, 0 left out, 0 malformed'
  check 'and stays as it was' is "$((8#$(sed -n 's/^flags:[^0-9]*//p' flags) & 8#4000))" 0
else
  echo 'skipped the terminal: there is no script(1)'
fi

run missing
check 'no such file' is "$status" 1
check 'which it names' says 'cannot read missing: No such file or directory'
run .
check 'a folder' says 'cannot read .: Is a directory'
run --output missing/file log
check 'an output that cannot be written' says 'cannot write to missing/file: No such file or directory'
mkfifo unread_pipe
run --output unread_pipe log
check 'a named pipe that nobody reads' says 'cannot write to unread_pipe: No such device or address'
"$program" log 2>err | head -1 >out
check 'a reader that goes' says 'cannot write to standard output: Broken pipe'
# Into the file go 1024 bytes. A write that is to begin behind them is an error, and without the trap a signal.
(ulimit -f 1; trap '' XFSZ; "$program" log >part 2>err)
check 'an output that takes a part: exit status 1' is $? 1
check 'what it has taken is counted' says " lines: $(wc -l <part) written,"
run --udp 0 --address '[::1]'
check 'no address' says '"[::1]" is not an IP address'
run --nonsense
check 'no option' is "$status" 2
check 'which is named, too' says 'no such option: --nonsense'
run --minimum loud log
check 'no severity' is "$status" 2
check 'which is named' says '"loud" is no severity of syslog'
run --help
check 'help' prints '^Usage: logpipe '
finish

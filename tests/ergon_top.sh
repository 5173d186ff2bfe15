#!/usr/bin/env bash
# usage: tests/ergon_top.sh TREESUM
#
# scripts/ergon-top shows a running node, the example treesum: its processes, its pools, once and on a terminal; and says
# what is wrong when it cannot. Skipped (77) where there is no Python.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/examples/checks.sh"
top=$here/../scripts/ergon-top
command -v python3 >/dev/null || exit 77

export ERGON_OBSERVER_TOKEN=a-token-of-this-test
truncate -s 200G much
start --workers 3 --observe 0 much
observed() { grep -sqE '^treesum: see http://127.0.0.1:[0-9]+/metrics$' err; }
check 'the node says where it is observed' eventually observed
port=$(sed -nE 's|^treesum: see http://127.0.0.1:([0-9]+)/metrics$|\1|p' err)

# shows ARGUMENT...: what ergon-top prints, on out, its messages on err.
shows() { "$top" "$@" >out 2>err; }
# fails WITH ARGUMENT...: it ends with 1 and this sentence.
fails() {
  local sentence=$1
  shift
  shows "$@"
  is "$?" 1 && says "ergon-top: $sentence"
}
pool_works() { shows --once "$port" --pools && grep -qE '^<[^ ]+>  +3 +[1-3] .*treesum::HashPool' out; }
check 'the pool, with its three workers' eventually pool_works
check 'processes, by an address' shows --once "127.0.0.1:$port" --sort name
check 'the node first' grep -qE '^treesum@localhost  up 00:[0-9:]+  processes: [0-9]+ \(spawned ' out
check 'what they are sorted by' prints '^processes: [0-9]+, shown: [0-9]+, sorted by name$'
check 'the heads of a table' prints '^PID +NAME +STATE +QUEUED +HIGH +HELD +HANDLED +TIME +BEHAVIOUR'
check 'a process with its behaviour' prints '^<treesum@localhost\.[0-9.]+> .* treesum::HashPool'
check 'only what is searched for' shows --once "http://localhost:$port/" --search HASHPOOL --limit 1
check 'how many there are of that' prints ', sorted by queued, with "HASHPOOL": 1$'
is_one_row() { is "$(grep -c '^<' out)" 1; }
check 'one row' is_one_row
check 'odd characters are searched for' shows --once "$port" --search 'a&b=% é'
none() { ! grep -q '^<' out; }
check 'and not found' none
printf '%s\n' "$ERGON_OBSERVER_TOKEN" >token
unset ERGON_OBSERVER_TOKEN
check 'a token in a file' shows --once "$port" --token-file token

check 'without a token' fails "127.0.0.1:$port wants a token: give it in ERGON_OBSERVER_TOKEN or with --token-file FILE" \
  --once "$port"
ERGON_OBSERVER_TOKEN=another-token-of-16 check 'with a wrong one' fails "127.0.0.1:$port refuses the token" --once "$port"
check 'without the file' fails '--token-file: "none": No such file or directory' --once "$port" --token-file none
check 'without a terminal' fails 'there is no terminal: --once prints one screen as plain text' "$port" --token-file token
check 'nobody there' fails 'nobody listens at 127.0.0.1:1: start an observer in the program' --once 1
check 'no such name' fails '"no.such.name.invalid" is not known: ' --once no.such.name.invalid
for wrong in 127.0.0.1:nine 70000 '[::1' 1:2:3 host/path; do
  check "the address $wrong" fails "address: \"$wrong\", must be HOST:PORT, HOST or PORT" --once "$wrong"
done
check 'its help' shows --help
check 'which tells the keys' grep -q 'Keys: q quits' out

# On a terminal: each key is typed when what it follows is there.
cat >typist.py <<'PYTHON'
import os, pty, sys

steps = [("sorted by queued", "s"), ("sorted by handled", "p"), ("by messages that wait", "/Hash\r"),
                ('with "Hash"', "q")]
process, terminal = pty.fork()
if process == 0:
    os.environ.update(TERM="xterm", LINES="24", COLUMNS="160")
    os.execv(sys.argv[1], sys.argv[1:])
seen = ""
for awaited, keys in steps:
    while awaited not in seen:
        part = os.read(terminal, 65536)
        if not part:
            sys.exit(f"ended before {awaited}: {seen}")
        seen += part.decode("utf-8", "replace")
    seen = ""
    os.write(terminal, keys.encode())
try:
    while os.read(terminal, 65536):
        pass
except OSError:
    pass  # its end
sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
PYTHON
types() { timeout 60 python3 typist.py "$top" "$port" --token-file token --interval 0.5 >out 2>err; }
check 'keys, on a terminal' types

kill -TERM "$background"
wait "$background"
background=
check 'a node that has ended' fails "nobody listens at 127.0.0.1:$port" --once "$port"
finish

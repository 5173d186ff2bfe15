#!/usr/bin/env bash
# usage: tests/ergon_top.sh TREESUM
#
# scripts/ergon-top shows a running node, the example treesum: its processes, its pools, once and on a terminal; and says
# what is wrong when it cannot. Skipped (77) where there is no Python.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/examples/checks.sh"
top=$here/../scripts/ergon-top
if ! command -v python3 >/dev/null || ! python3 -c 'import curses, http.client, pty' 2>/dev/null; then
  echo 'skipped: there is no Python 3 with curses'
  exit 77
fi

export ERGON_OBSERVER_TOKEN=a-token-of-this-test
truncate -s 200G much
start --workers 3 --observe 0 much
renice -n 19 -p "$background" >/dev/null  # it has no end, and other tests want to come to theirs
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
# keeps_secret WITH ARGUMENT...: it fails with this sentence, and no line of what it says has the token.
keeps_secret() { fails "$@" && ! grep -q secret err; }
unusable='the token has a space, a line end or another character that is no visible ASCII'
printf 'a-secret-of-this-test\nnext line\n' >two_lines
printf 'a-secret-of-t\303\251st\n' >letters
check 'with a file of two lines' keeps_secret "--token-file: \"two_lines\": $unusable" --once "$port" --token-file two_lines
check 'with a token of other letters' keeps_secret "--token-file: \"letters\": $unusable" --once "$port" --token-file letters
ERGON_OBSERVER_TOKEN=$'a-secret\rof-this-test' check 'with such a one in the environment' keeps_secret \
  "ERGON_OBSERVER_TOKEN: $unusable" --once "$port"
: >empty
check 'with an empty file' fails '--token-file: "empty": it is empty' --once "$port" --token-file empty
check 'without the file' fails '--token-file: "none": No such file or directory' --once "$port" --token-file none
check 'without a terminal' fails 'there is no terminal: --once prints one screen as plain text' "$port" --token-file token
check 'nobody there' fails 'nobody listens at 127.0.0.1:1: start an observer in the program' --once 1
# A label has 63 characters at most: nobody is asked for this name.
long=$(printf '%064d' 0).invalid
check 'no such name' fails "\"$long\" is not known: " --once "$long"
for wrong in 127.0.0.1:nine 70000 "$(printf '1%05000d' 0)" '[::1' 1:2:3 host/path; do
  check "the address ${wrong:0:20}" fails "address: \"$wrong\", must be HOST:PORT, HOST or PORT" --once "$wrong"
done
# refused WITH ARGUMENT...: it ends with 2 and this sentence, and asks nobody.
refused() {
  local sentence=$1
  shift
  shows "$@"
  is "$?" 2 && says "ergon-top: error: $sentence"
}
check 'pools that are sorted' refused '--sort is for processes: without --pools' --once 1 --pools --sort queued
check 'pools that are searched' refused '--search is for processes: without --pools' --once 1 --pools --search Hash
check 'its help' shows --help
check 'which tells the keys' grep -q 'Keys: q quits' out

# On a terminal: each key is typed when what it follows is there.
cat >typist.py <<'PYTHON'
import os, pty, sys

# An s does not sort pools. In the search the last letter is deleted, then the left arrow is pressed, and in the end
# the keypad's Enter.
steps = [("sorted by queued", "s"), ("sorted by handled", "p"), ("by messages that wait", "s/Hax\x7f\x1bODsh\x1bOM"),
         ('sorted by handled, with "Hash"', "q")]
process, terminal = pty.fork()
if process == 0:
    os.environ.update(TERM=sys.argv[1], LINES="24", COLUMNS="160")
    os.execv(sys.argv[2], sys.argv[2:])
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
sys.exit(os.waitpid(process, 0)[1] != 0)
PYTHON
types() { timeout 60 python3 typist.py "$1" "$top" "$port" --token-file token --interval 0.5 >out 2>err; }
check 'keys, on a terminal' types xterm
check 'and on one without colours' types vt100

# Another service, or an observer of another version: what it answers is JSON, but not what is expected.
cat >foreign.py <<'PYTHON'
import http.client, http.server, json, sys

observer = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
observer.request("GET", "/api/node", headers={"Authorization": "Bearer " + open("token").read().strip()})
node = json.loads(observer.getresponse().read())
alive = open("alive").read()
missing = 1000 if alive == "cut" else 0  # bytes that are promised and not sent
node["processes"]["alive"] = node["processes"]["alive"] if missing or not alive else alive

class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        answers = {"/api/node": node, "/api/pools": {"in_all": 1, "pools": [{}]}}
        body = json.dumps(answers.get(self.path, {"processes": []})).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) + missing))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Service)
print(server.server_port, flush=True)
for _ in range(int(sys.argv[2])):
    server.handle_request()
PYTHON
# meets SENTENCE REQUESTS ARGUMENT...: what ergon-top says of such a service, which ends after so many requests.
meets() {
  local sentence=$1 requests=$2 foreign service
  shift 2
  rm -f started
  mkfifo started
  timeout 60 python3 foreign.py "$port" "$requests" >started &
  service=$!
  read -r foreign <started
  fails "127.0.0.1:$foreign $sentence" --once "$foreign" "$@" && wait "$service"
}
strange='is no observer of Ergon, or one of another version'
printf '' >alive
check 'an answer without what is expected' meets "$strange" 2
check 'a pool without what is expected' meets "$strange" 2 --pools
printf 'many' >alive
check 'a text for a number' meets "$strange" 1
printf 'cut' >alive
check 'an answer that is cut off' meets 'has ended the connection within its answer' 1

# says_why PATTERN: the last command has failed with one sentence.
says_why() { [[ $? == 1 ]] && grep -q "$1" err && ! grep -q Traceback err; }
full() {
  "$top" --once "$port" --token-file token >/dev/full 2>err
  says_why 'cannot write to standard output'
}
closed() {
  "$top" --once "$port" --token-file token >&- 2>err
  says_why 'no standard output'
}
check 'a full disk' full
check 'a closed output' closed

kill -TERM "$background"
wait "$background"
background=
check 'a node that has ended' fails "nobody listens at 127.0.0.1:$port" --once "$port"
finish

#!/usr/bin/env bash
# Tests the example treesum, whose program is the first argument, against find, sort and sha256sum.
. "$(dirname "$0")/checks.sh"

# What treesum ought to print for directories.
expected() { find "$@" -type f -print0 | sort -z | xargs -0r sha256sum -- 2>/dev/null; }
first() { expected "${@:2}" 2>/dev/null | head -n "$1"; }
same() { cmp -s out <(expected "$@") || { diff out <(expected "$@") | head -5; return 1; }; }

# -- names and order --

mkdir -p tree/a tree/a-b tree/sub/deep/er tree/empty 'tree/with space' tree/-dash
echo 1 >tree/a/x
echo 2 >tree/a.txt
echo 3 >tree/a-b/y
echo 4 >tree/a-
echo 5 >tree/A
echo 6 >'tree/with space/  two  '
echo 7 >'tree/sub/back\slash'
echo 8 >$'tree/sub/carriage\rreturn'
echo 9 >tree/-dash/-n
echo 10 >$'tree/sub/deep/er/\001\377\200'
echo 11 >'tree/sub/*?[x]'
echo 12 >$'tree/tab\there'
echo 13 >tree/a0
echo 14 >'tree/quote"'"'"
: >tree/sub/nothing
head -c 131072 /dev/zero >tree/sub/block
head -c 131073 /dev/zero >tree/sub/block-and-one
head -c 3000000 /dev/urandom >tree/sub/deep/big
head -c 20000000 /dev/urandom >tree/sub/deep/er/bigger
ln -s a/x tree/link-to-file
ln -s . tree/link-to-directory
for i in {1..300}; do echo "$i" >"tree/empty/n$i"; done

run tree
check 'the output is that of find | sort | sha256sum' same tree
check 'exit status 0 when all is well' is "$status" 0
check 'and no message' silent
check 'sha256sum -c agrees' sha256sum -c --quiet out
run tree/
check 'a slash at the end is kept' same tree/
run ./tree//sub
check 'paths are spelled as given' same ./tree//sub
(cd tree && "$program" . >../out 2>../err)
(cd tree && expected .) >want
check 'the current directory' cmp -s out want
run --workers 1 --mailbox 1 tree
check 'one worker, mailbox of one' same tree
run --workers 7 --mailbox 2 tree
check 'more workers than cores' same tree
run -z tree
find tree -type f -print0 | sort -z | xargs -0 sha256sum -z >want
check '--zero' cmp -s out want
mkdir 'odd' 'odd/[a,b]' 'odd/ '
echo 1 >'odd/[a,b]/f'
echo 2 >'odd/ /f'
echo 3 >odd/-f
run 'odd/[a,b]' 'odd/ '
check 'directories with odd names' same 'odd/[a,b]' 'odd/ '
(cd odd && "$program" -- -f >../out 2>../err)
check 'a file, after --' is "$(<out)" "$(cd odd && sha256sum -- -f)"
run tree/a/x
check 'a file' is "$(<out)" "$(sha256sum tree/a/x)"
run tree/sub tree/a
check 'several directories, sorted' same tree/sub tree/a
run tree/link-to-directory
check 'a link as argument is followed' is "$(wc -l <out)" "$(find tree -type f | wc -l)"
mkdir bare
run bare
check 'an empty directory' is "$status$(<out)$(<err)" 0
deep=deep
for i in {1..200}; do deep+=/directory; done
mkdir -p $deep
echo deep >$deep/file
run deep
check 'two hundred levels' same deep

# Directories whose names are parts of each other, files between them.
mkdir random
RANDOM=7
letters='-./a0~ _!b'
for i in {1..400}; do
  name=random
  for ((depth = RANDOM % 3; depth >= 0; --depth)); do
    part=
    for ((length = RANDOM % 3; length >= 0; --length)); do
      part+=${letters:RANDOM % 10:1}
    done
    part=${part//\//+}
    [[ $part == . || $part == .. ]] && part=p
    name+=/$part
  done
  { [[ -e $name ]] || mkdir -p "${name%/*}"; } 2>/dev/null && [[ ! -e $name ]] && echo "$i" >"$name"
done 2>/dev/null
run random
check "$(find random -type f | wc -l) files in random order" same random

# -- what is reported --

mkdir bad
echo 1 >bad/before
echo 2 >$'bad/new\nline'
echo 3 >bad/zz-after
ln -s nowhere bad/broken
ln -s loop bad/loop
mkfifo bad/pipe
run bad
check 'problems: exit status 1' is "$status" 1
check 'the others are done' same bad
check 'a name with a newline is escaped' sha256sum -c --quiet out
check 'and reported' says 'treesum: bad/new\nline: the name contains a newline'
check 'a broken link' says 'treesum: bad/broken: broken link to nowhere'
check 'a link to itself' says 'treesum: bad/loop: broken link'
check 'a pipe' says 'treesum: bad/pipe: skipped: it is a named pipe'
check 'all are counted' says '2 broken links, 1 name with a newline, 1 special file'
run -z bad
check '--zero: a newline is nothing special' says '; 2 broken links, 1 special file'

mkdir newlines $'newlines/a\nfolder' $'newlines/empty\nfolder'
echo 1 >$'newlines/a\nfolder/x'
echo 2 >$'newlines/a\nfolder/y'
ln -s . $'newlines/a\nlink'
mkfifo $'newlines/a\npipe'
run newlines
check 'a folder with a newline, once; nothing that is not listed' is "$(grep -F newline err | sed '$d')" \
  'treesum: newlines/a\nfolder: the name contains a newline; it is listed escaped
treesum: newlines/a\npipe: skipped: it is a named pipe'
run -z newlines
check '--zero: nor is that' is "$(grep -cF 'contains a newline' err)" 0
mkdir shown
mkfifo $'shown/\xc2\x9b31m' $'shown/\xc3\xa9' $'shown/\xe9'
run shown
check 'control characters and what is no UTF-8 are escaped' is \
  "$(sed -n 's/^treesum: shown.\(.*\): skipped.*/\1/p' err)" $'\\xc2\\x9b31m\n\xc3\xa9\n\\xe9'

run tree/a missing tree/a-b
check 'a missing argument: exit status 1' is "$status" 1
check 'with its name and the reason' says 'treesum: missing: No such file or directory'
check 'the others are done' same tree/a tree/a-b
ln -s missing dangling
run dangling tree/a
check 'a broken link as argument' says 'treesum: dangling: broken link to missing'
run '' tree/a
check 'an empty argument' is "$status$(wc -l <out)" 11
run tree tree
check 'given twice: exit status 1' is "$status" 1
check 'the files once' same tree
check 'reported' says 'treesum: tree: given twice'
check 'and counted' says '; 1 given twice'
run ./tree tree/
check 'the same directory in two spellings' same ./tree
run tree tree/sub
check 'a directory within another one' same tree
check 'reported' says 'treesum: tree/sub: given twice'
run tree/sub/ ./tree
check 'the other way round' is "$(wc -l <out)" "$(find tree -type f | wc -l)"
run tree tree/a/x tree/link-to-directory
check 'a file within a directory, and a link to it' same tree
check 'counted' says '; 2 given twice'

cp -r tree locked
chmod 000 locked/a.txt locked/sub
if [[ -r locked/a.txt ]]; then
  printf 'skipped %s\n' 'unreadable files: this user may read everything'
else
  run locked
  check 'unreadable: exit status 1' is "$status" 1
  check 'a file' says 'treesum: locked/a.txt: Permission denied'
  check 'a directory' says 'treesum: locked/sub: Permission denied'
  check 'counted' says '; 2 unreadable'
  check 'the others are done' cmp -s out <(expected locked 2>/dev/null)
fi
chmod 700 locked/a.txt locked/sub
# Its only worker reads a huge file while the walk has gone past the next one.
reads() { find "/proc/$background/fd" -lname "*/$1" 2>/dev/null | grep -q .; }
sleeps() { [[ $(cut -d' ' -f3 "/proc/$background/stat") == S ]]; }
mkdir vanishing
truncate -s 50G vanishing/a-huge
echo 1 >vanishing/b
echo 2 >vanishing/c
"$program" --workers 1 vanishing >out 2>err &
background=$!
check 'a huge file is being read' eventually reads a-huge
check 'the walk waits for it' eventually sleeps
rm vanishing/b
truncate -s 0 vanishing/a-huge
await_end
check 'a vanished file: exit status 1' is "$status" 1
check 'reported' says 'treesum: vanishing/b: vanished'
check 'counted' says '; 1 vanished'
check 'the others are done' is "$(cut -d' ' -f3 out | xargs)" 'vanishing/a-huge vanishing/c'

long=$(printf 'd%.0s' {1..250})
mkdir -p long
(cd long && for i in {1..20}; do mkdir "$long" && cd "$long" && echo 1 >f; done)
run long
check 'paths that are too long: exit status 1' is "$status" 1
check 'reported' says 'File name too long'
check 'the others are done' is "$(wc -l <out)" "$(find long -type f | awk 'length < 4096' | wc -l)"

# -- the command line --

run
check 'no argument: exit status 2' is "$status" 2
check 'and how to use it' says 'Usage: treesum'
run --help
check '--help' is "$status$(<err)$(grep -c '^  -.*--workers N' out)" 01
run --workers 0 tree
check 'a wrong value: exit status 2' is "$status" 2
check 'option and value are named' says '--workers: Value 0'
run --scale 4x tree
check 'a wrong step' says "--scale: '4x'"
run --nonsense tree
check 'an unknown option' says '--nonsense'
check 'nothing was done' is "$(<out)" ''

# -- the pool --

run --stats --workers 3 --mailbox 5 tree
check '--stats: the size of the pool' grep -qE '^ *pool_size +3$' err
check 'its mailboxes' grep -qE '^ *worker_mailbox_size +5$' err
check 'its restarts' grep -qE '^ *worker_restarts +0$' err
forwarded=$(awk '$1 == "messages_forwarded" { print $2 }' err)
check 'and what it has forwarded' test "${forwarded:-0}" -ge 5
check 'nothing was refused' grep -qE '^ *messages_unhandled +0$' err
check 'how much there was' says "treesum: $(wc -l <out) files, "
check 'the output is the same' same tree

truncate -s 200M zeros-1
for i in {2..6}; do ln zeros-1 "zeros-$i"; done
run --workers 4 --scale 1@0.05 --scale 3@0.1 --mailbox 1 --stats zeros-* tree
check '--scale: fewer while it works' says 'treesum: scaled from 4 to 1 workers'
check '--scale: more while it works' says 'treesum: scaled from 1 to 3 workers'
check 'the pool has changed' grep -qE '^ *pool_size +3$' err
expected tree >want
read -r sum _ < <(sha256sum zeros-1)
for i in {1..6}; do echo "$sum  zeros-$i"; done >>want
check 'nothing is lost' cmp out want
check 'exit status 0' is "$status" 0
rm zeros-*

# -- the end --

mkdir many
(cd many && for i in {1..3000}; do echo "$i" >"a-name-that-fills-the-pipe-$i"; done)
"$program" many 2>err | head -1 >out
status=${PIPESTATUS[0]}
check 'the reader goes away: exit status 1' is "$status" 1
check 'reported' says 'treesum: cannot write to standard output: Broken pipe'
check 'what it read is right' cmp -s out <(first 1 many)
"$program" tree >/dev/full 2>err
check 'a full disk: exit status 1' is "$?" 1
check 'reported' says 'treesum: cannot write to standard output: No space left on device'
"$program" tree >&- 2>err
check 'standard output is closed: exit status 1' is "$?" 1
check 'reported' says 'treesum: cannot write to standard output: Bad file descriptor'
"$program" tree >out 2>&-
check 'standard error is closed' same tree

# stops SIGNAL STATUS: sends it to $background and waits for its end. To read what is to be read would take longer than
# a test may.
stops() {
  kill -s "$1" "$background"
  await_end
  is "$status" "$2"
}
truncate -s 4T tree/huge
for signal in INT TERM; do
  "$program" tree >out 2>err &
  background=$!
  check "a huge file is being read" eventually reads huge
  check "SIG$signal ends it before it is read" stops $signal $((128 + $(kill -l $signal)))
  check 'it says how far it got' grep -qE '^treesum: interrupted after [0-9,]+ files?, ' err
  rm tree/huge
  printed=$(wc -l <out)
  check "the first $printed lines are right" cmp -s out <(first "$printed" tree)
  truncate -s 4T tree/huge
done
rm tree/huge

# -- observed --

# metrics: what the node tells at $port.
metrics() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
  timeout 20 cat <&3
  exec 3>&-
}
tells() { metrics | grep -qE -- "$1"; }
truncate -s 4T observed
"$program" --workers 3 --observe 0 observed >out 2>err &
background=$!
check '--observe: it says where' eventually grep -qE '^treesum: see http://127.0.0.1:[0-9]+/metrics$' err
port=$(sed -nE 's|^treesum: see http://127.0.0.1:([0-9]+)/metrics$|\1|p' err)
check 'the pool can be seen there' eventually tells '^ergon_pool_workers\{pool="[^"]*HashPool"\} 3$'
check 'SIGTERM ends it all the same' stops TERM 143
rm observed
run --observe 0.0.0.0:0 tree
check 'all addresses: exit status 2' is "$status" 2
check 'without a token, it says' says '--observe: address: "0.0.0.0" is no loopback address'
run --observe here tree
check 'no port: exit status 2' is "$status" 2
check 'and it says so' says "--observe: 'here' is not of the form [ADDRESS:]PORT"
run --observe 127.0.0.1:65536 tree
check 'no such port' says "'127.0.0.1:65536': PORT is not in range 0 to 65535"

mkfifo reader
"$program" many >reader 2>err &
background=$!
exec 3<reader
read -r _ <&3  # it has begun
# In poll(2), with output that nobody takes: treesum has written what the pipe holds.
ticks() { cut -d' ' -f14,15 "/proc/$background/stat" 2>/dev/null; }
waits() {
  local before
  before=$(ticks)
  read -rt 0.1 <> <(:)
  [[ -n $before && $(ticks) == "$before" ]]
}
check 'nobody reads: it waits' eventually waits
check 'SIGINT ends it all the same' stops INT 130
check 'it says how far it got' grep -qE '^treesum: interrupted after [0-9,]+ files, ' err
exec 3<&-

mkdir broken
(cd broken && mkfifo a-pipe-whose-message-fills-that-of-the-messages-{1..3000})
mkfifo messages
"$program" broken >out 2>messages &
background=$!
exec 3<messages
read -r _ <&3  # it has begun
check 'nobody reads its messages: it waits' eventually waits
kill -INT "$background"
kill -INT "$background"
await_end
check 'SIGINT ends it all the same, and it says so by its status' is "$status" 130
exec 3<&-

# -- a terminal --

if command -v script >/dev/null; then
  truncate -s 1G sparse
  script -qec "$program sparse" screen </dev/null >/dev/null
  rm sparse
  check 'a progress bar with bytes and rate' grep -qE 'file.* [kMG]B  .*B/s  ' screen
  check 'with the time left' grep -qE '\[#*-*\] +[0-9]+%.* left' screen
  script -qec "$program --no-progress tree/a" screen </dev/null >/dev/null
  check '--no-progress' is "$(grep -cE $'\r.*B/s' screen)" 0
else
  printf 'skipped %s\n' 'the progress bar: there is no script(1)'
fi

if ((failures > 0)); then
  printf '%d failed\n' "$failures"
  exit 1
fi
printf 'all passed\n'

#!/usr/bin/env bash
# Tests the example jobs, whose program is the first argument.
# shellcheck disable=SC2016  # what stands in single quotes is for the shells of jobs
. "$(dirname "$0")/checks.sh"

# script NAME: what is on standard input becomes a program for jobs to run; it notes its process in `pids`.
script() {
  { printf '#!/usr/bin/env bash\necho $$ >>pids\n' && cat; } >"$1"
  chmod 755 "$1"
}
# state NAME: state and tries of a job, as the table says.
state() { awk -v name="$1" '$1 == name && $2 != "|" { NF--; $1 = ""; print substr($0, 2) }' out; }
# Line number of the first line that is so.
place() { grep -nxF -m 1 -- "$1" out | cut -d: -f1; }
before() { (($(place "$1") < $(place "$2"))); }
# Gone, or nothing but a zombie of somebody else.
has_died() { [[ ! -e /proc/$1 || $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) =~ ^(Z|$) ]]; }
all_have_died() {
  local pid
  while read -r pid; do has_died "$pid" || return 1; done <pids
}
exists() { [[ -e $1 ]]; }
true >pids

# -- what comes after what --

script says <<<'echo "this is $1"; echo "and more" >&2'
cat >list <<'END'
# a diamond, from below
end     after=left,right : ./says end
left    after=top        : ./says left
	right   after=top  retries=3 timeout=1m : ./says right

top : ./says top
END
run list
check 'a diamond: exit status 0' is "$status" 0
check 'nothing to report' silent
check 'the top first' before 'top | this is top' 'left | this is left'
check 'then both sides' before 'top | this is top' 'right | this is right'
check 'the end after the left' before 'left | and more' 'end | this is end'
check 'and after the right' before 'right | and more' 'end | this is end'
check 'a table' prints '^name +state +tries +seconds$'
check 'with all of them' is "$(grep -cE '^(end|left|right|top) +succeeded +1 +[0-9]+\.[0-9]{2}$' out)" 4
"$program" <list >out 2>err
check 'from standard input' is "$? $(state end)" '0 succeeded 1'

# At the same time: the first three wait for each other.
script crowd <<'END'
touch "here.$1"
echo >>begun
until (($(wc -l <begun) >= 3)); do sleep 0.01; done
find . -name 'here.*' | wc -l >>crowds
rm "here.$1"
END
for i in {1..9}; do echo "job-$i : ./crowd $i"; done >list
run --at-once 3 list
check 'nine jobs, three at the same time' is "$status $(wc -l <crowds)" '0 9'
check 'never more' is "$(sort -n crowds | tail -1)" 3

# -- failures --

script fails_twice <<<'echo >>"tries.$1"; (($(wc -l <"tries.$1") > 2))'
cat >list <<'END'
patient retries=2 : ./fails_twice patient
hasty retries=1 : ./fails_twice hasty
next after=patient,hasty : ./says next
last after=next : ./says last
other : ./says other
crash : ./crash
lost : ./nowhere
END
script crash <<<'kill -SEGV $$'
run -n 7 list
check 'failures: exit status 1' is "$status" 1
check 'the third try succeeds' is "$(state patient)" 'succeeded 3'
check 'after 300 ms' is "$(awk '$1 == "patient" { print ($4 >= 0.3) }' out)" 1
check 'each failure is told' says 'jobs: patient: exited with status 1; again in 100 ms'
check 'the time doubles' says 'jobs: patient: exited with status 1; again in 200 ms'
check 'no third try' is "$(state hasty)" 'failed 2'
check 'what comes after it is skipped' is "$(state next)" 'skipped 0'
check 'and what comes after that' is "$(state last)" 'skipped 0'
check 'others are not' is "$(state other)" 'succeeded 1'
check 'a signal' is "$(state crash)" 'failed 1'
check 'is named' says 'jobs: crash: was ended by signal SIGSEGV'
check 'no program' is "$(state lost)" 'failed 1'
check 'is told' says 'jobs: lost: cannot start ./nowhere: No such file or directory'

script family <<<'(trap "" TERM; echo $BASHPID >>pids; echo child; sleep 60) & wait'
echo 'slow timeout=300ms retries=1 : ./family' >list
# Where the machine is slow, the time may be over before there are any.
had_children() {
  run list
  (($(grep -cx 'slow | child' out) == 2))
}
check 'it had children' eventually had_children
check 'too slow: exit status 1' is "$status" 1
check 'counts as a failure' is "$(state slow)" 'failed 2'
check 'is told' says 'jobs: slow: took too long, killed; again in 100 ms'
check 'they are gone' eventually all_have_died

# A long row, of which nothing starts.
{ echo 'job-1 : false' && seq 2 10000 | awk '{ printf "job-%d after=job-%d : true\n", $1, $1 - 1 }'; } >list
run list
check 'the first of 10,000 fails: exit status 1' is "$status" 1
check 'all others are skipped' is "$(grep -c '^job-[0-9]* *skipped *0 ' out)" 9999

# -- wrong lists: nothing starts --

# refuses LINES WORDS: both with the escapes of printf.
refuses() {
  printf 'first : ./says first\n%b\n' "$1" >list
  run list
  check "wrong: $1" is "$status $(<out)" '2 '
  check "wrong: $1: is told" is "$(<err)" "jobs: list: $(printf '%b' "$2")"
}
refuses 'a after=c : x\nb after=a : x\nc after=b : x' 'line 2: after: a circle: a after c after b after a'
refuses 'in after=self : x\nself after=self : x' 'line 3: after: a circle: self after self'
refuses 'a after=first,none : x' 'line 2: after: no job "none"'
refuses 'a after=first,, : x' 'line 2: after: no job ""'
refuses '\n# c\nfirst : x' 'line 4: name: "first" is the name of another job'
refuses 'a/b : x' "line 2: name: \"a/b\" is not 1 to 64 of A-Z a-z 0-9 - _ ."
refuses ': x' "line 2: name: \":\" is not 1 to 64 of A-Z a-z 0-9 - _ ."
refuses 'a retries=-1 : x' 'line 2: retries: "-1" is not a number from 0 to 100'
refuses 'a retries=2x : x' 'line 2: retries: "2x" is not a number from 0 to 100'
refuses 'a retries=99999999999 : x' 'line 2: retries: "99999999999" is not a number from 0 to 100'
refuses 'a retries=1 retries=2 : x' 'line 2: retries: "2" is a second one'
for time in 2 s 0s -1s 1.5s 25h 2147483647h 1d; do
  refuses "a timeout=$time : x" "line 2: timeout: \"$time\" is not a time from 1ms to 24h, as 500ms, 2s or 3m"
done
refuses 'a tries=2 : x' 'line 2: "tries=2" is no after=, retries= or timeout=, nor the : before the command'
refuses 'a: x' "line 2: name: \"a:\" is not 1 to 64 of A-Z a-z 0-9 - _ ."
refuses 'a' 'line 2: command: is missing, with a : as a word before it'
refuses 'a :' 'line 2: command: is missing, with a : as a word before it'
refuses 'a : x\r' "line 2: has control characters: write plain text, with '\\\\n' at the ends of lines"

true >list
run list
check 'empty' is "$status" 2
check 'and what to do' says 'jobs: list: no jobs; write one per line: name : command words'
"$program" </dev/null >out 2>err
check 'empty standard input' is "$? $(<err)" '2 jobs: -: no jobs; write one per line: name : command words'
"$program" - <. >out 2>err
check 'standard input that cannot be read' is "$? $(<err)" \
  '2 jobs: -: cannot read it: Is a directory; name a file that you may read'
run missing
check 'no file' says 'jobs: missing: cannot read it: No such file or directory; name a file that you may read'
run .
check 'a folder' says 'jobs: .: cannot read it: Is a directory; name a file that you may read'
chmod 000 list
as_nobody=()
if [[ $(id -u) == 0 ]]; then  # who may read everything
  chmod 711 .
  cp "$program" program
  as_nobody=(setpriv --reuid 65534 --clear-groups)
else
  ln -s "$program" program
fi
"${as_nobody[@]}" ./program list >out 2>err
check 'no permission' is $? 2
check 'and what to do' says 'jobs: list: cannot read it: Permission denied; name a file that you may read'
chmod 600 list

# -- the end --

script cleans_up <<<'trap "echo cleaned up; exit 0" TERM; echo >>begun; while true; do sleep 0.01; done'
script stays <<<'trap "touch heard" TERM; echo >>begun; while true; do sleep 0.01; done'
cat >list <<'END'
orderly : ./cleans_up
stubborn : ./stays
later : ./says later
after after=orderly : ./says after
END
# begin ARGUMENT...: both run.
both_run() { (($(wc -l <begun) == 2)); }
begin() {
  rm -f heard
  true >begun
  start --at-once 2 "$@" list
  check 'jobs run' eventually both_run
}
for signal in INT TERM; do
  # Where the machine is slow, the time may be over before the orderly one has cleaned up.
  for grace in 1 5 30; do
    begin --grace "$grace"
    kill -"$signal" "$background"
    await_end
    ! grep -qx 'orderly | cleaned up' out || break
  done
  check "SIG$signal ends it" is "$status" "$([[ $signal == INT ]] && echo 130 || echo 143)"
  check 'in order' prints '^orderly \| cleaned up$'
  check 'what ran was stopped' is "$(state orderly), $(state stubborn)" 'stopped 1, stopped 1'
  check 'nothing more has started' is "$(state later), $(state after)" 'not started 0, not started 0'
  check 'no process is left' all_have_died
done
begin --grace 60
kill -TERM "$background"
check 'SIGTERM is heard' eventually exists heard
kill -TERM "$background"
await_end
check 'a second signal kills' is "$status $(state stubborn)" '143 stopped 1'
check 'no process is left' eventually all_have_died
echo 'again retries=100 : false' >list
start list
tried_twice() { grep -qF 'again in 200 ms' err; }
check 'a job is tried again' eventually tried_twice
kill -TERM "$background"
await_end
# How many there have been by then depends on the machine.
check 'SIGTERM between two tries' is "$status $(state again | sed 's/ [0-9]*$//')" '143 stopped'

# -- output --

script many <<<'seq 1 "$1"; printf "no newline"; touch finished'
echo 'many : ./many 20000' >list
run list
check 'many lines, in order' cmp -s <(sed -n 's/^many | //p' out) <(seq 1 20000 && echo 'no newline')
rm finished
"$program" list 2>err | head -1 >out
check 'the reader goes away: exit status 1' is "${PIPESTATUS[0]} $(<out)" '1 many | 1'
check 'it says so' says 'jobs: cannot write to standard output: Broken pipe'
check 'the job was done' exists finished
"$program" list >/dev/full 2>err
check 'a full disk: exit status 1' is "$?" 1
check 'it says so' says 'jobs: cannot write to standard output: No space left on device'

script zero <<<'printf "a\0b\nnext\n"'
echo 'zero : ./zero' >list
run list
check 'a line with a zero byte' is "$(tr '\0' 0 <out | head -2)" $'zero | a0b\nzero | next'

# Nobody reads. Each of these is started by unread, and its output is read from 3 by whoever wants to.
mkfifo unread
unread() {
  true >begun
  "$program" "$@" list >unread 2>err &
  background=$!
  exec 3<unread
}
script floods <<<'trap "touch heard" TERM; echo >>begun; yes & while true; do wait || sleep 0.01; done'
echo 'flood : ./floods' >list
rm -f heard
unread --grace 60
begun() { [[ -s begun ]]; }
# The pipe is full: it works no more.
ticks() { cut -d' ' -f14,15 "/proc/$background/stat" 2>/dev/null; }
waits() {
  local before
  before=$(ticks)
  read -rt 0.1 <> <(:)
  begun && [[ -n $before && $(ticks) == "$before" ]]
}
check 'nobody reads: it waits' eventually waits
kill -TERM "$background"
check 'nobody reads: SIGTERM is heard' eventually exists heard
kill -TERM "$background"
await_end
check 'nobody reads: a second signal ends it, by its status' is "$status" 143
exec 3<&-
check 'nobody reads: no process is left' eventually all_have_died

has_begun_or_ended() { begun || has_ended; }
# Where the machine is slow, the time may be over before it has begun.
for time in 300ms 3s 30s; do
  echo "flood timeout=$time : ./floods" >list
  true >pids
  unread
  eventually has_begun_or_ended
  check "nobody reads a job with a time: it is killed after $time" eventually all_have_died
  cat <&3 >out
  await_end
  exec 3<&-
  ! begun || break
done
check 'it had begun' begun
check 'it is told' says 'jobs: flood: took too long, killed'
check 'and counts' is "$status $(state flood)" '1 failed 1'

script is_quick <<<'head -c 60000 /dev/zero | tr "\0" x; echo; head -c 60000 /dev/zero | tr "\0" x; echo; echo end'
has_run() { [[ -s pids ]] && all_have_died; }
has_run_or_ended() { has_run || has_ended; }
# Where the machine is slow, the time may be over before it has ended.
for seconds in 2 20; do
  echo "quick timeout=${seconds}s : ./is_quick" >list
  true >pids
  since=${EPOCHREALTIME/./}
  unread
  eventually has_run_or_ended
  took=$((${EPOCHREALTIME/./} - since))
  read -rt "$seconds.5" <> <(:)
  cat <&3 >out
  await_end
  exec 3<&-
  ((took * 2 > seconds * 1000000)) || break
done
check 'a program ends in time' has_run
check 'it has succeeded, though it is read later' is "$status $(state quick)" '0 succeeded 1'
check 'and nothing of it is lost' is "$(grep -c '^quick | ' out)" 3

run --help
check 'help' is "$status" 0
check 'help explains' prints '^  -n, *--at-once N '
for wrong in '--at-once 0' '--at-once 101' '--at-once nan' '--grace -1' '--nonsense' 'list more'; do
  # shellcheck disable=SC2086
  run $wrong
  check "wrong: $wrong" is "$status" 2
  check "wrong: $wrong is explained" says "Try 'jobs --help'."
done
check 'no process is left, of all that ran' eventually all_have_died

finish

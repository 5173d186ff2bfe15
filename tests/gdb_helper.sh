#!/usr/bin/env bash
# What scripts/gdb/ergon.py tells of a program that runs, and of its core file: the same as Dump, and stacks.
#
# usage: gdb_helper.sh PROGRAM OVERFLOW_PROGRAM SCRIPT COMPILER
# PROGRAM is node/debugger_program.cc, OVERFLOW_PROGRAM node/stack_overflow_program.cc. Ends with 77 where
# there is no gdb with Python, or where it may not run programs.
set -euo pipefail

program=$1
overflow_program=$2
script=$3
compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A small core file: one store of free memory, and small stacks of threads.
export MALLOC_ARENA_MAX=1
ulimit -s 512

skip() {
  echo "skipped: $*"
  exit 77
}

failures=0
fail() {
  head -n 50 <<<"FAIL: $*"
  failures=$((failures + 1))
}

# look ARGUMENT...: what gdb says, with the helper; errors of its commands, too.
look() {
  DEBUGINFOD_URLS='' timeout 120 gdb -nx -batch -ex 'set disable-randomization off' \
    -ex "source $script" "$@" 2>&1 </dev/null || true
}
# says TEXT SENTENCE: the text contains the sentence.
says() {
  [[ $1 == *"$2"* ]] || fail "no '$2' in: $1"
}
# part NAME TEXT: what was said between 'begin NAME' and the next 'begin'.
part() {
  sed -n "/^begin $1\$/,/^begin /{/^begin /!p}" <<<"$2"
}

command -v gdb >/dev/null || skip "there is no gdb"
[[ $(look -ex 'python print("has Python")') == *"has Python"* ]] || skip "this gdb has no Python"
said=$(look -ex run "$(type -P true)")
[[ $said == *"exited normally"* ]] || skip "gdb may not run programs here: $said"
says "$(look -ex 'echo loaded\n')" "loaded"

# The same words as in the program's own dump, which has times, but no numbers of threads.
plain() {
  sed -E '/^busy: /d; s/ has run for [^;]*(; processes: [0-9]+) .*/\1/; s/ for [0-9.]+ [mu]?s//g
    s/, thread [0-9]+//; s/ +/ /g; s/ $//'
}

questions=(
  -ex 'echo begin ps\n' -ex 'ergon ps'
  -ex 'echo begin asker\n' -ex 'ergon bt <gdb@localhost.3.1>'
  -ex 'echo begin two\n' -ex 'ergon bt 3.1 2'
  -ex 'echo begin full\n' -ex 'ergon bt 3.1 full 2'
  -ex 'echo begin name\n' -ex 'ergon bt sleeper'
  -ex 'echo begin child\n' -ex 'ergon bt child'
  -ex 'echo begin parent\n' -ex 'ergon bt 8.1'
  -ex 'echo begin runs\n' -ex 'ergon bt answerer'
  -ex 'echo begin blocks\n' -ex 'ergon bt blocker'
  -ex 'echo begin idle\n' -ex 'ergon bt stasher'
  -ex 'echo begin late\n' -ex 'ergon bt late'
  -ex 'echo begin napper\n' -ex 'ergon bt napper'
  -ex 'echo begin ended\n' -ex 'ergon bt 7.1'
  -ex 'echo begin unknown\n' -ex 'ergon bt 999.1'
  -ex 'echo begin nobody\n' -ex 'ergon bt nobody'
  -ex 'echo begin several\n' -ex 'ergon bt 2.1'
  -ex 'echo begin none\n' -ex 'ergon bt'
  -ex 'echo begin wrong\n' -ex 'ergon fly'
  -ex 'echo begin more\n' -ex 'ergon ps 1'
  -ex 'echo begin words\n' -ex 'ergon' -ex 'help ergon' -ex 'help ergon ps' -ex 'help ergon bt'
  # What was selected stays so.
  -ex 'frame 1' -ex 'ergon ps' -ex 'ergon bt 3.1' -ex 'echo begin frame\n' -ex 'frame'
  -ex 'echo begin end\n'
)

# check WHERE TEXT: the answers to these questions.
check() {
  local asker thread sitting
  if ! difference=$(diff <(plain <"$work/dump") <(part ps "$2" | plain)); then
    fail "$1: a dump (<) and 'ergon ps' (>) differ: $difference"
  fi
  asker=$(part asker "$2")
  says "$asker" "<gdb@localhost.3.1> debugger_program::Asker"
  # Without debug information the function that the switch is a part of.
  grep -qE '^#0 .* ergon::core::(SwitchContext|Worker::Park) ?\(' <<<"$asker" || fail "$1: the stack begins with: $asker"
  # One that was inlined has no address.
  grep -qE '^#[0-9]+ +(.* )?debugger_program::Asker::Ask ?\(' <<<"$asker" || fail "$1: no handler in: $asker"
  [[ $(tail -n 1 <<<"$asker") == *"Fiber::Entry::Run"* ]] || fail "$1: the stack ends with: $asker"
  # The numbers of frames have no gap.
  diff <(grep -oE '^#[0-9]+' <<<"$asker") \
    <(seq 0 "$(($(grep -c '^#' <<<"$asker") - 1))" | sed 's/^/#/') >/dev/null ||
    fail "$1: numbers of frames: $asker"
  [[ $(part two "$2" | grep -c '^#') == 2 ]] || fail "$1: not two frames: $(part two "$2")"
  [[ $(part full "$2" | grep -c '^#') == 2 ]] || fail "$1: not two frames with variables: $(part full "$2")"
  says "$(part name "$2")" "debugger_program::Sleeper::HandleMessage"
  says "$(part child "$2")" "debugger_program::AsksInInit::Init"
  says "$(part parent "$2")" "debugger_program::Parent::HandleMessage"
  says "$(part napper "$2")" "debugger_program::Napper::HandleMessage"

  for sitting in runs:answerer:Answerer blocks:blocker:Blocker; do
    thread=$(part "${sitting%%:*}" "$2" |
      sed -nE 's/.* ([a-z]+ debugger_program::[A-Za-z]+) runs on thread ([0-9]+): .*/\1 \2/p')
    [[ $thread == *" debugger_program::${sitting##*:} "[0-9]* ]] ||
      fail "$1: no thread in: $(part "${sitting%%:*}" "$2")"
    says "$(part ps "$2")" "running, thread ${thread##* } "
    echo "$1: ${thread% *} on thread ${thread##* }"
    threads[${sitting##*:}]=${thread##* }
  done
  says "$(part idle "$2")" "is idle, and has no stack."
  says "$(part late "$2")" "late debugger_program::Sleeper is ready, but on no thread: it waits for its turn, and has no stack."
  # The states that a difference to the dump could not show, if neither had them.
  for sitting in ' ready +1 +0 +0 +waits for a thread$' ' idle +0/1 +0 +0 +a pool: with its workers \(2\) wait 3$' \
    ' waiting +0 +0 +0 +a continuation +sleeps' ' debugger_program::Napper +ready +0 +0 +0 +waits for a thread$'; do
    grep -qE "$sitting" <<<"$(part ps "$2")" || fail "$1: no line as '$sitting' in: $(part ps "$2")"
  done
  says "$(part ended "$2")" "The process 7.1 has ended: 'ergon ps' tells which processes there are."
  says "$(part unknown "$2")" "There is no process 999.1: 'ergon ps' tells which processes there are."
  says "$(part nobody "$2")" "There is no process nobody: "
  says "$(part several "$2")" "Which one: <gdb@localhost.2.1> or <other@localhost.2.1>?"
  says "$(part none "$2")" "Whose stack? 'ergon bt PID', with a PID or a name of 'ergon ps'."
  says "$(part wrong "$2")" "There is no command 'ergon fly': 'help ergon' tells which there are."
  says "$(part more "$2")" "'ergon ps' takes no arguments."
  says "$(part words "$2")" "Processes of the C++ library Ergon, in a program or a core file."
  says "$(part words "$2")" "A line for each process, as node.Dump writes them."
  says "$(part words "$2")" "Usage: ergon bt PID"
  says "$(part frame "$2")" "debugger_program::Run"
}

declare -A threads
said=$(look -ex 'break AllIsThere' -ex "run $work/dump" "${questions[@]}" \
  -ex "generate-core-file $work/core" "$program")
check "live" "$said"
[[ -s $work/core ]] || fail "no core file: $said"
check "core" "$(look "${questions[@]}" "$program" "$work/core")"
# As it is said, so it is.
for class in Answerer Blocker; do
  says "$(look -ex "thread ${threads[$class]}" -ex bt "$program" "$work/core")" "debugger_program::$class::Handle"
done

# Of a program without debug information, which need not be there.
strip --strip-debug -o "$work/program" "$program"
said=$(look "${questions[@]}" "$work/program" "$work/core")
[[ $(part asker "$said") != *" at "* ]] || fail "there is debug information: $(part asker "$said")"
check "core, no debug information" "$said"

# Before, and afterwards.
said=$(look -ex 'echo begin before\n' -ex 'ergon ps' -ex 'break main' -ex 'break AllIsThere' \
  -ex 'starti' -ex 'echo begin first\n' -ex 'ergon ps' -ex 'continue' -ex 'echo begin main\n' -ex 'ergon ps' \
  -ex 'continue' -ex 'echo begin stopped\n' -ex 'ergon ps' -ex 'continue' -ex 'echo begin after\n' -ex 'ergon ps' \
  -ex 'echo begin end\n' "$program")
says "$(part before "$said")" "There is no program that runs, and no core file: begin with 'run'"
says "$(part first "$said")" "No node was started in this program yet."
says "$(part main "$said")" "No node was started in this program yet."
says "$(part stopped "$said")" "gdb@localhost has stopped; processes: 0"
says "$(part after "$said")" "There is no node in the program any more: all have ended."

# Programs of which nothing can be told.
strip -o "$work/stripped" "$program"
says "$(look -ex 'ergon ps' "$work/stripped" "$work/core")" "The program's symbols are missing"
says "$(look -ex "core-file $work/core" -ex 'ergon ps')" "The program's symbols are missing"
"$compiler" -x c++ -o "$work/other" - <<<'int main() {}'
says "$(look -ex 'break main' -ex run -ex 'ergon ps' "$work/other")" "There is no Ergon in this program."
says "$(look -ex 'set auto-solib-add off' -ex 'file '"$program" -ex "core-file $work/core" -ex 'ergon bt 3.1')" \
  "gdb does not have its library"

# One with another version of Ergon, and one whose memory is not there.
LC_ALL=C sed 's/slot\.sequence/slot.SEQUENCE/' "$program" >"$work/changed"
chmod +x "$work/changed"
says "$(look -ex 'break AllIsThere' -ex "run $work/dump" -ex 'ergon ps' "$work/changed")" \
  "This program's Ergon does not tell where 'slot.sequence' is: take the ergon.py of the version"
says "$(look -ex 'break AllIsThere' -ex run -ex 'set {long} &ergon_debugger_anchor = 8' -ex 'ergon ps' "$program")" \
  "Memory at 0x8 cannot be read. Is the core file complete, and of this program?"

# Who has used up its stack, and who handles a signal on another one, is on its thread all the same.
said=$(look -ex 'break Own' -ex 'run own' -ex 'echo begin overflow\n' -ex 'ergon ps' -ex 'continue' \
  -ex 'echo begin signal\n' -ex 'ergon ps' -ex 'backtrace 2' -ex 'echo begin end\n' "$overflow_program")
for moment in overflow signal; do
  grep -qE 'overflow::Deep +running, thread [0-9]+ ' <<<"$(part "$moment" "$said")" ||
    fail "$moment: $said"
done
says "$(part signal "$said")" "<signal handler called>"

[[ $failures == 0 ]]

#!/usr/bin/env bash
# scripts/suites runs what fails again, alone: what passes then is called flaky, at most two of them are let pass, and
# what each printed is kept. A test that runs out of time tells of its processes and the stacks of its threads.
#
# usage: suites_test.sh SOURCE_DIR PROGRAM
# PROGRAM is node/debugger_program.cc.
set -euo pipefail

source_dir=$1
program=$2
. "$(dirname "$0")/steps.sh"

cat >"$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(project LANGUAGES NONE)
enable_testing()
foreach(name IN LISTS TESTS)
  if(name MATCHES "^flaky")  # fails the first time
    add_test(NAME ${name} COMMAND sh -c "test -e ${name} || { touch ${name}; echo 'failed at first'; exit 1; }")
  elseif(name STREQUAL skipped)
    add_test(NAME ${name} COMMAND sh -c "exit 77")
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  elseif(name STREQUAL bad)
    add_test(NAME ${name} COMMAND false)
  elseif(name STREQUAL missing)  # its program
    add_test(NAME ${name} COMMAND "${CMAKE_CURRENT_BINARY_DIR}/nothing")
  else()
    add_test(NAME ${name} COMMAND true)
  endif()
  if(name MATCHES "sets_up$")
    set_tests_properties(${name} PROPERTIES FIXTURES_SETUP place)
  elseif(name MATCHES "^needs_it")
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED place)
  endif()
endforeach()
CMAKE

# suites TEST...: what scripts/suites says of a project with these tests, and its status at the end.
suites() {
  rm -rf "$work/build"
  quietly cmake -S "$work" -B "$work/build" -G Ninja -DTESTS="$(IFS=';' && echo "$*")"
  "$source_dir/scripts/suites" "$work/build" 2>&1 && echo "status 0" || echo "status $?"
}
# ends SAID LINES: the last lines of what was said.
ends() {
  [[ $(tail -n "$(wc -l <<<"$2")" <<<"$1") == "$2" ]] || fail "not at the end: '$2', but: $1"
}
results() { awk -F'\t' '{printf "%s %s;", $1, $3}' "$work/build/suites.tsv"; }

said=$(suites good skipped)
[[ $said != *FLAKY* && $said == *"status 0" ]] || fail "tests that pass: $said"
[[ $(results) == "good passed;skipped skipped;" ]] || fail "results: $(results)"

said=$(suites good flaky_one flaky_two)
ends "$said" $'FLAKY flaky_one (failed 1 of 3)\nFLAKY flaky_two (failed 1 of 3)\nstatus 0'
[[ $(results) == "good passed;flaky_one flaky;flaky_two flaky;" ]] || fail "results: $(results)"
grep -q "failed at first" "$work/build/failures/flaky_one.1.log" || fail "what flaky_one printed is not kept"

said=$(suites flaky_one flaky_two flaky_three)
[[ $said == *"3 tests are flaky, 2 are the most"*"status 1" ]] || fail "three flaky tests pass: $said"

said=$(suites good bad)
ends "$said" $'FAILED bad\nstatus 1'
[[ $(results) == "good passed;bad failed;" ]] || fail "results: $(results)"

said=$(suites good missing)
ends "$said" $'FAILED missing\nstatus 1'
[[ $(results) == "good passed;missing failed;" ]] || fail "results: $(results)"

said=$(suites flaky_sets_up needs_it_one needs_it_two needs_it_three)
ends "$said" $'FLAKY flaky_sets_up (failed 1 of 3)\nstatus 0'
[[ $(results | tr ';' '\n' | sort | paste -sd';') == *"flaky_sets_up flaky;needs_it_one passed;needs_it_three passed;needs_it_two passed" ]] ||
  fail "results: $(results)"

said=$("$source_dir/scripts/suites" "$work/build" -R no_such_test 2>&1) && fail "no test is no failure: $said"
[[ $said == *"no test of $work/build has this name or label: -R no_such_test"* ]] || fail "no test says: $said"

# ---- out of time

deadline=$source_dir/tests/deadline.sh
"$deadline" 60 sh -c 'exit 7' && status=0 || status=$?
[[ $status == 7 ]] || fail "a command that ends with 7 ends with $status"
mkfifo "$work/dump"  # nobody reads it, so the program waits for ever when it has started its nodes
said=$("$deadline" 5 "$program" "$work/dump" 2>&1) && status=0 || status=$?
[[ $status == 124 ]] || fail "a test that hangs ends with $status"
[[ $said == *"OUT OF TIME: $program"*"has not ended after 5 s"* ]] || fail "a test that hangs says: $said"
if command -v gdb >/dev/null && [[ $said != *"ptrace: Operation not permitted"* ]]; then
  # Its processes, and a worker's stack.
  [[ $said == *HANDLES* && $said == *"Thread 1 "* && $said == *"ergon::core::Worker"* ]] ||
    fail "a test that hangs does not show its processes and stacks: $said"
fi
# A program in a group of its own is shown, and is ended.
mkfifo "$work/other"
# shellcheck disable=SC2016  # for the other shell
said=$("$deadline" 5 bash -c 'set -m; "$0" "$1" & wait' "$program" "$work/other" 2>&1) && status=0 || status=$?
[[ $status == 124 && $said == *"$program $work/other"* ]] || fail "a hang in a group of its own: status $status, $said"
for process in /proc/[0-9]*; do
  [[ $(tr '\0' ' ' 2>/dev/null <"$process/cmdline") != *"$work/other"* ]] || fail "${process#/proc/} goes on"
done 2>/dev/null
exit $failed

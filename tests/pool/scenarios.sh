#!/usr/bin/env bash
# The tables of tests/pool/README.md say which test proves which scenario. Each number is there once, each file that a row
# links exists, and has a test of each name in quotes behind the link; a row without a test says what is not asserted.
#
# usage: scenarios.sh SOURCE_DIR
set -euo pipefail

readme=$1/tests/pool/README.md

# names_in FILE: the names of its tests, one a line, as they are written between the quotes. Those of a TEST_CASE may be
# spread over several strings and lines.
names_in() {
  case $1 in
    *.cc)
      awk '
        { text = text $0 "\n" }
        END {
          while (match(text, /TEST_CASE(_FIXTURE)?\([^"]*/)) {
            text = substr(text, RSTART + RLENGTH)
            name = ""
            while (match(text, /^[ \t\n]*"(\\.|[^"\\])*"/)) {
              part = substr(text, 1, RLENGTH - 1)
              text = substr(text, RLENGTH + 1)
              name = name substr(part, index(part, "\"") + 1)
            }
            print name
          }
        }' "$1"
      ;;
    *.escript) sed -nE 's/^ *\{([a-z0-9_]+), fun\(.*/\1/p' "$1" ;;
  esac
}

# check README NUMBER...: a line for each thing that is wrong in the tables of README, which are to have these numbers.
check() {
  local folder number where file name link_or_name='\]\(([^)]+)\)|"((\\.|[^"\\])*)"'
  folder=$(dirname "$1")
  local -A times=() names=()
  while IFS='|' read -r _ number _ where; do
    number=${number// /}
    times[$number]=$((${times[$number]:-0} + 1))
    if [[ $where != *'"'* && $where != *'not asserted: '* ]]; then
      echo "$number: no test, and not a word of what is not asserted"
    fi
    file=
    while [[ $where =~ $link_or_name ]]; do
      where=${where#*"${BASH_REMATCH[0]}"}
      name=${BASH_REMATCH[2]}
      if [[ -n ${BASH_REMATCH[1]} ]]; then
        file=${BASH_REMATCH[1]}
        if [[ ! -e $folder/$file ]]; then
          echo "$number: no such file: $file"
        elif [[ ! -v names[$file] ]]; then
          names[$file]=$(names_in "$folder/$file")
        fi
      elif [[ -z $file ]]; then
        echo "$number: before any link: $name"
      elif [[ -e $folder/$file && $'\n'${names[$file]}$'\n' != *$'\n'"$name"$'\n'* ]]; then
        echo "$number: no such test in $file: $name"
      fi
    done
    [[ $where != *'"'* ]] || echo "$number: a name without an end:${where% }"
  done < <(grep -E '^\| *[CT][0-9]+ *\|' "$1")
  for number in "${@:2}"; do
    case ${times[$number]:-0} in
      0) echo "$number: missing" ;;
      1) ;;
      *) echo "$number: ${times[$number]} rows" ;;
    esac
    unset "times[$number]"
  done
  for number in "${!times[@]}"; do
    echo "$number: no scenario has this number"
  done
}

failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}
problems=$(check "$readme" C{01..50} T{01..14})
while IFS= read -r problem; do
  [[ -z $problem ]] || fail "$problem"
done <<<"$problems"

# What it would say of each fault.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/some_test.cc" <<'END'
TEST_CASE("one") {}
TEST_CASE(
    "a \"second\" "
    "one" * Skipped()) {}
TEST_CASE_FIXTURE(Fixture<int, int>, "third") {}
END
printf '    {fourth, fun(Other) ->\n' >"$work/some.escript"
cat >"$work/README.md" <<'END'
| C01 | x | [some](some_test.cc) "one", "a \"second\" one", "third"; [other](some.escript) "fourth"; not asserted: more |
| C02 | x | not asserted: x |
| C03 | x | [some](some_test.cc) "a \"second\"", "third"; [none](none_test.cc) "one"; [other](some.escript) "fun" |
| C03 | x | "one"; [some](some_test.cc) "one |
| C04 | x | [some](some_test.cc) |
| C06 | x | not asserted: x |
END
expected="C03: no such test in some_test.cc: a \\\"second\\\"
C03: no such file: none_test.cc
C03: no such test in some.escript: fun
C03: before any link: one
C03: a name without an end: \"one
C04: no test, and not a word of what is not asserted
C03: 2 rows
C05: missing
C06: no scenario has this number"
if ! difference=$(diff <(echo "$expected") <(check "$work/README.md" C{01..05})); then
  fail "faults that were put in (<) and those that are found (>) differ:"$'\n'"$difference"
fi

echo "$(grep -cE '^\| *[CT][0-9]+ *\|' "$readme") scenarios"
[[ $failures == 0 ]]

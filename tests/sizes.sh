#!/usr/bin/env bash
# A function has at most 60 lines, a file 400, and a parameter list five references: what is larger has more than one
# subject. For headers layering.sh has a limit of its own.
#
# usage: sizes.sh SOURCE_DIR
set -euo pipefail

cd "$1"

# What is too large yet, as "file" or "file function". It fails when one of them is not needed any more.
exceptions=()

failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# measure FILE...: for each file, function and parameter list that is too large "file" or "file function", a tab, and how
# large it is. The files are as clang-format writes them. A function is a block with parentheses before it that stands in
# a namespace or a class; it is counted from its first line to its last.
measure() {
  awk -v most_lines=400 -v most_function_lines=60 -v most_references=5 '
    function finish() {
      if (file == "") return
      if (lines > most_lines) print file "\t" lines " lines"
      if (depth != 0) print file "\tthe block from line " begin[depth] " has no end"
    }
    function is_scope(text) {
      gsub(/(alignas|decltype)\([^()]*\)/, "", text)
      return text ~ /(^|[ >])(namespace|class|struct|union|enum|extern)( |$)/ && text !~ /\(/
    }
    function is_function(text) { return text ~ /\(/ && text !~ /^[^(]* = / }
    function in_scope() { return depth == 0 || scopes[depth] == depth }
    # The name before the first parenthesis.
    function name_of(text) {
      return match(text, /[A-Za-z_~][A-Za-z0-9_:~]*\(/) ? substr(text, RSTART, RLENGTH - 1) : "operator"
    }
    function look_at_length(text, from, to) {
      if (to - from + 1 > most_function_lines) print file " " name_of(text) "\t" to - from + 1 " lines"
    }
    # "Type& name" or "Type&& name", in the same pair of parentheses.
    function look_at_references(text,   i, c, level, counts) {
      if (text !~ /&.*&/) return
      for (i = 1; i <= length(text); ++i) {
        c = substr(text, i, 1)
        if (c == "(") counts[++level] = 0
        else if (c == ")" && level > 0) {
          if (counts[level] > most_references) print file " " name_of(text) "\t" counts[level] " references"
          --level
        } else if (c == "&" && level > 0 && substr(text, i - 1, 3) ~ /^[A-Za-z0-9_>]&[ ,)&]/) ++counts[level]
      }
    }
    FNR == 1 { finish(); file = FILENAME; depth = 0; statement = ""; lines = 0; raw = 0 }
    { ++lines }
    raw { if ($0 ~ /\)[a-z]*"/) raw = 0; next }
    { line = $0 }
    /R"[a-z]*\(/ && !/R"[a-z]*\(.*\)[a-z]*"/ { raw = 1; sub(/R"[a-z]*\(.*/, "\"\"", line) }
    {
      gsub(/\\\\|\\"/, "", line)
      gsub(/\047\\?.\047/, "0", line)
      gsub(/"[^"]*"/, "\"\"", line)
      sub(/[ \t]*\/\/.*$/, "", line)
      sub(/[ \t]*\\?$/, "", line)
      sub(/^[ \t]+/, "", line)
    }
    line == "" || line ~ /^#/ || line ~ /^(public|private|protected):$/ { next }
    {
      if (statement == "") first = FNR
      statement = statement (statement == "" ? "" : " ")
      for (at = 1; at <= length(line); ++at) {
        c = substr(line, at, 1)
        statement = statement c
        if (c == "{") {
          is_last = at == length(line)
          look_at_references(statement)
          measured[depth + 1] = is_last && in_scope() && is_function(statement) && !is_scope(statement)
          scopes[depth + 1] = scopes[depth] + (in_scope() && is_last && is_scope(statement))
          ++depth
          begin[depth] = first
          outer[depth] = statement
          if (is_last) statement = ""
        } else if (c == "}" && depth > 0) {
          if (measured[depth]) look_at_length(outer[depth], begin[depth], FNR)
          statement = outer[depth] c
          first = begin[depth]
          --depth
        }
      }
      if (line ~ /{}$/ && in_scope() && is_function(statement)) look_at_length(statement, first, FNR)
      if (line ~ /[;}:]$/) {
        look_at_references(statement)
        statement = ""
      }
    }
    END { finish() }' "$@"
}

mapfile -t files < <(find core gen act node -name '*.h' -o -name '*.cc' | sort)
declare -A found=()
while IFS=$'\t' read -r what size; do
  found[$what]=$size
done < <(measure "${files[@]}")
for what in "${exceptions[@]}"; do
  [[ -n ${found[$what]:-} ]] || fail "$what is not too large any more: take it out of the exceptions of $0"
  unset "found[$what]"
done
for what in "${!found[@]}"; do
  fail "$what: ${found[$what]}"
done

# What it would say of each of them.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  printf 'namespace a {\n\nclass B {\n public:\n  int F(int a) {\n'
  printf '    if (a == 1) {\n      return 1;\n    }\n%.0s' {1..20}
  printf '  }\n  B(int& a, int& b,\n    int& c, int& d, int& e, int& f);\n};\n\n'
  printf '// A line.\n%.0s' {1..330}
  printf '}  // namespace a\n'
} >"$work/large.h"
expected=$(printf '%s\n' "$work/large.h B"$'\t'"6 references" "$work/large.h F"$'\t'"62 lines" \
  "$work/large.h"$'\t'"401 lines")
if ! difference=$(diff <(sort <<<"$expected") <(measure "$work/large.h" | sort)); then
  fail "sizes that were put in (<) and those that are found (>) differ:"$'\n'"$difference"
fi

echo "${#files[@]} files; ${#exceptions[@]} exceptions"
[[ $failures == 0 ]]

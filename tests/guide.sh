#!/usr/bin/env bash
# The guide is true: each program of its pages is built in a project that only knows find_package(Ergon), run, and what it
# prints is compared with the block of text behind it. The project of the page on building is built as it stands there.
# Single lines of code are compiled, metrics that a page names exist, and Prometheus understands what is for it, where
# promtool is there.
#
# usage: guide.sh PREFIX SOURCE_DIR COMPILER
# PREFIX is where Ergon is installed.
set -euo pipefail

prefix=$1
source_dir=$2
compiler=$3
. "$(dirname "$0")/steps.sh"
. "$(dirname "$0")/epmd.sh"
guide=$source_dir/examples/guide

# The blocks of all pages as files: pools_1.cpp is the first one of pools.md, pools_2.text the second one.
mkdir "$work/blocks" "$work/project"
awk -v folder="$work/blocks" '
  FNR == 1 { page = FILENAME; sub(/.*\//, "", page); sub(/\.md$/, "", page); count = 0; is_block = 0 }
  /^```/ {
    is_block = !is_block
    if (is_block) file = folder "/" page "_" ++count "." substr($0, 4)
    next
  }
  is_block { print > file }' "$guide"/*.md

for page in "$guide"/*.md; do
  name=$(basename "$page" .md)
  [[ $name != README ]] || continue
  grep -qF "($name.md)" "$guide/README.md" || fail "the guide's README.md does not name $name.md"
  [[ -s $work/blocks/${name}_1.cpp ]] || fail "$name.md does not begin with a program"
done

programs=()
lines=0
{
  printf '#include <ergon/%s.h>\n' act/pool gen/node_change node/node node/observer
  echo 'using namespace ergon;'
} >"$work/project/lines.cc"
for block in "$work/blocks"/*.cpp; do
  name=$(basename "$block" .cpp)
  if ! grep -q '^int main(' "$block"; then
    lines=$((lines + 1))
    {
      printf 'namespace %s {\nvoid Lines(gen::Node& node);\nvoid Lines(gen::Node& node) {\n' "$name"
      cat "$block"
      printf '}\n}  // namespace %s\n' "$name"
    } >>"$work/project/lines.cc"
    continue
  fi
  if [[ $name != building_1 ]]; then  # that has a project of its own
    programs+=("$name")
    cp "$block" "$work/project/$name.cc"
  fi
  [[ -s $work/blocks/${name%_*}_$((${name##*_} + 1)).text ]] ||
    fail "${name%_*}.md does not say what its program prints, block ${name##*_}"
done
[[ ${#programs[@]} -ge 7 && $lines -ge 1 ]] || fail "only ${#programs[@]} programs were found"

cat >"$work/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(guide LANGUAGES CXX)
find_package(Ergon CONFIG REQUIRED)
add_compile_options(-Wall -Wextra -Wpedantic -Werror)
link_libraries(ergon::ergon ergon::testkit)
foreach(program IN LISTS PROGRAMS)
  add_executable(${program} ${program}.cc)
endforeach()
add_library(lines OBJECT lines.cc)
target_compile_options(lines PRIVATE -Wno-unused)
CMAKE
# With the least work for the compiler, and a quick linker; the page on building has the usual one.
linker=()
! command -v mold >/dev/null || linker=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold)
quietly cmake -S "$work/project" -B "$work/build" -G Ninja -DCMAKE_CXX_FLAGS=-O0 -DCMAKE_CXX_COMPILER="$compiler" "${linker[@]}" \
  -DCMAKE_PREFIX_PATH="$prefix" -DPROGRAMS="$(IFS=';' && echo "${programs[*]}")"
quietly cmake --build "$work/build"

# The page on building: its own CMakeLists.txt, and its program.
mkdir "$work/page"
cp "$work/blocks/building_1.cpp" "$work/page/program.cc"
cp "$work"/blocks/building_*.cmake "$work/page/CMakeLists.txt"
quietly cmake -S "$work/page" -B "$work/page/build" -G Ninja -DCMAKE_CXX_FLAGS="-O0 -Wall -Wextra -Wpedantic -Werror" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/page/build"
printed=$(timeout 120 "$work/page/build/your_program" 2>"$work/log") || fail "your_program ends with $?: $(cat "$work/log")"
[[ $printed == "$(<"$work/blocks/building_2.text")" ]] || fail "your_program of building.md prints: $printed"

# Its nodes have an EPMD of their own.
for name in "${programs[@]}"; do
  if [[ $name == clusters_* ]]; then
    if ! command -v epmd >/dev/null; then
      echo "clusters: not run, there is no epmd here (Debian package erlang-base)"
      continue
    fi
    trap 'kill $epmd_pid 2>/dev/null || true; rm -rf "$work"' EXIT
    start_epmd 20000 6000
  fi
  printed=$(timeout 120 "$work/build/$name" 2>"$work/log") || fail "$name ends with $?: $(cat "$work/log")"
  [[ $printed == "$(<"$work/blocks/${name%_*}_$((${name##*_} + 1)).text")" ]] || fail "$name prints: $printed"
done

# Counters end in _total where they are read, and not where they are made; histograms have samples of these names.
metrics=0
while read -r metric; do
  metrics=$((metrics + 1))
  family=$(sed -E 's/_(total|sum|count|bucket)$//' <<<"$metric")
  grep -rqF "\"$family\"" "$source_dir/node/observer" || fail "no observer shows the metric $metric"
done < <(grep -ohE '\bergon_[a-z_]+' "$guide"/*.md | sort -u)
((metrics > 0)) || fail "the guide names no metric"

if command -v promtool >/dev/null; then
  touch "$work/token"
  for block in "$work/blocks"/*.yaml; do
    sed "s|credentials_file: [^}]*|credentials_file: $work/token|" "$block" >"$work/prometheus.yml"
    quietly promtool check config "$work/prometheus.yml"
  done
else
  echo "what is for Prometheus: not checked, there is no promtool here (Debian package prometheus)"
fi
exit $failed

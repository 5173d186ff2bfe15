# What the scripts in this folder share; sourced by each.
# shellcheck shell=bash
unset CDPATH  # with it `cd` prints where it goes
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

# So many flaky tests do not stop a run (scripts/suites), of one build or of all (scripts/test).
# shellcheck disable=SC2034
most_flaky=2

say() { printf '== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# tsan_prefix: prints how programs with a thread sanitizer are begun. The sanitizer gives up where the kernel
# spreads addresses over more than 28 bits.
tsan_prefix() {
  if [[ $(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0) -gt 28 ]] &&
    setarch --addr-no-randomize true 2>/dev/null; then
    echo setarch --addr-no-randomize
  fi
}

# usage_if_asked ARGUMENT...: prints the comment at the head of the calling script if one of them is -h or --help.
usage_if_asked() {
  local argument
  for argument in "$@"; do
    if [[ $argument == -h || $argument == --help ]]; then
      sed -n '2,/^\([^#]\|$\)/{/^#/!d;s/^# \{0,1\}//;p}' "$0"
      exit 0
    fi
  done
}

# sanitizer_compiler: prints the compiler of the builds with sanitizers, if that is not the default one or the one that CXX
# names. Clang needs two thirds of GCC's time for these builds, and finds other faults.
sanitizer_compiler() {
  local clang
  [[ -z ${CXX:-} ]] || return 0
  clang=$(command -v clang++-19) || return 0
  # Its sanitizers are a package of their own, and so are the headers.
  printf '#include <string>\nint main() {}\n' |
    "$clang" -fsanitize=address -x c++ - -o /dev/null 2>/dev/null || return 0
  echo "$clang"
}

# is_same_program PATH PATH: also where one folder has two names, as /bin and /usr/bin. A link is another program: one
# called g++ and one called clang++ may both be a compiler cache.
is_same_program() { [[ ${1##*/} == "${2##*/}" && $(dirname "$1") -ef $(dirname "$2") ]]; }

# Further arguments of `cmake --preset`, as -DERGON_ALL_TESTS=ON.
cmake_options=()

# build PRESET [TARGET...]: configures and builds build/PRESET. A terminal sees the progress on one
# line, a log two lines; a failure shows what the compiler said.
build() (
  cd "$root" || die "no folder $root"
  preset=$1
  shift
  log=$root/build/$preset.log
  mkdir -p build
  # Two at once in the same folder would spoil it. What they start, such as a compiler cache, may live longer, and does not
  # get the lock.
  exec 9>"build/$preset.lock"
  if ! flock --nonblock 9; then
    say "$preset: waiting for another build in $root/build/$preset"
    flock 9
  fi
  say "$preset: building${*:+ $*}"
  start=$SECONDS
  if [[ $preset == asan-ubsan || $preset == tsan ]]; then
    compiler=$(sanitizer_compiler)
    [[ -z $compiler ]] || cmake_options+=(-DCMAKE_CXX_COMPILER="$compiler")
    # As CMake does: CXX may have arguments.
    read -ra used <<<"${compiler:-${CXX:-c++}}"
    # Clang warns of other things than GCC, whose warnings are errors in the release build.
    [[ $("${used[@]}" --version 2>/dev/null) != *clang* ]] || cmake_options+=(-DERGON_WERROR=OFF)
    # CMake forgets its other settings when the compiler changes.
    former=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "build/$preset/CMakeCache.txt" 2>/dev/null || true)
    if [[ -n $former ]] && ! is_same_program "$former" "$(command -v "${used[0]}")"; then
      rm -rf "build/$preset/CMakeCache.txt" "build/$preset/CMakeFiles"
    fi
  fi
  if ! cmake --preset "$preset" "${cmake_options[@]}" >"$log" 2>&1 9>&-; then
    cat "$log"
    die "cannot configure $root/build/$preset"
  fi
  command=(cmake --build "build/$preset" --parallel "$jobs" ${*:+--target "$@"})
  if [[ -t 1 ]]; then
    NINJA_STATUS='[%f/%t %es] ' "${command[@]}" 9>&- || die "cannot build $root/build/$preset"
  elif ! "${command[@]}" >"$log" 2>&1 9>&-; then
    sed -n '/^FAILED: /,$p' "$log" | head -n 200
    die "cannot build $root/build/$preset; the whole log is $log"
  fi
  say "$preset: built in $((SECONDS - start)) s"
)

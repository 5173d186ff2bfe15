#!/usr/bin/env bash
# What scripts/new makes builds and passes its test at once, by the command that it prints; and what it cannot make
# it refuses with one sentence that names the value.
#
# usage: new_script.sh PREFIX SOURCE_DIR COMPILER
# PREFIX is where Ergon is installed.
set -euo pipefail

prefix=$1
source_dir=$2
compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

failed=0
fail() {
  echo "FAIL: $*"
  failed=1
}

# refused SENTENCE ARGUMENT...: scripts/new says so, nothing else, and leaves all as it was.
refused() {
  local sentence=$1 said before
  shift
  before=$(find . | sort)
  if said=$("$source_dir/scripts/new" "$@" 2>&1); then
    fail "scripts/new $* is not refused"
  elif [[ $said != "new: $sentence" ]]; then
    fail "scripts/new $* says '$said', not 'new: $sentence'"
  elif [[ $(find . | sort) != "$before" ]]; then
    fail "scripts/new $* leaves something behind"
  fi
}

mkdir full
touch full/.hidden file
ln -s nowhere dangling
refused "one folder is expected, not 0, see --help"
refused "one folder is expected, not 2, see --help" one two
refused "unknown argument '--verbose', see --help" --verbose
refused "'full' is not empty" full
refused "'file' is there, and no folder" file
refused "cannot make 'file/first': Not a directory" file/first
refused "cannot make 'dangling': File exists" dangling
refused "cannot make '/proc/first': No such file or directory" /proc/first
for name in 1st my-project 'two words' 'a;b' 'größe' _first; do
  refused "'$name' is no name for a project: it takes letters, digits and '_', a letter first" "new/$name"
done
for name in all ALL_BUILD clean codegen edit_cache help install INSTALL package PACKAGE package_source preinstall \
  rebuild_cache RUN_TESTS test ZERO_CHECK CMakeFiles Makefile Testing; do
  refused "'$name' is no name for a project: CMake uses it" "$name"
done
long=$(printf 'x%.0s' {1..65})
refused "'$long' is too long a name for a project: it has 65 letters, 64 are the most" "$long"
if [[ $(id -u) != 0 ]]; then  # root may do everything
  mkdir -m 555 closed
  refused "cannot make 'closed/first': Permission denied" closed/first
  refused "cannot write 'closed/CMakeLists.txt': Permission denied" closed
fi
[[ $("$source_dir/scripts/new" --help) == "usage: scripts/new DIR"* ]] || fail "scripts/new --help is no help"

# A folder that is there and empty, and whose name is that of the place where one is.
mkdir here
(cd here && "$source_dir/scripts/new" . >/dev/null) || fail "scripts/new . in an empty folder is refused"
grep -q 'project(here ' here/CMakeLists.txt || fail "the project in the folder 'here' is not called so"

# The least work for the compiler, and a quick linker.
export CXX=$compiler CXXFLAGS="-Werror -Wpedantic" CMAKE_GENERATOR=Ninja CMAKE_BUILD_TYPE=None
! command -v mold >/dev/null || export LDFLAGS=-fuse-ld=mold
output=$("$source_dir/scripts/new" "$work/some where/first") || fail "scripts/new: $output"
command=$(tail -n 1 <<<"$output")
if ! said=$(eval "${command/=PREFIX/=$(printf '%q' "$prefix")}" 2>&1); then
  tail -n 100 <<<"$said"
  fail "$command"
elif [[ $said != *"100% tests passed, 0 tests failed out of 1"* ]]; then
  fail "the project's test has not run: $said"
fi
env -u CMAKE_BUILD_TYPE cmake -S "some where/first" -B usual -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 || fail "$(<log)"
grep -q -- '-O3 -DNDEBUG' usual/build.ninja || fail "a project for which nothing is said is no release build"
printed=$("some where/first/build/first" 12 -7) || fail "the project's program fails"
[[ $printed == $'144\n49' ]] || fail "the project's program prints '$printed', not 144 and 49"
! "some where/first/build/first" 12 >/dev/full 2>full.err || fail "the project's program does not notice a full disk"
[[ $(<full.err) == "cannot write to standard output: No space left on device" ]] ||
  fail "the project's program says '$(<full.err)' of a full disk"
exit $failed

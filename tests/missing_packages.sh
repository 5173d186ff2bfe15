#!/usr/bin/env bash
# Who lacks packages that Ergon needs is told all of them at once, with the command that installs them: when Ergon is
# built, and when a project looks for an installed one. README.md names those that building needs.
#
# usage: missing_packages.sh PREFIX SOURCE_DIR COMPILER
# PREFIX is where Ergon is installed.
set -euo pipefail

prefix=$1
source_dir=$2
compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed=0
# asks_for PACKAGES ARGUMENT...: cmake with the arguments fails, and names these packages and no others.
asks_for() {
  local packages=$1 said
  shift
  rm -rf "$work/build"
  if said=$(cmake -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" "$@" 2>&1); then
    echo "FAIL: it is not told that $packages are missing"
    failed=1
  elif [[ $(sed -n 's/^ *apt-get install //p' <<<"$said") != "$packages" ]]; then
    echo "FAIL: it is not told that $packages are missing: $said"
    failed=1
  fi
}

mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Ergon CONFIG REQUIRED)
CMAKE
user=(-S "$work/user" -G Ninja -DCMAKE_PREFIX_PATH="$prefix")
asks_for "libboost-context-dev libexpected-dev" "${user[@]}" -DCMAKE_DISABLE_FIND_PACKAGE_{Boost,tl-expected}=ON
asks_for "libexpected-dev" "${user[@]}" -DCMAKE_DISABLE_FIND_PACKAGE_tl-expected=ON

cd "$source_dir"
# Without all that has a name, and without the headers that have none.
all_libraries=(-DCMAKE_DISABLE_FIND_PACKAGE_{Boost,tl-expected,fmt,spdlog,OpenSSL}"=ON"
  "-DCMAKE_IGNORE_PATH=/usr/include;/usr/lib;/lib")
all="libboost-context-dev libexpected-dev libfmt-dev libspdlog-dev libssl-dev erlang-dev libasio-dev libtomlplusplus-dev rapidjson-dev"
asks_for "$all" --preset install "${all_libraries[@]}"
asks_for "$all doctest-dev libcereal-dev libcli11-dev libboost-dev" --preset release "${all_libraries[@]}" \
  -DCMAKE_DISABLE_FIND_PACKAGE_{doctest,CLI11}=ON

named=" $(sed -n 's/^apt-get install //p' README.md | tr '\n' ' ') "
for package in $all; do
  if [[ $named != *" $package "* ]]; then
    echo "FAIL: README.md does not name $package"
    failed=1
  fi
done
exit $failed

#!/usr/bin/env bash
# The package for Debian contains what is installed, and depends on what that needs.
#
# usage: debian_package.sh PREFIX SOURCE_DIR COMPILER CPACK_CONFIG
# PREFIX is where Ergon is installed. Ends with 77 where there is no dpkg-deb.
set -euo pipefail

prefix=$1
source_dir=$2
compiler=$3
config=$4
command -v dpkg-deb >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAIL: $*"
  exit 1
}

into=$(sed -nE 's/^set\(CPACK_PACKAGING_INSTALL_PREFIX "(.*)"\)$/\1/p' "$config")
# From what is installed already, instead of building what is not up to date.
cpack --config "$config" -B "$work" -D CPACK_INSTALL_CMAKE_PROJECTS= \
  -D CPACK_INSTALLED_DIRECTORIES="$prefix;$into" >"$work/log" 2>&1 ||
  fail "cpack: $(tail -n 30 "$work/log")"
packages=("$work"/libergon-dev_*.deb)
[[ -f ${packages[0]} ]] || fail "cpack makes no libergon-dev_*.deb"
package=${packages[0]}
dpkg-deb --extract "$package" "$work/root"
difference=$(diff -r "$prefix" "$work/root/usr") || fail "what is installed, and what is in the package: $difference"

# What the package depends on is what find_package names when it misses everything.
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Ergon CONFIG REQUIRED)
CMAKE
if said=$(cmake -S "$work/user" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/root/usr" \
  -DCMAKE_DISABLE_FIND_PACKAGE_{Threads,Boost,tl-expected,fmt,spdlog,OpenSSL}=ON \
  "-DCMAKE_IGNORE_PATH=/usr/lib;/lib" 2>&1); then
  fail "find_package(Ergon) misses nothing"
fi
missing=$(sed -n 's/^ *apt-get install //p' <<<"$said")
depends=$(dpkg-deb --field "$package" Depends)
[[ -n $missing && ${depends//,/} == "$missing" ]] || fail "it depends on '$depends', but needs '$missing': $said"

grep -q 'cpack --preset install' "$source_dir/examples/guide/building.md" || fail "the guide does not tell how the package is made"

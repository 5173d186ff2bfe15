#!/usr/bin/env bash
# With BUILD_SHARED_LIBS there are two packages for Debian: the component 'runtime' with what programs need to run, and
# the component 'dev', which depends on that and on what users build with.
#
# usage: shared_packages.sh SOURCE_DIR COMPILER BUILD_DIR PREFIX
# BUILD_DIR is where the shared library was built, PREFIX where it is installed. Ends with 77 where there is no
# dpkg-deb or dpkg-shlibdeps.
set -euo pipefail

source_dir=$1
compiler=$2
build_dir=$3
prefix=$4
command -v dpkg-deb >/dev/null || exit 77
command -v dpkg-shlibdeps >/dev/null || exit 77
. "$(dirname "$0")/steps.sh"

cpack --config "$build_dir/CPackConfig.cmake" -B "$work" >"$work/log" 2>&1 ||
  { echo "FAIL: cpack: $(tail -n 30 "$work/log")" && exit 1; }
version=$(sed -nE 's/^project\(Ergon VERSION ([0-9.]+) .*/\1/p' "$source_dir/CMakeLists.txt")
name=libergon${version%.*}
[[ $version == 0.* ]] || name=libergon${version%%.*}
found=$(cd "$work" && find . -maxdepth 1 -name '*.deb' | sed -E 's|\./([^_]*)_.*|\1|' | sort | paste -sd' ')
[[ $found == "libergon-dev $name" ]] || { echo "FAIL: cpack makes the packages '$found'" && exit 1; }
runtime=$(find "$work" -maxdepth 1 -name "${name}_*.deb")
dev=$(find "$work" -maxdepth 1 -name 'libergon-dev_*.deb')
field() { dpkg-deb --field "$1" "$2"; }

# What they contain is what is installed, and each file is in one.
for package in runtime dev; do
  dpkg-deb --extract "${!package}" "$work/$package"
done
files() { (cd "$1" && find . ! -type d | sort); }
found=$(cat <(files "$work/runtime/usr") <(files "$work/dev/usr") | sort)
difference=$(diff <(files "$prefix") <(echo "$found")) || fail "what is installed, and what is packaged: $difference"
found=$(files "$work/runtime/usr" | grep -vE "/libergon\.so\.${version%.*}(\.[0-9]+)?$" || true)
[[ -z $found ]] || fail "$name contains $found"
dpkg-deb --control "$runtime" "$work/control"
grep -qE "^libergon .* $name \(>= $version\)$" "$work/control/shlibs" || fail "$name does not tell other packages of its library"
grep -q ldconfig "$work/control/postinst" || fail "$name does not tell the loader of its library"

# What they depend on.
depends=$(field "$runtime" Depends)
for package in libc6 libfmt libspdlog libssl libboost-context libstdc++6; do
  [[ $depends == *"$package"* ]] || fail "$name does not depend on $package, but on $depends"
done
[[ $depends != *-dev* ]] || fail "$name depends on $depends"
[[ $(field "$runtime" Section) == libs ]] || fail "$name is of the section $(field "$runtime" Section)"
[[ $(field "$dev" Section) == libdevel ]] || fail "libergon-dev is of the section $(field "$dev" Section)"
[[ $(field "$dev" Suggests) == *libasio-dev* ]] || fail "libergon-dev suggests $(field "$dev" Suggests)"
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Ergon CONFIG REQUIRED)
CMAKE
mv "$work/runtime/usr/lib"/* "$work/dev/usr/lib"  # as both are installed
said=$(cmake -S "$work/user" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$work/dev/usr" -DCMAKE_DISABLE_FIND_PACKAGE_{Threads,tl-expected,fmt}=ON 2>&1) &&
  fail "find_package(Ergon) misses nothing"
needed=$(sed -n 's/^ *apt-get install //p' <<<"$said")
depends=$(field "$dev" Depends)
[[ -n $needed && ${depends//,/} == "$name (= $version) $needed" ]] ||
  fail "libergon-dev depends on '$depends', but needs $name (= $version) and '$needed': $said"
exit $failed

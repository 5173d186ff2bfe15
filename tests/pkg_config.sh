#!/usr/bin/env bash
# Who builds without CMake gets by with pkg-config: the first program of README.md, and one with the test kit.
#
# usage: pkg_config.sh PREFIX SOURCE_DIR COMPILER
# PREFIX is where Ergon is installed. Ends with 77 where there is no pkg-config.
set -euo pipefail

prefix=$1
source_dir=$2
compiler=$3
command -v pkg-config >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ergon.pc)")
export PKG_CONFIG_PATH
failed=0
# compile PROGRAM PACKAGE: PROGRAM.cc, by the command of the guide.
compile() {
  local flags
  flags=$(pkg-config --cflags --libs --static "$2") || exit 1
  # shellcheck disable=SC2086  # a list of flags
  "$compiler" -std=c++20 "$1.cc" $flags -o "$1" >log 2>&1 || {
    tail -n 100 log
    echo "FAIL: $1.cc does not compile with $flags"
    exit 1
  }
}

# shellcheck disable=SC2016  # as it stands there
if ! grep -qF '$(pkg-config --cflags --libs --static ergon)' "$source_dir/examples/guide/building.md"; then
  echo "FAIL: the guide does not tell how it is compiled with pkg-config"
  failed=1
fi
# shellcheck disable=SC2016  # no command
sed -n '/^```cpp$/,/^```$/{/^```/!p;/^```$/q}' "$source_dir/README.md" >readme.cc
compile readme ergon
printed=$(./readme)
if [[ $printed != 144 ]]; then
  echo "FAIL: the first program of README.md prints '$printed', not 144"
  failed=1
fi

cat >simulated.cc <<'END'
#include <ergon/testkit/simulation.h>
int main() {
  ergon::testkit::Simulation simulation(1);
  simulation.Node("test@localhost");
  simulation.RunUntilIdle();
  simulation.ExpectConservation();
}
END
compile simulated ergon-testkit
./simulated || failed=1

version=$(sed -nE 's/^project\(Ergon VERSION ([0-9.]+) .*/\1/p' "$source_dir/CMakeLists.txt")
for package in ergon ergon-testkit; do
  if [[ $(pkg-config --modversion "$package") != "$version" ]]; then
    echo "FAIL: $package is not of the version $version"
    failed=1
  fi
done
exit $failed

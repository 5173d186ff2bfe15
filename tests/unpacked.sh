#!/usr/bin/env bash
# usage: tests/unpacked.sh PACKAGE FOLDER COMMAND...
#
# Runs COMMAND with the programs of a Debian package, which is fetched once and unpacked in FOLDER/PACKAGE: nothing is
# installed, no service is started, and no rights are needed. For programs that need no libraries of their own:
#
#   tests/unpacked.sh prometheus build/unpacked ctest --preset release -R '^prometheus$'
#
# It ends as COMMAND does, or with 77 if the package cannot be had.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"
usage_if_asked "$@"
(($# >= 3)) || die "PACKAGE, FOLDER and COMMAND are needed, see --help"
package=$1
[[ $package =~ ^[a-z0-9.+-]+$ ]] || die "'$package' is no name of a package"
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
work=$folder/$package.part
trap 'rm -rf "$work"' EXIT

if [[ ! -d $folder/$package ]]; then
  skip() {
    echo "skipped: $*"
    exit 77
  }
  command -v apt-get >/dev/null || skip "there is no apt-get here: this is for Debian and its like"
  rm -rf "$work"
  mkdir -p "$work"
  say "fetching $package"
  # As root apt would fetch as a user of its own, who may not write here.
  (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$package") ||
    skip "apt cannot fetch $package (apt-get update?)"
  dpkg-deb --extract "$work"/*.deb "$work/system"
  mv "$work/system" "$folder/$package"
fi
export PATH=$folder/$package/usr/bin:$folder/$package/bin:$PATH
"$@"

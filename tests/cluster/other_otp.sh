#!/usr/bin/env bash
# usage: tests/cluster/other_otp.sh [--mirror URL] SUITE FOLDER COMMAND...
#
# Runs COMMAND with the Erlang and the Elixir of another suite of Debian: trixie has OTP 27 and Elixir 1.18, sid the newest
# ones that are packaged. Their packages, and the libraries they need, are fetched once and unpacked in FOLDER/SUITE (90 MB):
# nothing is installed, and no rights are needed. So the tests run with it:
#
#   tests/cluster/other_otp.sh trixie ~/otp ctest --preset release -R '^(erlang|elixir|cluster_chaos|example_e)'
#   tests/cluster/other_otp.sh trixie ~/otp tests/cluster/chaos/chaos_test.sh build/release/tests/cluster/chaos/ergon-chaos \
#     --seconds 60
#
#   --mirror URL   where the packages are; default: the mirror of Debian that this system's apt uses
#
# It ends as COMMAND does, or with 77 if the packages cannot be had.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
usage_if_asked "$@"

mirror=
if [[ ${1:-} == --mirror ]]; then
  mirror=${2:-}
  [[ -n $mirror ]] || die "--mirror needs a URL"
  shift 2
fi
(($# >= 3)) || die "SUITE, FOLDER and COMMAND are needed, see --help"
suite=$1
[[ $suite =~ ^[a-z-]+$ ]] || die "'$suite' is no suite of Debian"
mkdir -p "$2"
folder=$(realpath "$2")
shift 2
system=$folder/$suite
work=$folder/$suite.part
run=
trap 'rm -rf "$work" ${run:+"$run"}' EXIT

skip() {
  echo "skipped: $*"
  exit 77
}
# fetch: makes $system of packages. What apt knows and writes of them is in a folder of its own.
fetch() {
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg apt package
  command -v apt-get >/dev/null || skip "there is no apt-get here: this is for Debian and its like"
  [[ -n $mirror ]] || mirror=$(apt-get indextargets --format "\$(SITE)" \
    "Created-By: Packages" "Origin: Debian" "Label: Debian" | head -n 1)
  [[ -n $mirror ]] || skip "apt knows no mirror of Debian here (apt-get update?): name one with --mirror"
  rm -rf "$work"
  mkdir -p "$work"/{apt/lists,apt/archives,system}
  : >"$work/apt/status"
  echo "deb $([[ ! -e $keys ]] || echo "[signed-by=$keys]") $mirror $suite main" >"$work/apt/sources.list"
  apt=(apt-get -qq -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o APT::Install-Recommends=0
    -o Dir::State="$work/apt" -o Dir::State::status="$work/apt/status" -o Dir::Cache="$work/apt"
    -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null)
  say "fetching Erlang and Elixir of $suite"
  "${apt[@]}" -o APT::Update::Error-Mode=any update || skip "the packages of '$suite' cannot be had of this mirror"
  "${apt[@]}" --download-only --yes install \
    elixir erlang-asn1 erlang-base erlang-crypto erlang-eunit erlang-inets erlang-public-key erlang-runtime-tools \
    erlang-ssl >/dev/null || skip "apt cannot fetch Erlang and Elixir"
  # For etop; not its windows, which need a desktop's libraries.
  (cd "$work/apt/archives" && "${apt[@]}" download erlang-observer) || skip "apt cannot fetch erlang-observer"
  for package in "$work"/apt/archives/*.deb; do dpkg-deb --extract "$package" "$work/system"; done
  rm -rf "$system"
  mv "$work/system" "$system"
}

[[ -x $system/usr/lib/elixir/bin/elixir ]] || fetch
erlang=$system/usr/lib/erlang
erts=$(basename "$erlang"/erts-*)
loader=$(find "$system" -name 'ld-linux*' -type f -print -quit)
[[ -x $erlang/$erts/bin/beam.smp && -n $loader ]] || die "$system has no Erlang: remove it, and it is fetched again"

# A root of Erlang's whose programs begin with the C library of their suite, and which has the rest by symbolic links.
# Programs that Erlang starts are those of this system, with its own libraries.
run=$(mktemp -d "$folder/run.XXXXXX")
mkdir -p "$run/bin" "$run/$erts/bin"
for file in "$erlang"/*; do
  [[ -e $run/$(basename "$file") ]] || ln -s "$file" "$run"
done
for file in "$erlang/bin"/* "$erlang/$erts/bin"/*; do
  here=$run/${file#"$erlang/"}
  if [[ $(basename "$file") == erl ]]; then
    cat >"$here" <<SCRIPT
#!/bin/sh
export ROOTDIR=$(printf %q "$run") BINDIR=$(printf %q "$run/$erts/bin") EMU=beam PROGNAME=erl
exec "\$BINDIR/erlexec" "\$@"
SCRIPT
  elif head -c 4 "$file" | grep -qa ELF; then
    cat >"$here" <<SCRIPT
#!/bin/sh
exec $(printf '%q ' "$loader" --library-path "$(dirname "$loader")") --argv0 "\$0" $(printf %q "$file") "\$@"
SCRIPT
  else
    ln -s "$file" "$here"
    continue
  fi
  chmod +x "$here"
done
# They find what belongs to them by where they are, and Erlang by the path.
for file in "$system"/usr/lib/elixir/bin/*; do ln -s "$file" "$run/bin"; done

export PATH=$run/bin:$PATH
say "$(erl -noshell -eval \
  'io:format("Erlang/OTP ~s (erts ~s)", [erlang:system_info(otp_release), erlang:system_info(version)]), halt().'), $(elixir --short-version)"
"$@"

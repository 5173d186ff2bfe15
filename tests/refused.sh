#!/usr/bin/env bash
# What a user must not write, and must not compile with, does not compile, and the compiler says why in one
# sentence.
#
# usage: refused.sh ROOTS COMPILER [FLAG...]
# ROOTS is a file with one line per layer: its name and its include folders.
set -euo pipefail

flags=$(sed -n 's/^testkit //p' "$1")
shift
compiler=("$@")

mode=-fsyntax-only
# refused SENTENCE [FLAG]: the program on stdin compiles, but not with the flag, -DWRONG if none is given.
refused() {
  local program output flag=${2:--DWRONG}
  program=$(cat)
  # shellcheck disable=SC2086  # a list of folders
  compile() { "${compiler[@]}" -std=c++20 "$mode" -o /dev/null -x c++ "$@" -I${flags// / -I} - <<<"$program" 2>&1; }
  if ! output=$(compile); then
    echo "FAIL: refused what is right: $output"
    exit 1
  fi
  if output=$(compile "$flag"); then
    echo "FAIL: not refused with $flag: $1"
    exit 1
  fi
  if [[ $output != *"$1"* ]]; then
    echo "FAIL: no such sentence as '$1': $output"
    exit 1
  fi
}

refused "a message's destructor must not throw: it runs where nobody could catch it" <<'END'
#include <ergon/act/actor.h>
#ifdef WRONG
struct Parcel { ~Parcel() noexcept(false) {} };
#else
struct Parcel { ~Parcel() {} };
#endif
ergon::gen::Result<void> Post(ergon::gen::Messenger& messenger, ergon::gen::PID to) {
  return messenger.Send(to, Parcel());
}
END

mode=-E  # that is where it is told, and takes no time
for header in act/actor.h gen/application.h node/node.h testkit/simulation.h; do
  refused "Ergon needs C++20: compile with -std=c++20 or later" -std=c++17 <<<"#include <ergon/$header>"
  refused "Ergon needs exceptions, which end the process that threw: compile without -fno-exceptions" \
    -fno-exceptions <<<"#include <ergon/$header>"
  refused "Ergon needs the names of types, which tell messages apart: compile without -fno-rtti" \
    -fno-rtti <<<"#include <ergon/$header>"
done

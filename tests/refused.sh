#!/usr/bin/env bash
# What a user must not write does not compile, and the compiler says why in one sentence.
#
# usage: refused.sh ROOTS COMPILER [FLAG...]
# ROOTS is a file with one line per layer: its name and its include folders.
set -euo pipefail

flags=$(sed -n 's/^act //p' "$1")
shift
compiler=("$@")

# refused SENTENCE: the program on stdin compiles, but not with -DWRONG.
refused() {
  local program output
  program=$(cat)
  # shellcheck disable=SC2086  # a list of folders
  compile() { "${compiler[@]}" -std=c++20 -fsyntax-only -x c++ "$@" -I${flags// / -I} - <<<"$program" 2>&1; }
  if ! output=$(compile); then
    echo "FAIL: refused what is right: $output"
    exit 1
  fi
  if output=$(compile -DWRONG); then
    echo "FAIL: not refused: $1"
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

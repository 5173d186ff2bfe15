#!/usr/bin/env bash
# usage: by_clang.sh CLANG [LAUNCHER...] -- COMPILER ARGUMENT...
#
# Compiles with CLANG what CMake wants compiled with COMPILER, which is GCC; LAUNCHER is a compiler cache. Clang needs half of
# GCC's time for the tests, which are not optimised. The libraries that they are linked with are GCC's, as those of users.
set -euo pipefail
clang=$1
shift
launcher=()
while [[ $1 != -- ]]; do
  launcher+=("$1")
  shift
done
# The standard library is that of this GCC, where there are several.
arguments=("--gcc-install-dir=$(dirname "$("$2" -print-libgcc-file-name)")")
shift 2
while (($# > 0)); do
  case $1 in
    --param) shift ;;  # of GCC's memory
    -Werror) ;;        # the warnings that are errors are GCC's
    *) arguments+=("$1") ;;
  esac
  shift
done
exec "${launcher[@]}" "$clang" "${arguments[@]}" -Wno-unknown-warning-option

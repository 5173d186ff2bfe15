#!/usr/bin/env bash
# What a user must not write, and must not compile with, does not compile, and the compiler says why in one
# sentence.
#
# usage: refused.sh ROOTS COMPILER [FLAG...]
# ROOTS is a file with one line per layer: its name and its include folders.
set -euo pipefail

# The paths are absolute, and may have spaces.
mapfile -t flags < <(sed -n 's/^testkit /-I/p' "$1" | sed 's# /#\n-I/#g')
shift
compiler=("$@")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compile MODE [FLAG...]: the program on stdin.
compile() {
  "${compiler[@]}" -std=c++20 "$1" -o /dev/null -x c++ "${@:2}" "${flags[@]}" - 2>&1
}
# right MODE [FLAG...]: the program on stdin compiles.
right() {
  local output
  if ! output=$(compile "$@"); then
    echo "FAIL: refused what is right: $output"
    exit 1
  fi
}
# wrong MODE FLAG SENTENCE...: with this flag the compiler says these sentences of the program on stdin, and no more.
wrong() {
  local output sentence
  if output=$(compile "$1" "$2"); then
    echo "FAIL: not refused with $2: $(printf "'%s' " "${@:3}")"
    exit 1
  fi
  for sentence in "${@:3}"; do
    if [[ $(grep 'error: ' <<<"$output" | grep -cF "$sentence") != 1 ]]; then
      echo "FAIL: not once such a sentence as '$sentence': $output"
      exit 1
    fi
  done
  if [[ $(grep -c 'error: ' <<<"$output") != $(($# - 2)) ]]; then
    echo "FAIL: more than these sentences: $output"
    exit 1
  fi
}

sentences=()
# refused SENTENCE: a part of the program, on stdin, that compiles, but not with -DWRONG. All of them are one program, each
# in a namespace of its own: to read the headers takes nearly all of the time.
refused() {
  local part
  part=$(cat)
  sentences+=("$1")
  grep '^#include ' <<<"$part" >>"$work/includes"
  {
    echo "namespace part_${#sentences[@]} {"
    grep -v '^#include ' <<<"$part"
    echo "}"
  } >>"$work/parts"
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

refused "a std::string_view does not own its text: send a std::string" <<'END'
#include <string_view>
#include <ergon/act/actor.h>
ergon::gen::Result<void> Post(ergon::gen::Messenger& messenger, ergon::gen::PID to, std::string_view text) {
#ifdef WRONG
  return messenger.Send(to, text);
#else
  return messenger.Send(to, std::string(text));
#endif
}
END

refused "a message must be movable: it is moved into the receiver's mailbox" <<'END'
#include <ergon/act/actor.h>
struct Parcel {
  Parcel() = default;
#ifdef WRONG
  Parcel(Parcel&&) = delete;
#endif
};
ergon::gen::Result<void> Post(ergon::gen::Messenger& messenger, ergon::gen::PID to) {
  return messenger.Send(to, Parcel());
}
END

refused "this message cannot be copied: give it away with std::move" <<'END'
#include <memory>
#include <ergon/act/actor.h>
struct Parcel { std::unique_ptr<int> value; };
ergon::gen::Result<void> Post(ergon::gen::Messenger& messenger, ergon::gen::PID to) {
  Parcel parcel;
#ifdef WRONG
  return messenger.Send(to, parcel);
#else
  return messenger.Send(to, std::move(parcel));
#endif
}
END

refused "MatchRequest: a handler returns something else than the Reply of its request" <<'END'
#include <string>
#include <ergon/gen/match_request.h>
struct Length {
  using Reply = int;
  std::string text;
};
ergon::gen::CallResult Handle(ergon::gen::Message& request) {
  return *ergon::gen::MatchRequest(request, [](const Length& length) {
#ifdef WRONG
    return length.text.size();
#else
    return static_cast<int>(length.text.size());
#endif
  });
}
END

refused "MatchRequest: a handler has to return the answer, or a gen::CallResult" <<'END'
#include <ergon/gen/match_request.h>
ergon::gen::CallResult Note(ergon::gen::Message& request) {
  return *ergon::gen::MatchRequest(request, [](int) {
#ifdef WRONG
    return ergon::gen::Continue();
#else
    return ergon::gen::NoReply();
#endif
  });
}
END

refused "MatchRequest: other requests have no handler: let the last one take gen::Message&, or look whether there is a result" <<'END'
#include <ergon/act/actor.h>
#include <ergon/gen/match_request.h>
class Counter : public ergon::act::Actor {
  ergon::gen::CallResult HandleCall(ergon::gen::PID from, ergon::gen::Ref ref,
                                    ergon::gen::Message& request) override {
#ifdef WRONG
    return ergon::gen::MatchRequest(request, [](int number) { return number + 1; });
#else
    auto result = ergon::gen::MatchRequest(request, [](int number) { return number + 1; });
    if (result) return std::move(*result);
    return Actor::HandleCall(from, ref, request);
#endif
  }
};
END

refused "Call: a priority is one of its options: Call(to, request, {.priority = ...})" <<'END'
#include <ergon/act/actor.h>
ergon::gen::Result<int> Ask(ergon::gen::Messenger& messenger, ergon::gen::PID to) {
#ifdef WRONG
  return messenger.Call<int>(to, 1, ergon::gen::MessagePriority::kHigh);
#else
  (void)messenger.Call<int>(to, 1, {});
  return messenger.Call<int>(to, 1, {.priority = ergon::gen::MessagePriority::kHigh});
#endif
}
END

refused "serialize gives a field that is const: neither the function nor the field may be, for values are read into the fields" <<'END'
#include <ergon/node/erlang/archive.h>
struct Place {
  int x = 0;
  template <class Archive>
#ifdef WRONG
  void serialize(Archive& archive) const {
#else
  void serialize(Archive& archive) {
#endif
    archive(ergon::dist::Field("x", x));
  }
};
void Offer(ergon::gen::WireTypes& types) { types.Register<Place>(); }
END

for wrong in \
  "Factory: an argument cannot be copied; each spawn, also of a replaced worker, gets a copy|std::make_unique<int>(1)" \
  "Factory: T has no public constructor for (const references to) these arguments|std::string()"; do
  refused "${wrong%|*}" <<END
#include <memory>
#include <string>
#include <ergon/act/actor.h>
class Counter : public ergon::act::Actor {
 public:
  explicit Counter(int) {}
};
ergon::gen::ProcessFactory Make() {
#ifdef WRONG
  return ergon::gen::Factory<Counter>(${wrong#*|});
#else
  return ergon::gen::Factory<Counter>(1);
#endif
}
END
done

refused "Factory: a pure virtual function of T is not overridden with the same signature" <<'END'
#include <ergon/act/pool.h>
class Thumbnails : public ergon::act::Pool {
#ifdef WRONG
  ergon::gen::Result<ergon::act::PoolOptions> Init() { return ergon::act::PoolOptions{}; }
#else
  ergon::gen::Result<ergon::act::PoolOptions> Init(const ergon::gen::Args&) override {
    return ergon::act::PoolOptions{};
  }
#endif
};
ergon::gen::ProcessFactory Make() { return ergon::gen::Factory<Thumbnails>(); }
END

sort -u "$work/includes" | cat - "$work/parts" >"$work/program.cc"
right -fsyntax-only <"$work/program.cc"
right -fsyntax-only -std=c++23 <"$work/program.cc"
wrong -fsyntax-only -DWRONG "${sentences[@]}" <"$work/program.cc"

# The preprocessor tells it, and takes little time.
for header in act/actor.h gen/application.h node/node.h testkit/simulation.h; do
  echo "#include <ergon/$header>" >"$work/program.cc"
  right -E <"$work/program.cc"
  wrong -E -std=c++17 "Ergon needs C++20: compile with -std=c++20 or later" <"$work/program.cc"
  wrong -E -fno-exceptions \
    "Ergon needs exceptions, which end the process that threw: compile without -fno-exceptions" <"$work/program.cc"
  wrong -E -fno-rtti \
    "Ergon needs the names of types, which tell messages apart: compile without -fno-rtti" <"$work/program.cc"
done

# The linker tells it, by the name of what is missing.
# object NAME FLAG: of the program on stdin.
object() { "${compiler[@]}" -std=c++20 -c "$2" -o "$work/$1.o" -x c++ "${flags[@]}" -; }
without=-U_GLIBCXX_DEBUG
with=-D_GLIBCXX_DEBUG
for library in "$without" "$with"; do
  object library "$library" <<<'#include <ergon/core/foundations/language.cc>'
  for program in "$without" "$with"; do
    object program "$program" <<<$'#include <ergon/core/foundations/language.h>\nint main() {}'
    missing=kLibraryIsCompiledWithoutGlibcxxDebug
    [[ $program == "$without" ]] || missing=kLibraryIsCompiledWithGlibcxxDebug
    if output=$("${compiler[@]}" "$work/program.o" "$work/library.o" -o "$work/program" 2>&1); then
      output=
    fi
    if [[ $program == "$library" && -n $output || $program != "$library" && $output != *"$missing"* ]]; then
      echo "FAIL: a program with $program, linked with a library with $library: ${output:-not refused}"
      exit 1
    fi
  done
done

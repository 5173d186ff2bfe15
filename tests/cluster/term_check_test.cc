#include <ergon/node/erlang/terms/check.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include <terms.h>

#include <kit/one_thread.h>

namespace ergon::dist::term_check_test {
namespace {

namespace t = terms;
using t::Big;
using t::Bytes;

constexpr std::size_t kDepth = 100;

// Of a copy with nothing behind it, so that a sanitizer notices what is read beyond.
gen::Result<std::size_t> Check(const std::string& bytes, std::size_t depth = kDepth) {
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return CheckTerm({copy.get(), bytes.size()}, depth);
}

std::string Problem(const std::string& bytes, std::size_t depth = kDepth) {
  const auto checked = Check(bytes, depth);
  if (checked) return "none";
  CHECK(checked.error() == gen::ErrIncorrect);
  return std::string(checked.error().detail());
}

TEST_CASE("term check: every kind of term is as long as it is") {
  for (const std::string& term : t::All()) {
    CAPTURE(static_cast<unsigned char>(term[0]));
    CHECK(Check(term).value() == term.size());
    // What is behind it belongs to another one.
    CHECK(Check(term + "more").value() == term.size());
  }
}

TEST_CASE("term check: cut off anywhere, it is an error") {
  for (const std::string& term : t::All()) {
    for (std::size_t size = 0; size < term.size(); ++size) {
      CAPTURE(static_cast<unsigned char>(term[0]));
      CAPTURE(size);
      CHECK_FALSE(Check(term.substr(0, size)).has_value());
      CHECK_FALSE(Check(t::Tuple({t::Small(1), term}).substr(0, 4 + size)).has_value());
    }
  }
}

TEST_CASE("term check: the first byte is known") {
  std::string known;
  for (const std::string& term : t::All()) known += term[0];
  for (int tag = 0; tag < 256; ++tag) {
    if (known.find(static_cast<char>(tag)) != std::string::npos) continue;
    CHECK(Problem(Bytes({tag, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) ==
          "no term: tag " + std::to_string(tag) + " at byte 0");
  }
}

TEST_CASE("term check: lengths that lie") {
  const std::string huge = Big(0xffffffff, 4);
  CHECK(Problem(Bytes({109}) + huge + "abc") ==
        "no term: 4294967295 bytes, of which 3 are there, at byte 0");
  CHECK(Problem(Bytes({108}) + huge + t::kNil) == "no term: 4294967296 terms in 1 bytes at byte 0");
  CHECK(Problem(Bytes({105}) + huge) == "no term: 4294967295 terms in 0 bytes at byte 0");
  CHECK(Problem(Bytes({116}) + huge + "ab") == "no term: 8589934590 terms in 2 bytes at byte 0");
  CHECK(Problem(Bytes({111}) + huge + "abc") ==
        "no term: 4294967296 bytes, of which 3 are there, at byte 0");
  CHECK(Problem(Bytes({77}) + huge + Bytes({8, 1})) ==
        "no term: 4294967295 bytes, of which 1 are there, at byte 0");
  CHECK(Problem(Bytes({112}) + huge + "abc") ==
        "no term: a function of 4294967295 bytes, of which 3 are there, at byte 0");
  CHECK(Problem(Bytes({107, 0xff, 0xff}) + "abc") ==
        "no term: 65535 bytes, of which 3 are there, at byte 0");
  CHECK(Problem(t::Tuple({t::Small(1), Bytes({118, 0, 9}) + "abc"})) ==
        "no term: 9 bytes, of which 3 are there, at byte 4");
  CHECK(Problem(Bytes({104, 255}) + t::Small(1)) == "no term: 255 terms in 2 bytes at byte 0");
}

TEST_CASE("term check: atoms are text of 255 characters at most") {
  std::string wide;
  for (int i = 0; i < 255; ++i) wide += "\xf0\x9f\x98\x80";  // four bytes each
  CHECK(Check(Bytes({118}) + Big(wide.size(), 2) + wide).has_value());
  CHECK(Problem(Bytes({118}) + Big(wide.size() + 1, 2) + wide + "x") ==
        "no term: an atom of 256 characters at byte 0");
  CHECK(Problem(Bytes({100}) + Big(256, 2) + std::string(256, 'x')) ==
        "no term: an atom of 256 characters at byte 0");
  CHECK(Check(Bytes({100}) + Big(255, 2) + std::string(255, static_cast<char>(0xe4))).has_value());
  for (const char* wrong : {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                            "\xe0\x80\x80", "a\xff", "\xf8\x88\x80\x80\x80", "\xc3\x28"}) {
    CHECK(Problem(t::SmallAtom(wrong)) == "no term: an atom that is not UTF-8 at byte 0");
  }
  CHECK(Check(t::SmallAtom("\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80")).has_value());
}

TEST_CASE("term check: pids and others have the name of a node") {
  for (const int tag : {88, 89, 120, 113}) {
    CHECK(Problem(Bytes({tag}) + t::Small(1) + std::string(20, '\0')) ==
          "no term: tag 97 instead of an atom at byte 1");
  }
  CHECK(Problem(Bytes({90, 0, 1}) + t::Small(1) + std::string(20, '\0')) ==
        "no term: tag 97 instead of an atom at byte 3");
  CHECK(Problem(t::Reference("a@b", 1, {})) == "no term: a reference of 0 words at byte 0");
  CHECK(Problem(t::Reference("a@b", 1, {1, 2, 3, 4, 5, 6})) ==
        "no term: a reference of 6 words at byte 0");
  CHECK(Check(t::Reference("a@b", 1, {1, 2, 3, 4, 5})).has_value());
}

TEST_CASE("term check: floats are numbers") {
  CHECK(Check(t::Float(-0.0)).has_value());
  CHECK(Check(t::Float(std::numeric_limits<double>::max())).has_value());
  CHECK(Problem(t::Float(std::numeric_limits<double>::infinity())) ==
        "no term: a float that is no number at byte 0");
  CHECK_FALSE(Check(t::Float(std::nan(""))).has_value());
  CHECK(Check(t::OldFloat("-1.5e3")).has_value());
  for (const char* wrong : {"", "x", "nan", "inf", "1.5x", " 1.5", "1e999"}) {
    CHECK_FALSE(Check(t::OldFloat(wrong)).has_value());
  }
  CHECK(Check(Bytes({99}) + std::string(31, '9')).has_value());
}

TEST_CASE("term check: functions end where they say") {
  const auto right = static_cast<std::uint32_t>(t::Function().size() - 1);
  CHECK(Check(t::Function(right)).has_value());
  CHECK(Problem(t::Tuple({t::Function(right - 1)})).find("a function that ends early") !=
        std::string::npos);
  CHECK(
      Problem(t::Tuple({t::Function(right + 1), t::Small(1)})).find("a function that ends late") !=
      std::string::npos);
  CHECK_FALSE(Check(t::Function(3)).has_value());
}

TEST_CASE("term check: a bit binary of whole bytes") {
  CHECK(Check(Bytes({77}) + Big(2, 4) + Bytes({8}) + "ab").value() == 8);
  CHECK(Check(Bytes({77}) + Big(2, 4) + Bytes({8}) + "abmore").value() == 8);
  CHECK(Problem(Bytes({77}) + Big(0, 4) + Bytes({8}) + "more") ==
        "no term: 8 bits in the last of 0 bytes at byte 0");
}

TEST_CASE("term check: other things that are wrong") {
  CHECK(Problem("") == "no term: one that is cut off at byte 0");
  CHECK(Problem(Bytes({77}) + Big(1, 4) + Bytes({9, 0})) ==
        "no term: 9 bits in the last of 1 bytes at byte 0");
  CHECK(Problem(Bytes({77}) + Big(0, 4) + Bytes({3})) ==
        "no term: 3 bits in the last of 0 bytes at byte 0");
  CHECK(Problem(Bytes({108}) + Big(0, 4) + t::kNil) ==
        "no term: a list without elements at byte 0");
  CHECK(Problem(Bytes({113}) + t::SmallAtom("m") + t::SmallAtom("f") + Bytes({98, 0, 0, 0, 2})) ==
        "no term: an arity that is no small number at byte 4");
  CHECK(Problem(Bytes({80, 0, 0, 0, 1}) + "x") == "no term: tag 80 at byte 0");
}

TEST_CASE("term check: so many levels and no more") {
  const auto nested = [](std::size_t levels) {
    std::string term = t::Small(1);
    for (std::size_t i = 0; i < levels; ++i) term = t::Tuple({term});
    return term;
  };
  CHECK(Check(nested(0), 0).has_value());
  CHECK_FALSE(Check(nested(1), 0).has_value());
  CHECK(Check(nested(kDepth)).has_value());
  CHECK(Problem(nested(kDepth + 1)) == "no term: a level deeper than 100 at byte 200");
  CHECK(Check(nested(1000), 1000).has_value());
  CHECK_FALSE(Check(nested(1001), 1000).has_value());
  // Many beside each other are no matter.
  CHECK(Check(t::List(std::vector<std::string>(10'000, t::Tuple({t::Small(1)}))), 2).has_value());
}

TEST_CASE("term check: two million lists in each other are an error at once" * kit::OneThread()) {
  std::string term;
  for (int i = 0; i < 2'000'000; ++i) term += Bytes({108, 0, 0, 0, 1});
  CHECK(Problem(term, 1000) == "no term: a level deeper than 1000 at byte 5000");
  // With more levels than it has allowed: it ends where the bytes do.
  CHECK(Problem(term, 3'000'000) == "no term: 2 terms in 0 bytes at byte 9999995");
}

}  // namespace
}  // namespace ergon::dist::term_check_test

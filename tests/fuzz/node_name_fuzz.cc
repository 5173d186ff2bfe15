// Names of nodes and atoms: a name is taken exactly if it is of the form name@host in one word and not
// too long, a refusal names it, and an atom gives back the text it was made of.
#include <algorithm>
#include <string>
#include <string_view>

#include <fuzz/fuzz.h>

#include <ergon/node/node.h>

using ergon::fuzz::Require;

namespace {

// Atoms are kept for ever, and there is room for four million.
constexpr int kMostInputs = 3'000'000;

// Neither spaces nor control characters.
bool IsOneWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return code > 0x20 && code != 0x7f;
  });
}

bool IsName(std::string_view text) {
  const std::size_t at = text.find('@');
  return at != std::string_view::npos && at > 0 && at < text.size() - 1 && IsOneWord(text);
}

void CheckAtom(std::string_view text) {
  const ergon::gen::Atom atom(text);
  Require(atom.Text() == text, "an atom's text is what it was made of");
  Require(atom == ergon::gen::Atom(std::string(text)), "equal texts are equal atoms");
  Require(atom == ergon::gen::Atom::FromIndex(atom.Index()), "an atom can be found by its number");
  Require(atom.empty() == text.empty(), "only the empty text is the empty atom");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static int inputs = 0;
  if (++inputs > kMostInputs) return 0;
  const std::string_view text = ergon::fuzz::TextOf(data, size);
  // Refused for another reason once the name has been taken: nothing is started.
  ergon::gen::NodeOptions options;
  options.workers = 1;
  const auto node = ergon::node::Start(text, options);
  Require(!node.has_value(), "one worker is too few");
  Require(node.error() == ergon::gen::ErrIncorrect, "a wrong name or option is kIncorrect");
  const std::string_view detail = node.error().detail();
  const bool too_long = size > ergon::gen::Atom::kMaxBytes;
  if (!too_long && IsName(text)) {
    Require(detail.starts_with("workers: 1 "), "a name of the form name@host is taken");
    CheckAtom(text);
  } else {
    Require(detail.starts_with("node name: "), "another name is refused");
    Require(too_long || !IsOneWord(text) || detail.find(text) != std::string_view::npos,
            "the refusal tells the name");
    Require(detail.find('\n') == std::string_view::npos, "the refusal is one line");
  }
  return 0;
}

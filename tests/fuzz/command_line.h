// Command lines of treesum, made of bytes.
#pragma once

#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "options.h"

namespace ergon::fuzz {

// What ParseOptions returned and wrote.
struct ParsedLine {
  std::variant<treesum::Options, int> result;
  std::string out;
  std::string errors;
};

// The words of the command line, without the program's name; no word may have a zero byte.
inline ParsedLine ParseLine(std::vector<std::string> words) {
  words.insert(words.begin(), "treesum");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::ostringstream out;
  std::ostringstream errors;
  auto* const cout = std::cout.rdbuf(out.rdbuf());
  auto* const cerr = std::cerr.rdbuf(errors.rdbuf());
  ParsedLine parsed{treesum::ParseOptions(static_cast<int>(words.size()), pointers.data()), {}, {}};
  std::cout.rdbuf(cout);
  std::cerr.rdbuf(cerr);
  parsed.out = out.str();
  parsed.errors = errors.str();
  return parsed;
}

}  // namespace ergon::fuzz

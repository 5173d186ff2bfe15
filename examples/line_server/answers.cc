#include "answers.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>

#include <fmt/core.h>

#include <ergon/act/actor.h>

#include "messages.h"

namespace line_server {

using namespace ergon;

namespace {

// Takes the first word off `text`.
std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

std::string Sum(std::string_view numbers) {
  std::int64_t sum = 0;
  for (std::string_view word = TakeWord(numbers); !word.empty(); word = TakeWord(numbers)) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
      return fmt::format("error: \"{}\" is not a number that fits", word);
    }
    if (__builtin_add_overflow(sum, number, &sum)) return "error: the sum does not fit";
  }
  return std::to_string(sum);
}

class Answerer : public act::Actor {
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    if (const auto* line = request.As<Line>()) return gen::Reply(AnswerTo(line->text));
    return Actor::HandleCall(from, ref, request);
  }
};

}  // namespace

std::string AnswerTo(std::string_view line) {
  const std::string_view command = TakeWord(line);
  if (command == "echo") return std::string(line);
  if (command == "sum") return Sum(line);
  if (command == "upper") {
    std::string text(line);
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    return text;
  }
  return fmt::format("error: \"{}\" is none of echo, upper, sum, quit", command);
}

gen::Result<act::PoolOptions> Answerers::Init(const gen::Args&) {
  return act::PoolOptions{.pool_size = Node().Info().workers,
                          .worker_factory = gen::Factory<Answerer>(),
                          .worker_mailbox_size = 10'000};
}

}  // namespace line_server

// One process writes all lines: none is torn, and who writes faster than they are read waits for the answer.
#pragma once

#include <cstdio>
#include <string>

#include <ergon/gen/blocking.h>
#include <ergon/gen/process.h>

namespace jobs {

struct Line {
  using Reply = int;  // of fputs
  std::FILE* stream;
  std::string text;
};

inline void Print(ergon::gen::Process& self) {
  const auto write = [](const Line& line) {
    ergon::gen::Blocking blocking;  // the reader may be slow
    return std::fputs((line.text + "\n").c_str(), line.stream) + std::fflush(line.stream);
  };
  while (auto line = self.Receive<ergon::gen::Asked<Line>>()) {
    (void)self.Reply(*line, write(line->value));
  }
}

}  // namespace jobs

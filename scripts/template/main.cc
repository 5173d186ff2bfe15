// usage: @NAME@ NUMBER...
// Prints the square of each number.
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <ergon/node/node.h>

#include "squares.h"

using namespace ergon;

int main(int argc, char** argv) {
  auto node = node::Start("@NAME@@localhost").value();
  node.LoadApplication(Squares()).value();
  node.StartApplication("squares").value();
  const gen::ProcessID squares{"squares", node.Name()};

  int status = 0;
  for (int i = 1; i < argc; ++i) {
    const char* end = argv[i] + std::strlen(argv[i]);
    Square square;
    if (const auto read = std::from_chars(argv[i], end, square.value);
        read.ec != std::errc() || read.ptr != end) {
      std::fprintf(stderr, "'%s' is no number, or too large a one\n", argv[i]);
      status = 1;
    } else if (auto answer = node.Call<int>(squares, square)) {
      std::printf("%d\n", *answer);
    } else {
      std::fprintf(stderr, "'%s': %s\n", argv[i], answer.error().ToString().c_str());
      status = 1;
    }
  }
  if (std::fflush(stdout) != 0) {
    std::fprintf(stderr, "cannot write to standard output: %s\n", std::strerror(errno));
    status = 1;
  }
  return status;  // the end of the node stops the application, and waits for it
}

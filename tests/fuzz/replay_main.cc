// Runs a target on files and folders of inputs, once each: what was found stays found, without the
// fuzzer.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fuzz/fuzz.h>

namespace {

void Replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // Before it is tried: the last line names the input that ends the program.
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

int ReplayAll(const std::vector<std::string>& places) {
  int count = 0;
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place)) {
      Replay(place);
      ++count;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      Replay(entry.path());
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count == 0 ? 1 : 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return ReplayAll({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", words[0], error.what());
    return 1;
  }
}

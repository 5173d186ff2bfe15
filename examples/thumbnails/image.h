// Images in memory, and as PPM files: the simplest format there is.
#pragma once

#include <string>
#include <string_view>

#include <ergon/gen/result.h>

namespace thumbnails {

struct Image {
  int width = 0;
  int height = 0;
  std::string pixels;  // row by row, three bytes each: red, green, blue
};

inline constexpr int kMaxSide = 10'000;  // pixels

// A file of the kind P6 with one byte for each colour, and nothing after its pixels. The error says what is
// wrong with which field: "width: not a number from 1 to 10000".
[[nodiscard]] ergon::gen::Result<Image> ParsePpm(std::string_view file);

[[nodiscard]] std::string ToPpm(const Image& image);

// The image, so small that neither side is longer than `longest`, which is at least 1. Each of its pixels is
// the mean of those in whose place it stands. A small image stays as it is.
[[nodiscard]] Image ScaleDown(Image image, int longest);

}  // namespace thumbnails

#include "image.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/core.h>

namespace thumbnails {

using namespace ergon;

namespace {

constexpr std::size_t kColours = 3;
constexpr int kMaxValue = 255;  // of a colour
constexpr std::string_view kSpace = " \t\r\n\v\f";

std::size_t Bytes(int width, int height) {
  return std::size_t(width) * std::size_t(height) * kColours;
}

bool BeginsWithSpace(std::string_view text) {
  return !text.empty() && kSpace.find(text.front()) != kSpace.npos;
}

// Takes a number off `text`, and what stands before it: spaces, and comments to the end of their line.
gen::Result<int> TakeNumber(std::string_view& text, const char* field, int least, int most) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (!text.starts_with('#')) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < least || number > most) {
    return gen::Error(fmt::format("{}: not a number from {} to {}", field, least, most));
  }
  text.remove_prefix(std::size_t(end - text.data()));
  return number;
}

}  // namespace

gen::Result<Image> ParsePpm(std::string_view file) {
  constexpr std::string_view kMagic = "P6";
  if (!file.starts_with(kMagic) || !BeginsWithSpace(file.substr(kMagic.size()))) {
    return gen::Error("magic: not P6, as a binary PPM file begins");
  }
  file.remove_prefix(kMagic.size());
  const auto width = TakeNumber(file, "width", 1, kMaxSide);
  if (!width) return width.error();
  const auto height = TakeNumber(file, "height", 1, kMaxSide);
  if (!height) return height.error();
  const auto most = TakeNumber(file, "maxval", 1, 65'535);
  if (!most) return most.error();
  if (*most != kMaxValue) return gen::Error("maxval: not 255, the only one that is understood");
  if (!BeginsWithSpace(file)) return gen::Error("maxval: no space after it");
  file.remove_prefix(1);
  if (file.size() != Bytes(*width, *height)) {
    return gen::Error(fmt::format("pixels: {} bytes, but {} x {} pixels have {}", file.size(),
                                  *width, *height, Bytes(*width, *height)));
  }
  return Image{*width, *height, std::string(file)};
}

std::string ToPpm(const Image& image) {
  return fmt::format("P6\n{} {}\n{}\n{}", image.width, image.height, kMaxValue, image.pixels);
}

Image ScaleDown(Image image, int longest) {
  const int side = std::max(image.width, image.height);
  if (side <= longest) return image;
  Image small{
      std::max(image.width * longest / side, 1), std::max(image.height * longest / side, 1), {}};
  small.pixels.reserve(Bytes(small.width, small.height));
  for (int y = 0; y < small.height; ++y) {
    const int top = y * image.height / small.height;
    const int bottom = (y + 1) * image.height / small.height;
    for (int x = 0; x < small.width; ++x) {
      const int left = x * image.width / small.width;
      const int right = (x + 1) * image.width / small.width;
      std::array<std::uint64_t, kColours> sums{};
      for (int row = top; row < bottom; ++row) {
        const char* pixel = image.pixels.data() + Bytes(image.width, row) + Bytes(left, 1);
        for (int column = left; column < right; ++column) {
          for (std::uint64_t& sum : sums) sum += static_cast<unsigned char>(*pixel++);
        }
      }
      const auto count = std::uint64_t(bottom - top) * std::uint64_t(right - left);
      for (const std::uint64_t sum : sums) small.pixels += static_cast<char>(sum / count);
    }
  }
  return small;
}

}  // namespace thumbnails

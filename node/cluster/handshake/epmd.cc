#include <ergon/node/cluster/handshake/epmd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include <fmt/core.h>

#include <ergon/node/cluster/handshake/node_names.h>
#include <ergon/node/erlang/terms/big_endian.h>

namespace ergon::dist {
namespace {

// Requests and answers of EPMD.
constexpr char kAlive2Request = 120;
constexpr char kAlive2Answer = 121;   // with a creation of 16 bits, of an old EPMD
constexpr char kAlive2XAnswer = 118;  // with one of 32
constexpr char kPort2Request = 122;
constexpr char kPort2Answer = 119;

constexpr char kNormalNode = 77;
constexpr char kHiddenNode = 72;
constexpr char kTcp = 0;

// Of an answer to kPort2Request, up to the length of the name.
constexpr std::size_t kPortEnd = 4;
constexpr std::size_t kNameBegin = 12;

std::string WithLength(std::string_view request) {
  std::string packet;
  packet.reserve(2 + request.size());
  AppendBigEndian(packet, static_cast<std::uint16_t>(request.size()));
  packet += request;
  return packet;
}

gen::Error NoAnswer(std::string text) {
  return gen::Error(gen::ErrorCode::kIncorrect, "EPMD: " + std::move(text));
}

std::uint16_t NumberAt(std::string_view answer, std::size_t position) {
  return ReadBigEndian<std::uint16_t>(answer.substr(position));
}

gen::Error UnknownAnswer(std::string_view answer) {
  return NoAnswer(fmt::format("an answer that begins with {}: is something else at its port?",
                              static_cast<unsigned char>(answer.front())));
}

}  // namespace

gen::Result<std::uint16_t> EpmdPort() {
  const char* text = std::getenv("ERL_EPMD_PORT");
  if (text == nullptr) return kEpmdPort;
  const std::string_view digits = text;
  std::uint16_t port = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, problem] = std::from_chars(digits.data(), last, port);
  if (problem != std::errc() || end != last || port == 0) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("ERL_EPMD_PORT: {} is outside 1..65535", Quoted(digits)));
  }
  return port;
}

std::string EpmdRegister(std::string_view alive, std::uint16_t port, bool hidden) {
  std::string request(1, kAlive2Request);
  AppendBigEndian(request, port);
  request += hidden ? kHiddenNode : kNormalNode;
  request += kTcp;
  AppendBigEndian(request, kHandshakeVersion);  // the highest that we speak
  AppendBigEndian(request, kHandshakeVersion);  // the lowest
  AppendBigEndian(request, static_cast<std::uint16_t>(alive.size()));
  request += alive;
  AppendBigEndian(request, std::uint16_t{0});  // nothing else
  return WithLength(request);
}

std::string EpmdLookUp(std::string_view alive) {
  std::string request(1, kPort2Request);
  request += alive;
  return WithLength(request);
}

gen::Result<std::optional<std::uint32_t>> ParseRegistered(std::string_view answer,
                                                          std::string_view alive) {
  if (answer.empty()) return std::nullopt;
  const bool is_new = answer.front() == kAlive2XAnswer;
  if (!is_new && answer.front() != kAlive2Answer) return UnknownAnswer(answer);
  if (answer.size() < 2) return std::nullopt;
  if (answer[1] != 0) {
    return gen::Error(
        gen::ErrorCode::kTaken,
        fmt::format("EPMD refuses the name {}: another node of this host has it; choose "
                    "another name, or end that node",
                    Quoted(alive)));
  }
  const std::size_t size = is_new ? 6 : 4;
  if (answer.size() < size) return std::nullopt;
  if (answer.size() > size) return NoAnswer("more than one answer to a registration");
  const std::uint32_t creation =
      is_new ? ReadBigEndian<std::uint32_t>(answer.substr(2)) : NumberAt(answer, 2);
  if (creation == 0) return NoAnswer("the creation 0");
  return creation;
}

gen::Result<std::optional<EpmdNode>> ParseLookUp(std::string_view answer, std::string_view alive) {
  if (answer.empty()) return std::nullopt;
  if (answer.front() != kPort2Answer) return UnknownAnswer(answer);
  if (answer.size() < 2) return std::nullopt;
  if (answer[1] != 0) {
    return gen::Error(
        gen::ErrorCode::kNoConnection,
        fmt::format("EPMD of that host knows no node {}: it does not run, or not under this name",
                    Quoted(alive)));
  }
  if (answer.size() < kNameBegin) return std::nullopt;
  const std::size_t name_end = kNameBegin + NumberAt(answer, kNameBegin - 2);
  if (answer.size() < name_end + 2) return std::nullopt;
  const std::size_t end = name_end + 2 + NumberAt(answer, name_end);
  if (answer.size() < end) return std::nullopt;
  if (answer.size() > end) return NoAnswer("more than one answer to a look-up");
  const std::string_view name = answer.substr(kNameBegin, name_end - kNameBegin);
  if (name != alive) {
    return NoAnswer(
        fmt::format("it was asked for {} and tells of {}", Quoted(alive), Quoted(name)));
  }
  EpmdNode node;
  node.port = NumberAt(answer, 2);
  node.hidden = answer[kPortEnd] == kHiddenNode;
  node.highest_version = NumberAt(answer, 6);
  node.lowest_version = NumberAt(answer, 8);
  if (node.port == 0) return NoAnswer(fmt::format("{} at the port 0", Quoted(alive)));
  return node;
}

}  // namespace ergon::dist

// Who may ask: what a request's head has to say before anything is done for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/node/observer/settings.h>

namespace ergon::node {

// What the gate looks at. Views of the request; none: there is no such header. Of a header that is there twice `host` is
// none, and the others are refused by their text.
struct RequestHead {
  std::optional<std::string_view> host = std::nullopt;
  std::optional<std::string_view> origin = std::nullopt;
  std::optional<std::string_view> fetch_site = std::nullopt;  // Sec-Fetch-Site
  std::optional<std::string_view> authorization = std::nullopt;
};

enum class Refusal : std::uint8_t {
  kHost,  // by another name than the observer's: a page whose name was bound to this address later on
  kOrigin,  // from a page of another origin
  kToken,   // no token, or a wrong one
};

// Any thread.
class Gate {
 public:
  explicit Gate(const ObserverSettings& settings);

  // None: it may pass. `is_public`: also without a token.
  [[nodiscard]] std::optional<Refusal> Refuse(const RequestHead& head, bool is_public) const;

 private:
  [[nodiscard]] bool IsHost(std::string_view host) const;
  [[nodiscard]] bool IsToken(std::string_view authorization) const;

  std::vector<std::string> hosts_;  // in lower case; empty: all
  std::string token_;               // empty: none is needed
};

}  // namespace ergon::node

// Which requests are allowed: what a request's head must say before anything is done for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ergon/node/observer/http/settings.h>

namespace ergon::node {

// The headers that the gate looks at. Views of the request; std::nullopt: there is no such header. If a header is there
// twice, `host` is std::nullopt, and the others have a text that the gate refuses.
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

  // Returns why a request is refused; std::nullopt: it may pass. `is_public`: it needs no token.
  [[nodiscard]] std::optional<Refusal> Refuse(const RequestHead& head, bool is_public) const;

 private:
  [[nodiscard]] bool IsHost(std::string_view host) const;
  [[nodiscard]] bool IsToken(std::string_view authorization) const;

  std::vector<std::string>
      hosts_;                    // names in lower case, and addresses without brackets; empty: all
  bool is_any_address_ = false;  // clients call it by each address of the machine
  std::string token_;            // empty: none is needed
};

}  // namespace ergon::node

// dist::ErlangOptions, checked, and the transport that is made of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ergon/gen/network.h>
#include <ergon/gen/result.h>
#include <ergon/gen/wire_types.h>
#include <ergon/node/cluster/connection/settings.h>
#include <ergon/node/cluster/erlang_transport.h>
#include <ergon/node/erlang/options.h>
#include <ergon/node/runtime/transport_factory.h>

namespace ergon::dist {

// Returns kIncorrect, with a text that names the option and its value, if an option or the name of the node is wrong,
// or if a cookie or a certificate cannot be read. No text contains the cookie.
[[nodiscard]] gen::Result<Settings> SettingsOf(const std::string& node,
                                               const ErlangOptions& options);

// The options of a transport as they are now, and their changes while the node runs.
class ErlangChanges {
 public:
  // `transport` and `log` outlive this.
  ErlangChanges(ErlangTransport& transport, ErlangOptions options, node::NodeLog& log);

  // See node::Transport::PrepareChange.
  gen::Result<std::function<void()>> Prepare(const std::vector<gen::NetworkOption>& given);

 private:
  void Tell(const ErlangOptions& fresh, const Settings& settings);

  ErlangTransport& transport_;
  ErlangOptions options_;
  std::string cookie_;
  node::NodeLog& log_;
};

class ErlangNetwork final : public node::TransportFactory {
 public:
  explicit ErlangNetwork(ErlangOptions options) : options_(std::move(options)) {}

  [[nodiscard]] gen::Result<std::unique_ptr<node::Transport>> Open(
      const Needs& needs, const gen::WireTypes& types,
      const std::vector<gen::NetworkOption>& given) const override;

 private:
  const ErlangOptions options_;
};

}  // namespace ergon::dist

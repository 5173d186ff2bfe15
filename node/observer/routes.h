// What an observer answers to which request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ergon/gen/process.h>
#include <ergon/node/observer/gate.h>
#include <ergon/node/observer/state.h>

namespace ergon::node {

// Views of what has come.
struct ObserverRequest {
  bool is_get = false;  // or HEAD
  std::string_view target;
  std::string_view accept;
  RequestHead head;
};

struct ObserverAnswer {
  unsigned status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body = {};
  bool is_page = false;  // a browser may show it, and run the script of this observer
};

// Never tells anything that the request has said. By the process of the connection, which may wait.
[[nodiscard]] ObserverAnswer AnswerTo(gen::Process& self, const ObserverState& state,
                                      const ObserverRequest& request);

}  // namespace ergon::node

// A request to an observer, and its answer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <ergon/node/observer/http/gate.h>

namespace ergon::node {

// Views of the bytes of a request.
struct ObserverRequest {
  bool is_get = false;  // or HEAD
  bool is_post = false;
  std::string_view target;
  std::string_view accept;
  RequestHead head;
};

struct ObserverAnswer {
  unsigned status = 200;
  std::string_view content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::shared_ptr<const std::string> shared = {};  // the body, if others get the same
  std::string_view allow = "GET, HEAD";            // the methods, where the status is 405
  bool is_page = false;  // a browser may show it, and run the script of this observer

  [[nodiscard]] std::string_view Body() const { return shared == nullptr ? body : *shared; }
};

}  // namespace ergon::node

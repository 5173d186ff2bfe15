// The JSON that an observer tells.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#define BOOST_BIND_GLOBAL_PLACEHOLDERS  // or it tells each who compiles it that it does
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>

#include <doctest/doctest.h>

#include <kit/http_client.h>

namespace ergon::node::observer_test {

using Tree = boost::property_tree::ptree;

// Throws for what is no JSON.
inline Tree ParseJson(const kit::HttpAnswer& answer) {
  REQUIRE(answer.status == 200);
  CHECK(answer.Header("content-type") == "application/json");
  std::istringstream stream(answer.body);
  Tree tree;
  boost::property_tree::read_json(stream, tree);
  return tree;
}
inline std::vector<std::string> All(const Tree& tree, const char* list, const char* key) {
  std::vector<std::string> values;
  for (const auto& [unused, item] : tree.get_child(list)) {
    values.push_back(item.get<std::string>(key));
  }
  return values;
}

}  // namespace ergon::node::observer_test

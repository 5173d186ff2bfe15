// The conservation law at the end of a test that had a node.
#pragma once

#include <cstdint>

#include <doctest/doctest.h>

#include <ergon/gen/node.h>

namespace ergon::kit {

// Of a node that has stopped: all messages are accounted for, but for `losses` that the test wanted.
inline void CheckBalance(const gen::Node& node, std::int64_t losses = 0) {
  const gen::MessageBalance balance = node.MessageBalance();
  CHECK_MESSAGE(balance.Unaccounted() == losses, balance.ToString());
  CHECK_MESSAGE(balance.queued + balance.held == 0, balance.ToString());
}

}  // namespace ergon::kit

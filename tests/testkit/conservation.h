// The conservation law: no message that was sent on a node is lost without a count.
#pragma once

#include <chrono>

#include <ergon/gen/node.h>

namespace ergon::testkit {

// Throws ExpectationFailed with the counters of the node unless every message that was accepted was handled, dropped
// for a reason, or waits (see gen::MessageBalance). The law holds when the node is at rest; while it is busy, this
// function looks again until `patience` is over. Any thread but those that run handlers. In a Simulation, where nothing
// moves meanwhile, use Simulation::ExpectConservation.
void ExpectConservation(const gen::Node& node,
                        std::chrono::nanoseconds patience = std::chrono::seconds(5));

}  // namespace ergon::testkit

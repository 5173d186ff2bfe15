// Requests to end, and the processes of a slot, of which each has a number.
#include <ergon/node/process_state/end_requests.h>

#include <doctest/doctest.h>

#include <kit/one_thread.h>

namespace ergon::node {

TEST_CASE("end requests: they are for the process that they name, however many were before it" *
          kit::OneThread()) {
  EndRequests requests;
  for (const std::uint32_t generation : {1u, 2u, 1000u, 0x80000001u, 0xffffffffu, 0u, 1u}) {
    CAPTURE(generation);
    requests.Begin(generation);
    CHECK_FALSE(requests.IsKilled(generation));
    CHECK_FALSE(requests.IsAskedToStop(generation));
    requests.NoteKilled(generation - 1);  // of the one before, and late
    CHECK_FALSE(requests.IsKilled(generation));
    requests.NoteKilled(generation);
    requests.NoteStopAsked(generation);
    requests.NoteKilled(generation - 1);
    requests.NoteStopAsked(generation - 1);
    CHECK(requests.IsKilled(generation));
    CHECK(requests.IsAskedToStop(generation));
  }
}

}  // namespace ergon::node

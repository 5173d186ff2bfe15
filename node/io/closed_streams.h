// The standard streams of a program that was started without them.
#pragma once

namespace ergon::node {

// Opens the ones that are closed, the wrong way round, so that who uses them still gets an error. Else what a node
// opens would get their numbers: others would read it as their input, or write their messages to it.
void OccupyClosedStreams();

}  // namespace ergon::node

// The application "squares": a pool of workers, kept running by a supervisor.
#pragma once

#include <ergon/gen/application.h>

// A request to the process named "squares", which answers with an int.
struct Square {
  int value = 0;
};

// For LoadApplication.
ergon::gen::ApplicationSpec Squares();

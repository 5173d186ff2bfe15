// The way from the walk to the pool, with flow control.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string_view>

#include <ergon/gen/node.h>
#include <ergon/gen/pid.h>

#include "file_batch.h"
#include "messages.h"
#include "walk.h"

namespace treesum {

struct FeederOptions {
  ergon::gen::PID pool;
  ergon::gen::PID printer;
  int max_workers = 1;  // that the pool will ever have
  int mailbox = 1;      // of each
  std::stop_token stop;
};

// Puts files into batches and sends these to the pool, waiting when there is enough on its way:
//   * as many batches as fit into the mailboxes, or fewer, when the pool refuses one because its
//     mailboxes are full;
//   * a few megabytes of output that cannot be printed yet, because a big file comes first.
// So memory does not depend on how many files there are.
class Feeder : public WalkVisitor {
 public:
  Feeder(ergon::gen::Node& node, FeederOptions options);

  // False once the stop has been requested. They throw std::runtime_error if the pool or the
  // printer fails.
  bool OnFile(std::string_view path, std::uint64_t size) override;
  bool OnProblem(Problem problem) override;
  bool OnLink(std::string_view path) override;

  // Sends what is left and waits until everything is printed, or the output has ended.
  void Finish();

  [[nodiscard]] std::uint64_t links() const { return links_; }

 private:
  bool Continue();
  void SendBatch();
  void WaitForWindow(std::uint64_t weight);
  void Wait(const WaitUntil& condition);
  void CheckPool();

  ergon::gen::Node& node_;
  const FeederOptions options_;
  const std::uint64_t max_batches_;  // on their way at once
  std::shared_ptr<FileBatch> batch_;
  std::uint64_t batches_sent_ = 0;
  std::uint64_t weight_sent_ = 0;
  std::uint64_t links_ = 0;
  Totals totals_;  // as last heard
};

}  // namespace treesum

#include "feeder.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>

namespace treesum {

using namespace ergon;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kMaxWeight = 8 * 1024 * 1024;  // of the batches that are not printed yet
constexpr auto kCheckInterval = 5s;

}  // namespace

Feeder::Feeder(gen::Node& node, FeederOptions options)
    : node_(node),
      options_(std::move(options)),
      max_batches_(static_cast<std::uint64_t>(options_.max_workers) *
                   static_cast<std::uint64_t>(options_.mailbox)),
      batch_(std::make_shared<FileBatch>()) {}

bool Feeder::OnFile(std::string_view path, std::uint64_t size) {
  batch_->Add(path, size);
  return Continue();
}

bool Feeder::OnProblem(Problem problem) {
  batch_->Add(std::move(problem));
  return Continue();
}

bool Feeder::OnLink(std::string_view) {
  ++links_;
  return !options_.stop.stop_requested();
}

bool Feeder::Continue() {
  if (batch_->full()) SendBatch();
  return !options_.stop.stop_requested();
}

void Feeder::Finish() {
  if (!batch_->empty()) SendBatch();
  Wait({.batches_done = batches_sent_, .weight_printed = weight_sent_});
}

void Feeder::SendBatch() {
  std::uint64_t weight = batch_->weight();
  WaitForWindow(weight);
  std::shared_ptr<const FileBatch> files = std::exchange(batch_, std::make_shared<FileBatch>());
  while (!options_.stop.stop_requested()) {
    auto sent = node_.Send(options_.pool, HashBatch{batches_sent_, files});
    if (sent) {
      ++batches_sent_;
      weight_sent_ += weight;
      return;
    }
    // Full mailboxes are nothing but a sign to wait: the pool has become smaller, or the batches
    // are spread unevenly.
    if (sent.error() != gen::ErrProcessMailboxFull) {
      throw std::runtime_error("cannot send to the pool: " + sent.error().ToString());
    }
    Wait({.batches_done = totals_.batches_done + 1});
  }
}

void Feeder::WaitForWindow(std::uint64_t weight) {
  std::uint64_t weight_needed = std::max(weight_sent_ + weight, kMaxWeight) - kMaxWeight;
  bool enough_batches = batches_sent_ - totals_.batches_done >= max_batches_;
  if (!enough_batches && totals_.weight_printed >= weight_needed) return;
  // If there are enough batches, half a mailbox has to become free: waiting for every single one
  // would cost a message each.
  std::uint64_t batches_needed = std::max(batches_sent_ + 1, max_batches_) - max_batches_;
  if (enough_batches) batches_needed += static_cast<std::uint64_t>(options_.mailbox) / 2;
  Wait({.batches_done = batches_needed, .weight_printed = weight_needed});
}

void Feeder::Wait(const WaitUntil& condition) {
  for (;;) {
    auto totals = node_.Call<Totals>(options_.printer, condition, {.timeout = kCheckInterval});
    if (totals) {
      totals_ = *totals;
      return;
    }
    if (totals.error() != gen::ErrTimeout) {
      throw std::runtime_error("the printer has failed: " + totals.error().ToString());
    }
    CheckPool();
  }
}

// A batch that is lost, because its worker crashed and no other one had room, would never be done.
void Feeder::CheckPool() {
  auto state = node_.Inspect(options_.pool, {"messages_lost_full", "messages_lost_terminated"});
  if (!state) throw std::runtime_error("the pool has failed: " + state.error().ToString());
  for (const auto& [key, value] : *state) {
    if (value != "0")
      throw std::runtime_error(fmt::format("the pool has lost work: {} {}", key, value));
  }
}

}  // namespace treesum

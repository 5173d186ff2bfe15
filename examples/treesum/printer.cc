#include "printer.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <ergon/act/actor.h>
#include <ergon/gen/match_request.h>
#include <unistd.h>

#include "messages.h"
#include "output.h"
#include "progress.h"
#include "text.h"

namespace treesum {

using namespace ergon;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

// To itself: draw the bar.
struct Tick {};
constexpr auto kTickInterval = 100ms;

class Printer : public act::Actor {
 public:
  explicit Printer(PrinterOptions options)
      : options_(std::move(options)), output_(options_.stop.get_token()) {}

 private:
  // Whoever called with WaitUntil and has no answer yet.
  struct Waiter {
    gen::PID from;
    gen::Ref ref;
    WaitUntil condition;
  };

  gen::Status Init(const gen::Args&) override {
    if (options_.progress) SendAfter(Self(), Tick{}, kTickInterval).value();
    return gen::Continue();
  }

  gen::Status HandleMessage(gen::PID from, gen::Message& message) override {
    const bool is_known = gen::Match(
        message,  //
        [&](BatchDone done) { Take(std::move(done)); },
        [&](const BytesRead& read) { options_.tally->bytes_read += read.bytes; },
        [&](const Notice& notice) { Show(notice.text); },
        [&](const Surveyed& surveyed) { survey_ = surveyed; },  //
        [&](const Tick&) { Draw(); });
    return is_known ? gen::Continue() : Actor::HandleMessage(from, message);
  }

  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override {
    return gen::MatchRequest(
        request,
        [&](const WaitUntil& condition) {
          if (IsMet(condition)) return gen::Reply(totals_);
          waiter_ = {from, ref, condition};
          return gen::NoReply();
        },
        [&](const Finish&) { return End(); },
        [&](gen::Message& other) { return Actor::HandleCall(from, ref, other); });
  }

  void Take(BatchDone done) {
    options_.tally->bytes_read += done.bytes_read;
    ++totals_.batches_done;
    files_done_ += done.files;
    waiting_.emplace(done.number, std::move(done));
    PrintWhatIsNext();
    AnswerWaiter();
  }

  // Batches are done in any order, and printed in theirs.
  void PrintWhatIsNext() {
    std::string lines;
    while (!waiting_.empty() && waiting_.begin()->first == next_number_ && !ended_) {
      BatchDone& done = waiting_.begin()->second;
      for (const Problem& problem : done.problems) {
        Show(Printable(problem.path) + ": " + problem.reason);
        problems_.Add(problem.kind);
      }
      if (lines.empty()) {
        lines = std::move(done.lines);
      } else {
        lines += done.lines;
      }
      totals_.weight_printed += done.weight;
      ended_ = !done.complete;
      waiting_.erase(waiting_.begin());
      ++next_number_;
    }
    if (lines.empty()) return;
    if (output_is_terminal_) bar_.Clear();
    std::size_t written = output_.Write(lines);
    auto end = lines.begin() + static_cast<std::ptrdiff_t>(written);
    options_.tally->files += static_cast<std::uint64_t>(
        std::count(lines.begin(), end, static_cast<char>(options_.line_end)));
    ended_ = ended_ || written < lines.size();
    CheckOutput();
  }

  void CheckOutput() {
    if (output_.error().empty() || std::exchange(output_failed_, true)) return;
    Show("cannot write to standard output: " + output_.error());
    options_.stop.request_stop();
  }

  [[nodiscard]] bool IsMet(const WaitUntil& condition) const {
    return ended_ || (totals_.batches_done >= condition.batches_done &&
                      totals_.weight_printed >= condition.weight_printed);
  }

  void AnswerWaiter() {
    if (!waiter_ || !IsMet(waiter_->condition)) return;
    // Should the answer not be wanted any more, that is all right.
    (void)SendResponse(waiter_->from, waiter_->ref, totals_);
    waiter_.reset();
  }

  void Show(std::string_view text) {
    bar_.Clear();
    WriteMessage(text);
  }

  void Draw() {
    if (finished_) return;
    bar_.Draw({.files = files_done_,
               .bytes = options_.tally->bytes_read,
               .elapsed = Clock::now() - started_,
               .all_files = survey_.files,
               .all_bytes = survey_.bytes});
    SendAfter(Self(), Tick{}, kTickInterval).value();
  }

  Summary End() {
    finished_ = true;
    bar_.Clear();
    output_.Close();
    CheckOutput();
    return {.files = options_.tally->files,
            .bytes_read = options_.tally->bytes_read,
            .problems = problems_,
            .output_error = output_.error()};
  }

  PrinterOptions options_;
  const bool output_is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  const Clock::time_point started_ = Clock::now();

  std::map<std::uint64_t, BatchDone> waiting_;  // done, but not their turn yet; by number
  std::uint64_t next_number_ = 0;               // the batch to print next
  bool ended_ = false;                          // nothing more is going to be printed
  std::optional<Waiter> waiter_;

  Totals totals_;
  ProblemCounts problems_;
  Surveyed survey_;
  std::uint64_t files_done_ = 0;
  Output output_;
  bool output_failed_ = false;  // and reported
  bool finished_ = false;
  ProgressBar bar_;
};

}  // namespace

gen::ProcessFactory PrinterFactory(PrinterOptions options) {
  return gen::Factory<Printer>(std::move(options));
}

}  // namespace treesum

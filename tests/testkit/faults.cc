#include <ergon/testkit/faults.h>

#include <optional>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include <fmt/format.h>

#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/node.h>

namespace ergon::testkit {
namespace {

void CheckProbability(const char* field, double value) {
  if (value >= 0 && value <= 1) return;  // nor is it "not a number"
  throw std::invalid_argument(fmt::format("{}: {} is outside 0..1", field, value));
}

void Check(const Faults& faults) {
  CheckProbability("factory_failure", faults.factory_failure);
  CheckProbability("init_failure", faults.init_failure);
  CheckProbability("throw_before", faults.throw_before);
  CheckProbability("throw_after", faults.throw_after);
  CheckProbability("stop_after", faults.stop_after);
  CheckProbability("kill", faults.kill);
  CheckProbability("lost_response", faults.lost_response);
  CheckProbability("slow", faults.slow);
  CheckProbability("full_mailbox", faults.full_mailbox);
  if (faults.slow > 0 && faults.slow_most.count() <= 0) {
    throw std::invalid_argument(
        fmt::format("slow_most: {}, must be more than 0", core::ExactTime(faults.slow_most)));
  }
}

class InjectedFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Stands between the runtime and a behaviour.
class FaultyBehavior final : public gen::ProcessBehavior {
 public:
  FaultyBehavior(std::unique_ptr<gen::ProcessBehavior> inner, const Faults& faults, Random& random,
                 FaultCounts& counts)
      : inner_(std::move(inner)), faults_(faults), random_(random), counts_(counts) {}

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) override {
    host_ = &host;
    if (Happens(faults_.init_failure, counts_.init_failures)) throw InjectedFault("fault in Init");
    return inner_->ProcessInit(host, args);
  }

  gen::Status ProcessMessage(core::Envelope& envelope) override {
    if (!IsUsers(envelope)) return inner_->ProcessMessage(envelope);
    Squeeze();
    if (Happens(faults_.slow, counts_.slow_handlers)) {
      const auto most = static_cast<std::uint64_t>(faults_.slow_most.count());
      (void)host_->Sleep(std::chrono::nanoseconds(1 + random_.Below(most)));
    }
    if (Happens(faults_.kill, counts_.kills)) (void)host_->Kill(host_->Self());
    if (Happens(faults_.throw_before, counts_.throws_before)) throw InjectedFault("fault before");
    if (static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kRequest &&
        Happens(faults_.lost_response, counts_.lost_responses)) {
      envelope.ref = host_->MakeRef().id;  // nobody waits for this one
    }
    gen::Status status = inner_->ProcessMessage(envelope);
    if (Happens(faults_.throw_after, counts_.throws_after)) throw InjectedFault("fault after");
    if (!status.stops() && Happens(faults_.stop_after, counts_.stops_after)) {
      return gen::Stop(gen::Reason::Error("fault"));
    }
    return status;
  }

  gen::Status ProcessStop(const gen::Reason& reason) override {
    return inner_->ProcessStop(reason);
  }
  void ProcessTerminate(const gen::Reason& reason) override { inner_->ProcessTerminate(reason); }
  [[nodiscard]] std::string BehaviorName() const override { return inner_->BehaviorName(); }

 private:
  // What a user has sent, and not what keeps behaviours and runtime going.
  static bool IsUsers(const core::Envelope& envelope) {
    return envelope.lane == core::Lane::kMain &&
           gen::IsUserMessage(static_cast<gen::EnvelopeKind>(envelope.kind));
  }

  bool Happens(double probability, std::uint64_t& count) {
    if (!random_.Chance(probability)) return false;
    ++count;
    return true;
  }

  // Makes the mailbox small for one message, or as it was.
  void Squeeze() {
    if (squeezed_from_) {
      host_->SetMailboxSize(*squeezed_from_);
      squeezed_from_.reset();
    } else if (Happens(faults_.full_mailbox, counts_.full_mailboxes)) {
      auto info = host_->Node().ProcessInfo(host_->Self());
      if (!info) return;
      squeezed_from_ = info->mailbox_size;
      host_->SetMailboxSize(1);
    }
  }

  const std::unique_ptr<gen::ProcessBehavior> inner_;
  const Faults faults_;
  Random& random_;
  FaultCounts& counts_;
  gen::ProcessHost* host_ = nullptr;
  std::optional<std::uint32_t> squeezed_from_;
};

}  // namespace

gen::ProcessFactory MakeFaulty(gen::ProcessFactory factory, const Faults& faults, Random& random,
                               FaultCounts& counts) {
  Check(faults);
  if (!factory) throw std::invalid_argument("factory: is empty");
  if (factory.IsFunction()) {
    throw std::invalid_argument(
        "factory: it makes processes of a function, which cannot be made faulty: give a behaviour");
  }
  const std::type_info* type = factory.type();
  return gen::ProcessFactory(
      [factory = std::move(factory), faults, &random,
       &counts]() -> std::unique_ptr<gen::ProcessBehavior> {
        if (random.Chance(faults.factory_failure)) {
          ++counts.factory_failures;
          throw InjectedFault("fault in the factory");
        }
        auto behavior = factory.Make();
        if (behavior == nullptr) return nullptr;  // the spawn says so
        return std::make_unique<FaultyBehavior>(std::move(behavior), faults, random, counts);
      },
      type);
}

}  // namespace ergon::testkit

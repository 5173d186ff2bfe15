#include <ergon/act/pool.h>

#include <stdexcept>
#include <utility>

#include <ergon/act/pool/runner.h>

namespace ergon::act {

Pool::Pool() = default;
Pool::~Pool() = default;

gen::Status Pool::HandleMessage(gen::PID from, gen::Message& message) {
  return UnhandledMessage(Host(), UnhandledLines(), from, message);
}

gen::CallResult Pool::HandleCall(gen::PID from, gen::Ref /*ref*/, gen::Message& request) {
  return UnhandledRequest(Host(), UnhandledLines(), from, request);
}

gen::Status Pool::HandleResponse(gen::Ref ref, gen::Response& response) {
  return UnhandledResponse(Log(), ref, response);
}

gen::Status Pool::HandleEvent(const gen::MessageEvent& event) {
  return UnhandledEvent(Host(), UnhandledLines(), event);
}

gen::Inspection Pool::HandleInspect(gen::PID /*from*/, const std::vector<std::string>& /*items*/) {
  return {};
}

void Pool::Terminate(const gen::Reason& /*reason*/) {}

gen::Result<void> Pool::MayResize(const char* function) const {
  const bool own = HasHost() && Host().InOwnTurn();
  if (own && runner_ != nullptr && runner_->running()) return {};
  return gen::Error(gen::ErrorCode::kNotAllowed,
                    fmt::format("{}: {}", function,
                                !own                 ? "only in the pool's own handlers"
                                : runner_ == nullptr ? "not before the end of Init"
                                                     : "the pool is ending"));
}

gen::Result<std::int64_t> Pool::AddWorkers(int count) {
  auto allowed = MayResize("AddWorkers");
  if (!allowed) return std::move(allowed.error());
  return runner_->AddWorkers(count);
}

gen::Result<std::int64_t> Pool::RemoveWorkers(int count) {
  auto allowed = MayResize("RemoveWorkers");
  if (!allowed) return std::move(allowed.error());
  return runner_->RemoveWorkers(count, true);
}

gen::Result<std::int64_t> Pool::RemoveWorkersNow(int count) {
  auto allowed = MayResize("RemoveWorkersNow");
  if (!allowed) return std::move(allowed.error());
  return runner_->RemoveWorkers(count, false);
}

gen::Result<void> Pool::Change(const PoolChange& change) {
  auto allowed = MayResize("Change");
  if (!allowed) return allowed;
  return runner_->Change(change);
}

void Pool::CheckOwnTurn() const {
  if (!Host().InOwnTurn()) throw std::logic_error("only in the pool's own handlers");
}

std::int64_t Pool::WorkerCount() const {
  CheckOwnTurn();
  return runner_ == nullptr ? 0 : runner_->size();
}

PoolStats Pool::Stats() const {
  CheckOwnTurn();
  return runner_ == nullptr ? PoolStats() : MakePoolStats(runner_->Observe());
}

std::vector<gen::PID> Pool::Workers() const {
  CheckOwnTurn();
  return runner_ == nullptr ? std::vector<gen::PID>() : runner_->Workers();
}

void Pool::SetTrapExit(bool trap) {
  Host().SetHeedExits(!trap);  // throws in a constructor, as everywhere
  trap_exit_ = trap;
}

bool Pool::TrapExit() const {
  (void)Host();
  return trap_exit_;
}

gen::Status Pool::ProcessInit(gen::ProcessHost& host, const gen::Args& args) {
  SetHost(host);
  host.SetTrapExit(true);  // to outlive its workers
  host.SetHeedExits(true);
  gen::PoolHost& pool_host = host.ForPool();
  pool_host.LeaveBeginningToOthers();
  auto options = Init(args);
  if (!options) return gen::Stop(options.error());
  PoolOptions wanted = Changed(*options, pool_host.GivenChange());
  std::string problem = Misfit(*options, pool_host.GivenChange());
  if (problem.empty()) problem = wanted.Validate();
  if (!problem.empty()) {
    const bool is_given = options->Validate().empty();  // by the node's options
    if (is_given) {
      problem = fmt::format("pools.{}: {}", host.Name().Text(), ByNamesOfChange(problem));
    }
    return gen::Stop(gen::Reason::Error(std::move(problem)));
  }
  for (const std::string& difference : Differences(wanted, *options)) {
    host.Log().Info("{}, by the node's options", difference);
  }
  runner_ =
      std::make_unique<PoolRunner>(pool_host, static_cast<PoolBehavior&>(*this), std::move(wanted));
  gen::Status status = runner_->Start();
  if (status.stops()) runner_.reset();
  return status;
}

gen::Status Pool::ProcessMessage(core::Envelope& envelope) {
  return runner_->OnEnvelope(envelope, trap_exit_);
}

gen::Status Pool::ProcessStop(const gen::Reason& reason) { return runner_->BeginStop(reason); }

void Pool::ProcessTerminate(const gen::Reason& reason) {
  if (runner_ == nullptr) return;  // Init has failed
  runner_->Terminate();
  TellUnhandled(Host(), UnhandledLines());
  Terminate(reason);
}

}  // namespace ergon::act

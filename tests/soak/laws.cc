#include <soak/laws.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include <soak/waiting.h>

namespace ergon::soak {
namespace {

std::uint64_t Number(const gen::Inspection& inspection, const std::string& key) {
  const auto found = inspection.find(key);
  if (found == inspection.end()) return 0;
  std::uint64_t value = 0;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
  return value;
}

bool IsAtRest(const gen::Inspection& pool) {
  return Number(pool, "workers_busy") == 0 && Number(pool, "messages_queued") == 0 &&
         Number(pool, "workers_leaving") == 0 &&
         Number(pool, "workers_ready") == Number(pool, "pool_size") &&
         Number(pool, "messages_forwarded") ==
             Number(pool, "messages_handled") + Number(pool, "messages_lost");
}

bool Lists(const std::vector<gen::PID>& list, gen::PID pid) {
  return std::find(list.begin(), list.end(), pid) != list.end();
}

}  // namespace

void CheckConservation(const Stage& stage, const gen::MessageBalance& balance, Verdict& verdict) {
  const Book::Counts total = stage.ledger.Total();
  for (std::size_t i = 0; i < kKinds; ++i) {
    verdict.Check(total.issued[i] == total.accepted[i] + total.refused[i],
                  "messages of kind {}: {} made, {} accepted + {} refused", i, total.issued[i],
                  total.accepted[i], total.refused[i]);
    verdict.Check(total.issued[i] == total.started[i] + total.unstarted[i],
                  "messages of kind {}: {} made, but {} handled + {} destroyed", i, total.issued[i],
                  total.started[i], total.unstarted[i]);
    const std::int64_t dropped = total.Dropped(static_cast<Kind>(i));
    verdict.Check(dropped >= 0, "messages of kind {}: {} more handled than accepted", i, -dropped);
  }
  verdict.Check(total.duplicates == 0, "{} messages were handled twice", total.duplicates);
  verdict.Check(total.strangers == 0, "{} messages were destroyed twice", total.strangers);
  verdict.Check(total.disorder == 0, "{} messages were overtaken by later ones", total.disorder);

  const std::uint64_t news_dropped = stage.news_sent.load() - stage.news_handled.load();
  const std::int64_t dropped = total.Dropped() + static_cast<std::int64_t>(news_dropped);
  const std::uint64_t counted = balance.Dropped();
  verdict.Check(dropped == static_cast<std::int64_t>(counted),
                "{} messages were dropped ({} sent, {} delayed, {} requests, {} events), but the "
                "node counts {} (terminated {}, unknown {}, full {}, expired {})",
                dropped, total.Dropped(Kind::kSend), total.Dropped(Kind::kDelayed),
                total.Dropped(Kind::kCall), news_dropped, counted, balance.dropped_terminated,
                balance.dropped_unknown, balance.dropped_mailbox_full, balance.dropped_expired);

  verdict.Check(balance.Unaccounted() == 0, "the node's counters: {}", balance.ToString());

  std::uint64_t outcomes = stage.answers.load();
  for (const auto& errors : stage.call_errors) outcomes += errors.load();
  verdict.Check(outcomes == stage.calls.load(), "{} calls, {} outcomes", stage.calls.load(),
                outcomes);
  verdict.Check(stage.async_calls.load() == stage.async_outcomes.load(),
                "{} asynchronous calls, {} outcomes", stage.async_calls.load(),
                stage.async_outcomes.load());
  const auto never = [&verdict](const std::atomic<std::uint64_t>& count, const char* what) {
    verdict.Check(count.load() == 0, "{} {}", count.load(), what);
  };
  never(stage.wrong_answers, "calls got the answer to another question");
  never(stage.second_outcomes, "calls had a second outcome");
  never(stage.handled_refusals, "requests were refused and handled nevertheless");
  never(stage.unhandled_answers, "calls were answered although nobody has handled them");
  never(stage.stray_notices, "notices came of no link and no monitor");
  verdict.Check(stage.relations_made.load() == stage.relations_undone.load() + stage.notices.load(),
                "{} links and monitors were made, {} undone, {} told of",
                stage.relations_made.load(), stage.relations_undone.load(), stage.notices.load());
}

void CheckPool(gen::Node& node, const std::string& name, const Incarnation& incarnation,
               Verdict& verdict, PoolLosses& losses) {
  gen::Inspection pool;
  const bool rests = WaitUntil([&] {
    auto inspection = node.Inspect(incarnation.pid, {}, {.timeout = kPatience});
    if (inspection) pool = std::move(*inspection);
    return inspection.has_value() && IsAtRest(pool);
  });
  const std::uint64_t forwarded = Number(pool, "messages_forwarded");
  const std::uint64_t handled = Number(pool, "messages_handled");
  const std::uint64_t crashed = Number(pool, "messages_lost_crashed");
  verdict.Check(rests,
                "{} does not come to rest: forwarded {}, handled {}, lost {}, queued {}, busy "
                "{}, ready {} of {}, leaving {}",
                name, forwarded, handled, Number(pool, "messages_lost"),
                Number(pool, "messages_queued"), Number(pool, "workers_busy"),
                Number(pool, "workers_ready"), Number(pool, "pool_size"),
                Number(pool, "workers_leaving"));
  // What came by a timer and was not handled may have been refused, or taken and lost.
  const std::uint64_t least = incarnation.accepted.load() + incarnation.delayed_started.load();
  const std::uint64_t most =
      least + incarnation.delayed_unstarted.load() - incarnation.delayed_cancelled.load();
  // Requests that expired while the pool itself kept them have not come as far as a worker.
  const auto info = node.ProcessInfo(incarnation.pid);
  const std::uint64_t expired = info ? info->messages_dropped : 0;
  verdict.Check(forwarded + expired >= least && forwarded + expired <= most,
                "{}: forwarded {}, expired before {}, but {} (to {}) were accepted", name,
                forwarded, expired, least, most);
  verdict.Check(crashed == incarnation.crashed.load(),
                "{}: messages_lost_crashed is {}, but {} handlers failed", name, crashed,
                incarnation.crashed.load());
  const std::uint64_t full = Number(pool, "messages_lost_full");
  verdict.Check(full == 0, "{}: {} messages were dropped for want of room, by no policy", name,
                full);
  losses.crashed += crashed;
  losses.full += full;
  losses.terminated += Number(pool, "messages_lost_terminated");
}

void CheckRelations(const gen::Node& node, Verdict& verdict) {
  std::map<gen::PID, gen::ProcessInfo> processes;
  for (const gen::PID pid : node.ProcessList()) {
    if (auto info = node.ProcessInfo(pid)) processes.emplace(pid, std::move(*info));
  }
  for (const auto& [pid, info] : processes) {
    for (const gen::PID other : info.links) {
      const auto found = processes.find(other);
      verdict.Check(found != processes.end() && Lists(found->second.links, pid),
                    "{} ({}) is linked with {}, which is not linked with it", pid, info.behavior,
                    other);
    }
    for (const gen::PID other : info.monitors) {
      const auto found = processes.find(other);
      verdict.Check(found != processes.end() && Lists(found->second.monitored_by, pid),
                    "{} ({}) monitors {}, which does not know", pid, info.behavior, other);
    }
    for (const gen::PID other : info.monitored_by) {
      const auto found = processes.find(other);
      verdict.Check(found != processes.end() && Lists(found->second.monitors, pid),
                    "{} ({}) is monitored by {}, which does not know", pid, info.behavior, other);
    }
  }
}

void CheckEmpty(const gen::Node& node, Verdict& verdict) {
  (void)WaitUntil([&] {
    const gen::NodeInfo info = node.Info();
    return info.processes == 0 && info.names == 0 && info.aliases == 0 && info.timers == 0;
  });
  const gen::NodeInfo info = node.Info();
  verdict.Check(info.processes == 0 && node.ProcessList().empty(), "{} processes are left over",
                info.processes);
  verdict.Check(info.names == 0, "{} names are left over", info.names);
  verdict.Check(info.aliases == 0, "{} aliases are left over", info.aliases);
  verdict.Check(info.timers == 0, "{} timers are left over", info.timers);
}

}  // namespace ergon::soak

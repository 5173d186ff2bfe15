// Three nodes, each a program of its own, with the proxy between them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <cluster/chaos/child.h>
#include <cluster/chaos/laws.h>
#include <cluster/chaos/port_mapper.h>
#include <cluster/chaos/proxy.h>

namespace ergon::chaos {

struct ClusterPlan {
  std::string program;  // this one
  std::string folder;   // for ledgers and logs
  std::string escript;  // of the node of Erlang; empty: the third one is of Ergon, too
  std::string tls;      // the folder of the files for TLS; empty: without
  std::chrono::milliseconds tick{1000};
  std::uint64_t seed = 0;
};

class Cluster {
 public:
  explicit Cluster(const ClusterPlan& plan);
  ~Cluster();

  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] std::vector<Pair> Pairs() const;
  [[nodiscard]] const ClusterPlan& plan() const noexcept { return plan_; }

  // Starts all nodes, and their load. What goes wrong is in problems().
  void Start();
  // Tells all to do something and waits until they have said so.
  void TellAll(const std::string& command);
  void AwaitAll(const std::string& word);
  // Waits until all have ended.
  void AwaitEnd();

  // Takes notice of what has happened: the load of a node begins when it is ready.
  void Step();

  // -- faults --
  [[nodiscard]] bool IsRunning(const std::string& node) const;
  void Kill(const std::string& node);  // and starts it again with Restart
  void Restart(const std::string& node);
  void Stop(const std::string& node);  // and goes on with Continue
  void Continue(const std::string& node);
  void Disconnect(const std::string& node, const std::string& other);
  int CutAll(const Pair& pair, Cut cut);
  void Change(const Pair& pair, const std::function<void(Weather&)>& change);

  // Where a node of this moment listens itself, past the proxy; 0: nowhere. Any thread.
  [[nodiscard]] std::uint16_t PortOf(const std::string& node);
  [[nodiscard]] int Connections();
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }
  // Of all incarnations.
  [[nodiscard]] std::vector<NodeLedger> Ledgers() const;

 private:
  struct Incarnation {
    std::string node;
    int number = 0;
    std::unique_ptr<Child> child;
    bool killed = false;
    bool stopped = false;
    bool begun = false;
    bool ended = false;  // and it was told to
    [[nodiscard]] std::string Name() const { return node + std::to_string(number); }
  };

  void Launch(const std::string& node);
  [[nodiscard]] Incarnation& Current(const std::string& node);
  [[nodiscard]] const Incarnation& Current(const std::string& node) const;
  bool Await(const std::string& what, const std::function<bool()>& condition);
  void DumpAll();
  // Runs a function on the thread of the proxy.
  void OnNetwork(const std::function<void()>& function);

  const ClusterPlan plan_;
  const std::vector<std::string> names_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::optional<Proxy> proxy_;
  std::optional<PortMapper> mapper_;
  std::thread thread_;
  std::vector<Incarnation> incarnations_;  // in the order of their starts
  bool may_end_ = false;
  std::vector<std::string> problems_;
};

}  // namespace ergon::chaos

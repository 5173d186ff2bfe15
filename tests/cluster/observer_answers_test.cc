// Erlang's tools and a node that is observable: what they ask, as one node asks another.
#include <string>
#include <vector>

#include <ergon/act/pool.h>
#include <ergon/gen/blocking.h>
#include <ergon/node/cluster/tools/observer_answers.h>
#include <ergon/node/cluster/tools/observer_terms.h>

#include <cluster/cluster.h>
#include <kit/gate.h>

namespace ergon::dist::observer_answers_test {
namespace {

ErlangOptions Observable() {
  ErlangOptions options = ClusterOptions();
  options.observable = true;
  return options;
}

class Counter : public act::Actor {
  gen::Inspection HandleInspect(gen::PID, const std::vector<std::string>&) override {
    return {{"lines", std::to_string(lines_)}};
  }
  gen::Status HandleMessage(gen::PID, gen::Message&) override {
    ++lines_;
    return gen::Continue();
  }
  int lines_ = 0;
};

// What a process of node a hears of b.
struct Asker {
  Cluster& cluster;
  gen::Process& self;

  [[nodiscard]] gen::Result<Term> Try(const char* module, const char* function,
                                      const std::vector<Term>& arguments = {}) const {
    return Rpc(self, cluster.b.Name(), module, function, arguments);
  }
  [[nodiscard]] Term Ask(const char* module, const char* function,
                         const std::vector<Term>& arguments = {}) const {
    auto answer = Try(module, function, arguments);
    REQUIRE_MESSAGE(answer, answer.error().ToString());
    return *answer;
  }
  [[nodiscard]] Term Erlang(const char* function, const std::vector<Term>& arguments = {}) const {
    return Ask("erlang", function, arguments);
  }
};

Term Atom(const char* text) { return Term::Atom(text); }

}  // namespace

TEST_CASE("observer answers: a node that is not observable refuses") {
  Cluster cluster("hidden_from");
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    CHECK(asker.Try("erlang", "processes").error() == gen::ErrUnsupported);
    CHECK(asker.Try("observer_backend", "sys_info").error() == gen::ErrUnsupported);
    CHECK(Spawn(self, cluster.b.Name(), "observer_backend", "etop_collect", {Term(self.Self())})
              .error() == gen::ErrUnsupported);
  });
}

TEST_CASE("observer answers: processes, and what is known of each") {
  Cluster cluster("looked_at", Observable());
  const gen::PID pid = cluster.b.SpawnRegister("counter", gen::Factory<Counter>()).value();
  for (int i = 0; i < 3; ++i) CHECK(cluster.b.Send(pid, 1));
  REQUIRE(kit::Eventually([&] { return cluster.b.ProcessInfo(pid)->messages_handled == 3; }));
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    const auto all = asker.Erlang("processes").Elements();
    CHECK(all.size() == 2);  // with the one that answers
    CHECK(all.front() == Term(pid));
    CHECK(asker.Erlang("whereis", {Atom("counter")}) == Term(pid));
    CHECK(asker.Erlang("whereis", {Atom("nobody")}) == Atom("undefined"));
    CHECK(asker.Erlang("registered") == Term::List({Atom("counter")}));
    CHECK(asker.Erlang("is_process_alive", {Term(pid)}) == Term(true));
    const auto info = [&](const Term& items) {
      return asker.Erlang("process_info", {Term(pid), items});
    };
    CHECK(info(Atom("reductions")).ToString() == "{reductions,3}");
    CHECK(info(Term::List({Atom("registered_name"), Atom("current_function")})).ToString() ==
          "[{registered_name,counter},{current_function,{'Counter',idle,0}}]");
    CHECK(info(Term()).size() == 0);
    // One item may be as long as the process has links.
    CHECK(info(Term::List(std::vector<Term>(64, Atom("links")))).size() == 64);
    CHECK(asker
              .Try("erlang", "process_info",
                   {Term(pid), Term::List(std::vector<Term>(65, Atom("links")))})
              .error()
              .AsAtom() == gen::Atom("badarg"));
    CHECK(asker.Erlang("process_info", {Term(pid)}).size() > 10);
    CHECK(asker.Ask("proc_lib", "translate_initial_call", {Term(pid)}).ToString() ==
          "{'Counter',init,1}");
    // Who has ended, and what is no question.
    const gen::PID ended{pid.id + 100'000, pid.node, pid.creation};
    CHECK(asker.Erlang("process_info", {Term(ended)}) == Atom("undefined"));
    CHECK(asker.Erlang("is_process_alive", {Term(ended)}) == Term(false));
    for (const auto& wrong : std::vector<std::vector<Term>>{
             {Term(self.Self())}, {Term(1)}, {Term(pid), Atom("nonsense")}, {Term(pid), Term(7)}}) {
      CHECK(asker.Try("erlang", "process_info", wrong).error().AsAtom() == gen::Atom("badarg"));
    }
  });
}

TEST_CASE("observer answers: the node's own numbers") {
  Cluster cluster("numbers", Observable());
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    // The one that answers. The first question, as who has answered one may not have ended when the next one comes.
    CHECK(asker.Erlang("system_info", {Atom("process_count")}) == Term(1));
    const int workers = cluster.b.Info().workers;
    CHECK(asker.Erlang("system_info", {Atom("schedulers")}) == Term(workers));
    CHECK(asker.Erlang("system_info", {Atom("wordsize")}) == Term(8));
    CHECK(asker.Erlang("statistics", {Atom("run_queue")}).AsInteger());
    CHECK(asker.Erlang("statistics", {Atom("scheduler_wall_time")}).size() ==
          static_cast<std::size_t>(workers));
    CHECK(asker.Erlang("memory").size() == 9);
    CHECK(asker.Erlang("memory", {Atom("total")}).AsInteger().value() > 0);
    CHECK(asker.Erlang("node") == Term(cluster.b.Name()));
    for (const char* function : {"system_info", "statistics", "memory"}) {
      CHECK(asker.Try("erlang", function, {Atom("nonsense")}).error().AsAtom() ==
            gen::Atom("badarg"));
    }
    // All that the page System of observer is made of, in the shape that its arithmetics wants.
    const Term info = asker.Ask("observer_backend", "sys_info");
    for (const Term& entry : info.Elements()) {
      CHECK(entry.size() == 2);
      const std::string key = entry[0].AsAtomText().value();
      if (key == "process_limit") CHECK(entry[1].AsInteger().value() > 0);
    }
    CHECK(info.ToString(100'000).find("{alloc_info,[{malloc,[{instance,0,[{mbcs,[{blocks,") !=
          std::string::npos);
  });
}

TEST_CASE("observer answers: what etop and observer collect comes as messages") {
  Cluster cluster("collected", Observable());
  const gen::PID pid = cluster.b.SpawnRegister("counter", gen::Factory<Counter>()).value();
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    CHECK(asker.Ask("observer_backend", "etop_collect", {Term(self.Self())}) == Atom("ok"));
    const Term told = self.Receive<Term>(kit::kDeadline).value();
    CHECK(told[0].AsPid()->node == cluster.b.Name());
    const Term info = told[1];
    REQUIRE(info.size() == 9);
    CHECK(info[0] == Atom("etop_info"));
    CHECK(info[1].size() == 3);
    CHECK(info[2] == Term(1));  // without the one that answers
    REQUIRE(info[8].size() == 1);
    CHECK(info[8][0].size() == 8);
    CHECK(info[8][0][1] == Term(pid));
    CHECK(asker.Try("observer_backend", "etop_collect", {Atom("me")}).error().AsAtom() ==
          gen::Atom("badarg"));
  });
}

TEST_CASE("observer answers: observer gets very many processes in pieces") {
  Cluster cluster("pieces", Observable());
  for (int i = 0; i < 2501; ++i) REQUIRE(cluster.b.Spawn(gen::Factory<Counter>()));
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    CHECK(asker.Ask("observer_backend", "procs_info", {Term(self.Self())}) == Atom("ok"));
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 3; ++i) {
      const Term chunk = self.Receive<Term>(kit::kDeadline).value();
      CHECK(chunk[0] == Atom("procs_info"));
      CHECK(chunk[1].AsPid()->node == cluster.b.Name());
      sizes.push_back(chunk[2].size());
    }
    CHECK(sizes == std::vector<std::size_t>{1000, 1000, 501});
  });
}

TEST_CASE("observer answers: the charts are fed until somebody says so, or the tool is gone") {
  Cluster cluster("charts", Observable());
  InProcess(cluster.a, [&](gen::Process& self) {
    const gen::PID tool = self.Self();
    const auto feed = [&](gen::PID to) {
      auto ended = self.Spawn([&cluster, to](gen::Process& one) {
        const auto fed = Rpc(one, cluster.b.Name(), "observer_backend", "fetch_stats",
                             {Term(to), Term(10)}, {.timeout = 1min});
        return fed && *fed == Atom("ok") ? gen::Reason::Error("told ok")
                                         : gen::Reason::Error(fed.error().ToString());
      });
      return self.Monitor(ended.value()).value();
    };
    const auto reason = [&] {
      return self.Receive<gen::MessageDownPID>(kit::kDeadline)->reason.ToString();
    };
    (void)feed(tool);
    gen::PID feeder;
    for (int i = 0; i < 3; ++i) {
      const auto stats = self.Receive<gen::SentBy<Term>>(kit::kDeadline).value();
      feeder = stats.from;
      REQUIRE(stats.value.size() == 5);
      CHECK(stats.value[0] == Atom("stats"));
      CHECK(stats.value[3].ToString().starts_with("{{input,"));
    }
    CHECK(self.Send(feeder, gen::Atom("exit")));
    CHECK(reason() == "told ok");
    const gen::PID other = self.Spawn([](gen::Process& one) { (void)one.Receive<int>(); }).value();
    (void)feed(other);
    CHECK(self.Send(other, 1));
    CHECK(reason() == "told ok");
    const Asker asker{cluster, self};
    CHECK(asker.Try("observer_backend", "fetch_stats", {Term(tool), Atom("often")})
              .error()
              .AsAtom() == gen::Atom("badarg"));
  });
}

TEST_CASE("observer answers: what does not fit into a frame is refused, with words") {
  ErlangOptions options = Observable();
  options.max_frame_bytes = 4096;
  Cluster cluster("too_many", options);
  for (int i = 0; i < 500; ++i) REQUIRE(cluster.b.Spawn(gen::Factory<Counter>()));
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    const std::vector<Term> tool{Term(self.Self())};
    for (const auto& refused :
         {asker.Try("erlang", "processes"), asker.Try("observer_backend", "etop_collect", tool),
          asker.Try("observer_backend", "procs_info", tool)}) {
      CHECK(refused.error().ToString().find("4096") != std::string::npos);
    }
    CHECK(asker.Erlang("system_info", {Atom("process_count")}).AsInteger().value() > 500);
  });
}

TEST_CASE("observer answers: what a process tells of itself") {
  Cluster cluster("states", Observable());
  kit::ThreadGate gate;
  const gen::PID pid = cluster.b.SpawnRegister("counter", gen::Factory<Counter>()).value();
  const gen::PID busy = cluster.b
                            .Spawn([enter = gate.Holder()](gen::Process&) {
                              const gen::Blocking blocking;
                              enter();
                            })
                            .value();
  REQUIRE(kit::Eventually([&] { return gate.Entered() == 1; }));
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    CHECK(
        asker.Ask("sys", "get_state", {Term(pid)}).ToString().find("<<\"lines\">> => <<\"0\">>") !=
        std::string::npos);
    const Term status = asker.Ask("sys", "get_status", {Atom("counter"), Term(5000)});
    CHECK(status[0] == Atom("status"));
    CHECK(status[1] == Term(pid));
    CHECK(status[2].ToString() == "{module,'Counter'}");
    // As observer takes it apart.
    const Term misc = status[3][4];
    CHECK(misc[0][0] == Atom("header"));
    CHECK(misc[1][0] == Atom("data"));
    CHECK(misc[2][1][0][0] == MakeTerm([](TermWriter& writer) { writer.Charlist("State"); }));
    CHECK(asker.Ask("Counter", "module_info", {Atom("attributes")}) == Term());
    const auto error = [&](const std::vector<Term>& arguments) {
      return asker.Try("sys", "get_status", arguments).error();
    };
    CHECK(error({Term(busy), Term(1)}) == gen::ErrTimeout);
    CHECK(error({Atom("nobody")}) == gen::ErrProcessUnknown);
    CHECK(error({Term(self.Self())}) == gen::ErrProcessUnknown);
    CHECK(error({Term(pid), Atom("soon")}).AsAtom() == gen::Atom("badarg"));
  });
  gate.Open();
}

TEST_CASE("observer answers: applications, and who has spawned whom") {
  Cluster cluster("trees", Observable());
  gen::ApplicationSpec spec;
  spec.name = "shop";
  spec.description = "sells";
  spec.processes = {{.name = "till", .factory = gen::Factory<Counter>()}};
  CHECK(cluster.b.LoadApplication(spec));
  CHECK(cluster.b.StartApplication("shop"));
  const gen::PID other = cluster.b.SpawnRegister("other", gen::Factory<Counter>()).value();
  REQUIRE(cluster.b.Spawn(gen::Factory<Counter>()));
  gen::PID monitoring;
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    const Term own(self.Self());
    CHECK(asker.Ask("application", "which_applications").ToString() == "[{shop,\"sells\",[]}]");
    const auto start = [&] {
      const Term started = asker.Ask("appmon_info", "start_link2", {own, own, Term()});
      CHECK(started[0] == Atom("ok"));
      return started[1].AsPid().value();
    };
    monitoring = start();
    CHECK(start() == monitoring);  // there is one
    const auto wish = [&](const char* command, const char* which, bool is_on) {
      CHECK(self.Send(monitoring,
                      Term::Tuple({own, Atom(command), Atom(which), Term(is_on), Term()})));
    };
    wish("app_ctrl", "trees", true);
    const Term list = self.Receive<Term>(kit::kDeadline).value();
    CHECK(list[0] == Atom("delivery"));
    CHECK(list[1] == Term(monitoring));
    CHECK(list[2] == Atom("app_ctrl"));
    CHECK(list[4].size() == 2);
    CHECK(list[4][0][1] == Atom("shop"));
    CHECK(list[4][1][1] == Atom("treesb"));
    wish("app", "shop", true);
    const Term shop = self.Receive<Term>(kit::kDeadline).value()[4];
    CHECK(shop.ToString().starts_with("{\"shop (application)\",["));
    CHECK(shop[1].size() == 2);
    CHECK(shop[2].ToString() == "[{\"shop (application)\",\"till\"}]");
    wish("app", "treesb", true);
    const Term rest = self.Receive<Term>(kit::kDeadline).value()[4];
    CHECK(rest[2].ToString().find("{\"treesb@127.0.0.1\",\"other\"}") != std::string::npos);
    CHECK(rest[2].ToString().find("till") == std::string::npos);
    CHECK(rest[2].ToString().find("Counter <0.") != std::string::npos);  // without a name
    // What has changed comes by itself.
    CHECK(cluster.b.Kill(other));
    const Term changed = self.Receive<Term>(20s).value();
    CHECK(changed[3] == Atom("treesb"));
    CHECK(changed[4].ToString().find("other") == std::string::npos);
    CHECK(self.Monitor(monitoring));
    wish("app_ctrl", "trees", false);
    CHECK(self.Receive<gen::MessageDownPID>(kit::kDeadline)->reason.IsNormal());
    // And with its last client. The page may be opened again as soon as it was left.
    for (int i = 0; i < 200; ++i) {
      monitoring = start();
      if (i != 199) wish("app_ctrl", "trees", false);
    }
    CHECK(asker.Try("appmon_info", "start_link2", {own, Atom("me"), Term()}).error().AsAtom() ==
          gen::Atom("badarg"));
  });
  CHECK(cluster.b.WaitProcess(monitoring, 20s));
}

TEST_CASE("observer answers: a function of the program's own goes first") {
  ErlangOptions options = Observable();
  options.functions.Register("erlang", "node", [] { return gen::Atom("mine"); });
  options.functions.RegisterAny(
      "erlang", "memory",
      [](gen::Process&, const std::vector<Term>&) -> gen::Result<Term> { return Term(7); });
  Cluster cluster("own_first", options);
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    CHECK(asker.Erlang("node") == Atom("mine"));
    CHECK(asker.Erlang("memory", {Atom("total")}) == Term(7));
    CHECK(asker.Erlang("registered") == Term());
  });
}

TEST_CASE("observer answers: tools ask which of their functions are there") {
  Cluster cluster("exported", Observable());
  InProcess(cluster.a, [&](gen::Process& self) {
    const Asker asker{cluster, self};
    const auto exported = [&](const char* function, int arity) {
      return asker.Erlang("function_exported",
                          {Atom("observer_backend"), Atom(function), Term(arity)});
    };
    CHECK(exported("procs_info", 1) == Term(true));
    CHECK(exported("get_port_list", 0) == Term(true));
    CHECK(exported("ttb_init_node", 3) == Term(false));
    CHECK(asker.Ask("code", "ensure_loaded", {Atom("observer_backend")}).ToString() ==
          "{module,observer_backend}");
    CHECK(asker.Ask("code", "ensure_loaded", {Atom("rb")}).ToString() == "{error,nofile}");
    CHECK(asker.Ask("observer_backend", "vsn").ToString().starts_with("{ok,"));
    CHECK(asker.Ask("observer_backend", "get_table_list", {Atom("ets"), Term()}) == Term());
    CHECK(asker.Ask("observer_backend", "get_table_list", {Atom("mnesia"), Term()})[0] ==
          Atom("error"));
    // What would change something, or run something, is not there.
    for (const auto& [module, function] : std::vector<std::pair<const char*, const char*>>{
             {"erlang", "garbage_collect"}, {"erlang", "halt"}, {"os", "cmd"}, {"dbg", "p"}}) {
      CHECK(asker.Try(module, function, {Term(1)}).error() == gen::ErrUnsupported);
    }
  });
}

}  // namespace ergon::dist::observer_answers_test

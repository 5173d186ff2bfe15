%% ergon-bench-erlang: the workloads of ergon-bench on Erlang/OTP; one workload, one line of JSON.
%%
%% Processes that only send and count are plain ones with a receive loop, which is Erlang's quickest way;
%% what is called, and the workers of a pool, are gen_servers.
-module(ergon_bench).
-behaviour(gen_server).
-export([main/0]).
-export([init/1, handle_call/3, handle_cast/2]).

-record(param, {name, value, min = 1, max = 1000000000, meaning = ""}).

workloads() ->
    [{"ping_pong", "round trips of one message between two processes", [n(1000000)], fun ping_pong/1},
     {"ping_pong_pairs", "the same, many pairs at once",
      [#param{name = "pairs", value = 100, max = 1000000}, n(20000)], fun ping_pong/1},
     {"stream", "messages from one producer to one consumer", [n(3000000)], fun stream/1},
     {"stream_nn", "independent streams side by side",
      [#param{name = "pairs", value = 2, max = 1000000}, n(1000000)], fun stream/1},
     {"fan_in", "many producers, one consumer",
      [#param{name = "producers", value = 8, max = 100000}, n(500000)], fun fan_in/1},
     {"ring", "hops of tokens around a ring",
      [#param{name = "size", value = 1000, min = 2, max = 1000000},
       #param{name = "hops", value = 2000000},
       #param{name = "tokens", value = 1, max = 100000}], fun ring/1},
     {"spawn", "idle processes made by one; bytes of each",
      [#param{name = "n", value = 1000000, max = 10000000}], fun spawn_idle/1},
     {"churn", "spawn, message, reply, end; one after the other", [n(1000000)], fun churn/1},
     {"skynet", "leaves of a tree of factor 10, summed upward",
      [#param{name = "n", value = 1000000, max = 10000000,
              meaning = "leaves, rounded down to a power of 10"}], fun skynet/1},
     {"call", "sequential gen_server:call with its time-out", [n(500000)], fun call/1},
     {"call_many", "many processes that call one",
      [#param{name = "callers", value = 1000, max = 30000}, n(500)], fun call/1},
     {"pool", "casts to gen_servers, each sender in rotation, trivial work",
      pool_params() ++ [(n(500000))#param{meaning = "messages of each producer"}], fun pool/1},
     {"pool_work", "the same with calibrated work",
      pool_params() ++ [(n(200000))#param{meaning = "messages in all"},
                        #param{name = "us", value = 5, max = 1000000,
                               meaning = "microseconds of work"}], fun pool_work/1}].

n(Value) -> #param{name = "n", value = Value}.

pool_params() ->
    [#param{name = "producers", value = 4, max = 10000},
     #param{name = "pool_workers", value = 4, max = 10000}].

common_params() ->
    [#param{name = "workers", value = 2, max = 1024, meaning = "schedulers"},
     #param{name = "warmup", value = 1, min = 0, max = 100, meaning = "runs that do not count, first"},
     #param{name = "seconds", value = 0, min = 0, max = 3600,
            meaning = "counted runs until so much time has passed; the median is told"}].

%% ---- the command line

main() ->
    Status = try answer(init:get_plain_arguments())
             catch _:Reason -> say("~0p", [Reason]), 1
             end,
    erlang:halt(Status, [{flush, true}]).

answer([]) -> usage("no workload named", []);
answer([Word | _]) when Word =:= "--help"; Word =:= "-h" ->
    write(["usage: ergon-bench-erlang WORKLOAD [key=value ...]\n"
           "       ergon-bench-erlang --list | --help\n\n"
           "Runs a workload on Erlang and prints one line of JSON. The clock runs from the first message\n"
           "until the last process has handled its last; start, spawning and stop are outside.\n\n"
           "every workload:\n", described(common_params())]);
answer(["--list" | _]) ->
    write([[io_lib:format("~-20s ~s~n", [Name, Measures]), described(Params)]
           || {Name, Measures, Params, _} <- workloads()]);
answer([Name | Words]) ->
    case lists:keyfind(Name, 1, workloads()) of
        false -> usage("~s: no such workload (--list shows them)", [Name]);
        {_, _, Own, Run} ->
            try lists:foldl(fun set/2, common_params() ++ Own, Words) of
                Params -> measure(Name, Params, Run)
            catch throw:{Format, Arguments} -> usage(Format, Arguments)
            end
    end.

described(Params) ->
    [io_lib:format("  ~-16s ~-10b ~s~n", [P#param.name, P#param.value, P#param.meaning]) || P <- Params].

%% Takes one "key=value".
set(Word, Params) ->
    case string:split(Word, "=") of
        [Key, Text] ->
            case lists:keyfind(Key, #param.name, Params) of
                false ->
                    Names = lists:join(", ", [P#param.name || P <- Params]),
                    throw({"~s: no such key; this workload knows ~s", [Key, Names]});
                #param{min = Min, max = Max} = Param ->
                    case string:to_integer(Text) of
                        {Value, ""} when Value >= Min, Value =< Max ->
                            lists:keyreplace(Key, #param.name, Params, Param#param{value = Value});
                        _ -> throw({"~s: '~s' is not a number in ~b..~b", [Key, Text, Min, Max]})
                    end
            end;
        _ -> throw({"'~s': not of the form key=value", [Word]})
    end.

measure(Name, Params, Run) ->
    Values = maps:from_list([{list_to_atom(P#param.name), P#param.value} || P <- Params]),
    #{warmup := Warmup, seconds := Seconds, workers := Workers} = Values,
    [once(Run, Values) || _ <- lists:seq(1, Warmup)],
    Runs = repeat(Run, Values, now_ns() + Seconds * 1000000000, []),
    {Ns, Ops, Extra} = lists:nth(length(Runs) div 2 + 1, lists:sort(Runs)),
    Said = lists:join(",", [io_lib:format("\"~s\":~b", [P#param.name, P#param.value]) || P <- Params]),
    More = [io_lib:format(",\"~s\":~.3f", [Key, Value]) || {Key, Value} <- Extra],
    write(io_lib:format("{\"peer\":\"erlang\",\"workload\":\"~s\",\"params\":{~s},\"ops\":~b,\"seconds\":~.6f,"
                        "\"ops_per_s\":~b,\"ns_per_op\":~.2f~s,\"workers\":~b,\"version\":\"~s\"}~n",
                        [Name, Said, Ops, Ns / 1.0e9, round(Ops * 1.0e9 / Ns), Ns / Ops, More, Workers,
                         erlang:system_info(otp_release)])).

repeat(Run, Values, End, Runs) ->
    All = [once(Run, Values) | Runs],
    case now_ns() < End of
        true -> repeat(Run, Values, End, All);
        false -> All
    end.

%% Each run in a process of its own, with a heap of its own. {Ns, Ops, Extra}.
once(Run, Values) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({ran, Run(Values)}) end),
    receive
        {'DOWN', Monitor, process, Pid, {ran, {Ops, Ns}}} -> {Ns, Ops, []};
        {'DOWN', Monitor, process, Pid, {ran, {Ops, Ns, Extra}}} -> {Ns, Ops, Extra};
        {'DOWN', Monitor, process, Pid, Reason} -> error(Reason)
    end.

write(Text) ->
    %% Not through standard_io, which does not tell that nothing could be written.
    {ok, Out} = file:open("/dev/stdout", [append, raw]),
    case file:write(Out, Text) of
        ok -> 0;
        {error, Reason} ->
            say("cannot write to standard output: ~s", [file:format_error(Reason)]),
            1
    end.

usage(Format, Arguments) ->
    say(Format ++ "; see ergon-bench-erlang --help", Arguments),
    2.

say(Format, Arguments) -> io:format(standard_error, "ergon-bench-erlang: " ++ Format ++ "~n", Arguments).

now_ns() -> erlang:monotonic_time(nanosecond).

%% ---- what runs are made of

%% What `Count` processes send when they are through; the time of the last.
finish(Count) -> receive {part, At} -> finish(Count - 1, At) end.
finish(0, Last) -> Last;
finish(Left, Last) -> receive {part, At} -> finish(Left - 1, max(Last, At)) end.

part(Main) -> Main ! {part, now_ns()}.

%% A process that belongs to this run and ends with it. What receives a lot has its messages outside of its
%% heap, where a collection does not see them.
player(Fun) -> player(Fun, []).
player(Fun, Options) -> spawn_opt(Fun, [link | Options]).
-define(MUCH_MAIL, [{message_queue_data, off_heap}]).

stop(Pids) ->
    Monitors = [begin unlink(Pid), Monitor = monitor(process, Pid), exit(Pid, kill), Monitor end
                || Pid <- Pids],
    [receive {'DOWN', Monitor, process, _, _} -> ok end || Monitor <- Monitors],
    ok.

%% ---- ping_pong

ping_pong(#{n := N} = Values) ->
    Pairs = maps:get(pairs, Values, 1),
    Main = self(),
    Players = [{player(fun() -> pinger(Main) end), player(fun ponger/0)} || _ <- lists:seq(1, Pairs)],
    Start = now_ns(),
    [Pinger ! {start, Ponger, N} || {Pinger, Ponger} <- Players],
    Ns = finish(Pairs) - Start,
    stop([Pid || {Pinger, Ponger} <- Players, Pid <- [Pinger, Ponger]]),
    {Pairs * N, Ns}.

pinger(Main) ->
    receive {start, Ponger, N} -> ping(Ponger, self(), N, Main) end.

ping(_, _, 0, Main) -> part(Main), idle();
ping(Ponger, Self, Left, Main) ->
    Ponger ! {Self, Left},
    receive Left -> ping(Ponger, Self, Left - 1, Main) end.

ponger() ->
    receive {From, Number} -> From ! Number, ponger() end.

idle() -> receive never -> ok end.

%% ---- stream, fan_in

stream(#{n := N} = Values) ->
    Pairs = maps:get(pairs, Values, 1),
    Main = self(),
    Streams = [begin
                   Consumer = player(fun() -> consumer(Main, N) end, ?MUCH_MAIL),
                   {player(fun producer/0), Consumer}
               end || _ <- lists:seq(1, Pairs)],
    Start = now_ns(),
    [Producer ! {start, Consumer, N} || {Producer, Consumer} <- Streams],
    Ns = finish(Pairs) - Start,
    stop([Pid || {Producer, Consumer} <- Streams, Pid <- [Producer, Consumer]]),
    {Pairs * N, Ns}.

fan_in(#{n := N, producers := Count}) ->
    Main = self(),
    Consumer = player(fun() -> consumer(Main, Count * N) end, ?MUCH_MAIL),
    Producers = [player(fun producer/0) || _ <- lists:seq(1, Count)],
    Start = now_ns(),
    [Producer ! {start, Consumer, N} || Producer <- Producers],
    Ns = finish(1) - Start,
    stop([Consumer | Producers]),
    {Count * N, Ns}.

producer() ->
    receive {start, Consumer, N} -> produce(Consumer, N), idle() end.

produce(_, 0) -> ok;
produce(Consumer, Left) -> Consumer ! Left, produce(Consumer, Left - 1).

consumer(Main, 0) -> part(Main), idle();
consumer(Main, Left) -> receive _ -> consumer(Main, Left - 1) end.

%% ---- ring

ring(#{size := Size, tokens := Tokens, hops := AllHops}) ->
    Hops = AllHops div Tokens,
    Main = self(),
    Members = [player(fun() -> receive {next, Next} -> member(Next, Main) end end)
               || _ <- lists:seq(1, Size)],
    [Member ! {next, Next} || {Member, Next} <- lists:zip(Members, tl(Members) ++ [hd(Members)])],
    Places = list_to_tuple(Members),
    Start = now_ns(),
    [element(I * Size div Tokens + 1, Places) ! Hops || I <- lists:seq(0, Tokens - 1)],
    Ns = finish(Tokens) - Start,
    stop(Members),
    {Hops * Tokens, Ns}.

member(Next, Main) ->
    receive
        0 -> part(Main);
        Token -> Next ! Token - 1
    end,
    member(Next, Main).

%% ---- spawn, churn, skynet

spawn_idle(#{n := N}) ->
    Main = self(),
    Before = resident_bytes(),
    Spawner = player(fun() ->
                         receive start -> ok end,
                         Pids = spawn_idle(N, []),
                         part(Main),
                         receive stop -> ok end,
                         [exit(Pid, kill) || Pid <- Pids],
                         Main ! stopped
                     end, [{min_heap_size, 4 * N}]),  % the list is not what is measured
    Start = now_ns(),
    Spawner ! start,
    Ns = finish(1) - Start,
    %% Grows in the first run only: later ones use the same memory again.
    Bytes = max((resident_bytes() - Before) / N, persistent_term:get(bytes, 0.0)),
    persistent_term:put(bytes, Bytes),
    Spawner ! stop,
    receive stopped -> ok end,
    wait_for_few_processes(),
    {N, Ns, [{"bytes_per_actor", Bytes}]}.

spawn_idle(0, Pids) -> Pids;
spawn_idle(Left, Pids) -> spawn_idle(Left - 1, [spawn(fun idle/0) | Pids]).

wait_for_few_processes() ->
    case erlang:system_info(process_count) < 1000 of
        true -> ok;
        false -> timer:sleep(1), wait_for_few_processes()
    end.

resident_bytes() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(Text, " "),
    binary_to_integer(Pages) * 4096.

churn(#{n := N}) ->
    Main = self(),
    Breeder = player(fun() -> receive start -> breed(self(), N), part(Main), idle() end end),
    Start = now_ns(),
    Breeder ! start,
    Ns = finish(1) - Start,
    stop([Breeder]),
    {N, Ns}.

breed(_, 0) -> ok;
breed(Self, Left) ->
    spawn(fun() -> receive {From, Number} -> From ! Number end end) ! {Self, Left},
    receive Left -> breed(Self, Left - 1) end.

skynet(#{n := N}) ->
    Leaves = power_of_10(1, N),
    Main = self(),
    Root = player(fun() ->
                      receive start -> Self = self(), branch(Self, 0, Leaves) end,
                      receive Whole -> Main ! {sum, Whole, now_ns()} end
                  end),
    Start = now_ns(),
    Root ! start,
    {Sum, End} = receive {sum, Got, At} -> {Got, At} end,
    Sum = Leaves * (Leaves - 1) div 2,
    {Leaves, End - Start}.

power_of_10(Power, N) when Power * 10 =< N -> power_of_10(Power * 10, N);
power_of_10(Power, _) -> Power.

branch(Parent, First, 1) -> Parent ! First;
branch(Parent, First, Leaves) ->
    Share = Leaves div 10,
    Self = self(),
    grow(Self, First, Share, 10),
    Parent ! sum(10, 0).

grow(_, _, _, 0) -> ok;
grow(Self, First, Share, Left) ->
    spawn(fun() -> branch(Self, First, Share) end),
    grow(Self, First + Share, Share, Left - 1).

sum(0, Sum) -> Sum;
sum(Left, Sum) -> receive Number -> sum(Left - 1, Sum + Number) end.

%% ---- call: gen_server:call with its default time-out, 5 s

call(#{n := N} = Values) ->
    Callers = maps:get(callers, Values, 1),
    Main = self(),
    {ok, Server} = gen_server:start_link(?MODULE, server, [{spawn_opt, ?MUCH_MAIL}]),
    Clients = [player(fun() -> receive start -> ask(Server, N), part(Main), idle() end end)
               || _ <- lists:seq(1, Callers)],
    Start = now_ns(),
    [Client ! start || Client <- Clients],
    Ns = finish(Callers) - Start,
    stop([Server | Clients]),
    {Callers * N, Ns}.

ask(_, 0) -> ok;
ask(Server, Left) ->
    Left = gen_server:call(Server, Left),
    ask(Server, Left - 1).

%% ---- pool: gen_servers; each producer sends to them in rotation

pool(#{n := N, producers := Producers} = Values) -> run_jobs(Values, N * Producers, 0).

pool_work(#{n := N, us := Us} = Values) -> run_jobs(Values, N, round(Us * iterations_per_us())).

run_jobs(#{producers := Count, pool_workers := Size}, Total, Iterations) ->
    Step = Count * Size,
    Ops = (Total + Step - 1) div Step * Step,
    Main = self(),
    Workers = [begin
                   {ok, Worker} = gen_server:start_link(?MODULE, {worker, Main, Ops div Size, Iterations},
                                                        [{spawn_opt, ?MUCH_MAIL}]),
                   Worker
               end || _ <- lists:seq(1, Size)],
    Pool = list_to_tuple(Workers),
    Producers = [player(fun() ->
                            receive start -> give(Pool, Size, 1, Ops div Count), idle() end
                        end) || _ <- lists:seq(1, Count)],
    Start = now_ns(),
    [Producer ! start || Producer <- Producers],
    Ns = finish(Size) - Start,
    stop(Producers ++ Workers),
    {Ops, Ns}.

give(_, _, _, 0) -> ok;
give(Pool, Size, Next, Left) ->
    gen_server:cast(element(Next, Pool), Left),
    give(Pool, Size, Next rem Size + 1, Left - 1).

%% A loop over small integers; xorshift64 would need big ones.
work(X, 0) -> X;
work(X, Left) -> work((X bxor (X bsr 7)) band 16#FFFFFFFFFFFF bxor Left, Left - 1).

iterations_per_us() ->
    case persistent_term:get(iterations_per_us, none) of
        none ->
            %% Short tries, so that one of them is undisturbed also where others use the processors.
            Rate = lists:max([begin
                                  Start = now_ns(),
                                  work(I, 50000),
                                  50000 * 1000 / (now_ns() - Start)
                              end || I <- lists:seq(1, 400)]),
            persistent_term:put(iterations_per_us, Rate),
            Rate;
        Rate -> Rate
    end.

%% ---- gen_server: the one that is called, or a worker

init(Args) -> {ok, Args}.

handle_call(Number, _From, State) -> {reply, Number, State}.

handle_cast(Number, {worker, Main, Left, Iterations}) ->
    work(Number, Iterations),
    Left =/= 1 orelse part(Main),
    {noreply, {worker, Main, Left - 1, Iterations}}.

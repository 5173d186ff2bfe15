#!/usr/bin/env escript
%% -*- erlang -*-
%% An Ergon node in a cluster of Erlang, seen from Erlang.   usage: cluster_test.sh [--tls] PROGRAM [CASE...]
%% PROGRAM is the other node: cluster_node.cc says what runs there. The script tells the folder with the certificates.

%% No case waits longer for anything, in milliseconds.
-define(PATIENCE, 60000).

main(["--tls", Folder | Words]) ->
    {ok, [["inet_tls"]]} = init:get_argument(proto_dist),
    {ok, _} = application:ensure_all_started(ssl),
    main(["secret", Folder], Words);
main(Words) -> main([], Words).

main(More, [Program | Wanted]) ->
    {ok, _} = start_distribution(100),
    erlang:set_cookie(node(), secret),
    Cpp = list_to_atom("cpp" ++ os:getpid() ++ "@127.0.0.1"),
    Port = open_port({spawn_executable, Program},
                     [{args, [atom_to_list(Cpp) | More]}, {line, 1000}, exit_status]),
    ready = await_ready(Port),
    put(port, Port),
    Cases = [C || C = {Name, _} <- cases(), Wanted == [] orelse lists:member(atom_to_list(Name), Wanted)],
    Failed = lists:sum([run(C, Cpp) || C <- Cases]),
    try port_close(Port) catch error:badarg -> ended end,
    io:format("~b passed, ~b failed~n", [length(Cases) - Failed, Failed]),
    halt(case Failed == 0 andalso Cases /= [] of true -> 0; false -> 1 end).

start_distribution(Attempts) ->
    Name = list_to_atom("erl" ++ os:getpid() ++ "@127.0.0.1"),
    application:set_env(kernel, net_ticktime, 8),
    case net_kernel:start([Name, longnames]) of
        {ok, _} = Started -> Started;
        {error, _} when Attempts > 0 -> timer:sleep(50), start_distribution(Attempts - 1)
    end.

await_ready(Port) ->
    receive
        {Port, {data, {eol, "ready"}}} -> ready;
        {Port, {data, {_, Line}}} -> io:format("~s~n", [Line]), await_ready(Port);
        {Port, {exit_status, Status}} -> {ended, Status}
    after ?PATIENCE -> timeout
    end.

run({Name, Case}, Cpp) ->
    {Pid, Ref} = spawn_monitor(fun() -> Case(Cpp) end),
    receive
        {'DOWN', Ref, process, Pid, normal} -> io:format("ok    ~s~n", [Name]), 0;
        {'DOWN', Ref, process, Pid, Reason} -> io:format("FAIL  ~s: ~p~n", [Name, Reason]), 1
    after 2 * ?PATIENCE ->
        io:format("FAIL  ~s: no end after ~b ms: ~p~n", [Name, 2 * ?PATIENCE, process_info(Pid, [current_stacktrace, messages])]),
        exit(Pid, kill), 1
    end.

%% The driver does what it is asked to, and tells what it gets.
drive(Cpp, Command) -> gen_server:call({driver, Cpp}, Command, infinity).
%% What the driver got since the last look, once there is something.
seen(Cpp) -> seen(Cpp, ?PATIENCE div 10).
seen(_, 0) -> [];
seen(Cpp, N) ->
    case drive(Cpp, seen) of
        [] -> timer:sleep(10), seen(Cpp, N - 1);
        Seen -> Seen
    end.
expect(Message) -> receive Message -> ok after ?PATIENCE -> error({nothing, Message, process_info(self(), messages)}) end.
silence() -> receive Any -> error({unexpected, Any}) after 100 -> ok end.
victim(Cpp) -> drive(Cpp, spawn).

cases() -> [
    {ping, fun(Cpp) ->
        pong = net_adm:ping(Cpp),
        true = lists:member(Cpp, nodes(hidden)),
        false = lists:member(Cpp, nodes()) end},
    {a_node_is_given_its_name, fun(Cpp) ->
        ok = drive(Cpp, {named_by, node(), self()}),
        Victim = receive {victim, Pid} -> Pid after ?PATIENCE -> error(nothing) end,
        Named = node(Victim),
        [Random, "127.0.0.1"] = string:split(atom_to_list(Named), "@"),
        true = length(Random) > 8,
        true = lists:member(Named, nodes(hidden)),
        Ref = monitor(process, Victim),
        pong = gen_server:call(Victim, ping),
        ok = drive(Cpp, {forget, now}),
        expect({'DOWN', Ref, process, Victim, shutdown}) end},
    {call_of_a_pool_by_name, fun(Cpp) ->
        {ok, 6} = gen_server:call({words, Cpp}, {count, <<"to be or not to be">>}),
        {ok, 0} = gen_server:call({words, Cpp}, {count, <<>>}, infinity) end},
    {a_charlist_is_a_text_too, fun(Cpp) ->
        {ok, 2} = gen_server:call({words, Cpp}, {count, "two words"}) end},
    {a_term_that_does_not_fit, fun(Cpp) ->
        {error, {incorrect, Text}} = gen_server:call({words, Cpp}, {count, 42}),
        {_, _} = binary:match(Text, <<"count">>) end},
    {many_calls_at_once, fun(Cpp) ->
        Self = self(),
        [spawn_link(fun() -> {ok, 2} = gen_server:call({words, Cpp}, {count, <<"a b">>}), Self ! done end) || _ <- lists:seq(1, 500)],
        [expect(done) || _ <- lists:seq(1, 500)] end},
    {values_come_back_as_they_were, fun(Cpp) ->
        [V = drive(Cpp, {echo, V}) || V <- [1, -1, 1 bsl 40, 1 bsl 70, -(1 bsl 70), 1.5, atom, true, <<"binary">>, "text", [], [1, 2, 300],
            [a | b], {}, {a, {b, "c"}}, #{a => 1, <<"b">> => [2]}, self(), make_ref(), <<5:3>>, lists:seq(1, 70000), <<0:80000>>,
            fun lists:map/2, 'ünï', [{x, [y, {z, [1.0]}]}]]] end},
    {send_to_name_and_pid, fun(Cpp) ->
        Self = self(),
        {driver, Cpp} ! {hello, 1},
        [{message, Self, {hello, 1}}] = seen(Cpp),
        Pid = drive(Cpp, self),
        Pid ! {hello, 2},
        [{message, Self, {hello, 2}}] = seen(Cpp),
        gen_server:cast({driver, Cpp}, {hello, 3}),
        [{message, _, {hello, 3}}] = seen(Cpp) end},
    {send_to_an_alias, fun(Cpp) ->
        Alias = drive(Cpp, alias),
        Alias ! through_the_alias,
        [{message, _, through_the_alias}] = seen(Cpp) end},
    {order_of_messages, fun(Cpp) ->
        [{driver, Cpp} ! {n, N} || N <- lists:seq(1, 1000)],
        Expected = lists:seq(1, 1000),
        Expected = collect(Cpp, 1000, []) end},
    {unknown_name_fails_at_once, fun(Cpp) ->
        {noproc, _} = catch_exit(fun() -> gen_server:call({nobody, Cpp}, x, infinity) end) end},
    {a_process_that_dies_answers_its_callers, fun(Cpp) ->
        Victim = victim(Cpp),
        {Reason, _} = catch_exit(fun() -> gen_server:call(Victim, {die, boom}, infinity) end),
        boom = Reason end},
    {send_request_and_multi_call, fun(Cpp) ->
        Id = gen_server:send_request({words, Cpp}, {count, <<"a b c">>}),
        {reply, {ok, 3}} = gen_server:wait_response(Id, ?PATIENCE),
        {[{Cpp, {ok, 1}}], []} = gen_server:multi_call([Cpp], words, {count, <<"one">>}, ?PATIENCE) end},
    {a_full_pool_says_so, fun(Cpp) ->
        {error, mailbox_full} = gen_server:call({full, Cpp}, {count, <<"x">>}) end},
    {a_full_pool_is_scaled, fun(Cpp) ->
        {error, mailbox_full} = gen_server:call({too_small, Cpp}, {count, <<"x">>}),
        2 = gen_server:call({too_small, Cpp}, {resize, 1}),
        {ok, 1} = gen_server:call({too_small, Cpp}, {count, <<"x">>}),
        {error, {incorrect, _}} = gen_server:call({too_small, Cpp}, {resize, 0}),
        4 = gen_server:call({too_small, Cpp}, {resize, 2}) end},
    {a_pool_is_changed, fun(Cpp) ->
        Change = fun(Fields) -> gen_server:call({too_small, Cpp}, {pool_change, Fields}) end,
        true = Change(#{pool_size => 5, worker_mailbox_size => 20, admission_limit => 0.5}),
        true = Change(#{admission_limit => 0}),
        {error, {incorrect, <<"pool_size: 0 is outside 1..10000">>}} = Change(#{pool_size => 0}),
        {error, {incorrect, <<"pool_change: pool_seize: unknown", _/binary>>}} = Change(#{pool_seize => 5}),
        {error, {incorrect, <<"pool_change: pool_size: 2.5, must be a whole number">>}} = Change(#{pool_size => 2.5}),
        6 = gen_server:call({too_small, Cpp}, {resize, 1}) end},
    {a_process_is_changed, fun(Cpp) ->
        Change = fun(Fields) -> gen_server:call({driver, Cpp}, {process_change, Fields}) end,
        true = Change(#{log_level => error, mailbox_size => 100000}),
        true = Change(#{log_level => node, mailbox_size => 0}),
        {error, {incorrect, <<"process_change: log_level: loud, must be ", _/binary>>}} = Change(#{log_level => loud}),
        {error, {incorrect, <<"mailbox_size: -1 is outside 0..4000000">>}} = Change(#{mailbox_size => -1}) end},
    {a_node_is_changed, fun(Cpp) ->
        Change = fun(Fields) -> gen_server:call({driver, Cpp}, {node_change, Fields}) end,
        true = Change(#{log_level => info, log_levels => #{<<"words::Nobody">> => debug}}),
        {error, {incorrect, <<"mailbox_size: -1 is outside 0..4000000">>}} = Change(#{mailbox_size => -1}),
        {error, {incorrect, <<"node_change: log_levels.words::Nobody: loud, must be ", _/binary>>}} =
            Change(#{log_levels => #{<<"words::Nobody">> => loud}}) end},
    {whose_is_a_name, fun(Cpp) ->
        Driver = drive(Cpp, self),
        Driver = rpc:call(Cpp, erlang, whereis, [driver]),
        Driver = erpc:call(Cpp, erlang, whereis, [driver]),
        undefined = rpc:call(Cpp, erlang, whereis, [nobody]),
        {badrpc, {'EXIT', {badarg, _}}} = rpc:call(Cpp, erlang, whereis, [<<"driver">>]),
        {badrpc, notsup} = rpc:call(Cpp, erlang, registered, []),
        {ok, Here} = drive(Cpp, {where_is, net_kernel, node()}),
        Here = whereis(net_kernel),
        {error, _} = drive(Cpp, {where_is, nobody, node()}) end},
    {types_are_called_by_their_tags, fun(Cpp) ->
        {error, {unsupported, <<"request refused">>}} = gen_server:call({words, Cpp}, refused) end},
    {a_late_answer_leaves_nothing, fun(Cpp) ->
        {timeout, _} = catch_exit(fun() -> gen_server:call({driver, Cpp}, {sleep, 200}, 50) end),
        %% Its answers come in order: this one is behind the late one.
        _ = drive(Cpp, self),
        {messages, []} = process_info(self(), messages) end},
    {callers_that_gave_up_are_skipped, fun(Cpp) ->
        Held = gen_server:send_request({single, Cpp}, hold),
        %% Its monitor goes with a time-out.
        Late = [spawn_monitor(fun() -> gen_server:call({single, Cpp}, {count, <<"x">>}, 5) end) || _ <- lists:seq(1, 17)],
        [receive {'DOWN', R, process, P, {timeout, _}} -> ok after ?PATIENCE -> error(nothing) end || {P, R} <- Late],
        %% And with its end.
        Killed = [spawn(fun() -> gen_server:call({single, Cpp}, {count, <<"x">>}, infinity) end) || _ <- lists:seq(1, 3)],
        eventually(fun() -> lists:all(fun(P) -> process_info(P, status) == {status, waiting} end, Killed) end),
        [begin R = monitor(process, P), exit(P, kill), expect({'DOWN', R, process, P, killed}) end || P <- Killed],
        Waits = gen_server:send_request({single, Cpp}, {count, <<"to be">>}),
        ok = rpc:call(Cpp, words, release, []),
        {reply, released} = gen_server:wait_response(Held, ?PATIENCE),
        {reply, {ok, 2}} = gen_server:wait_response(Waits, ?PATIENCE),
        %% The pool counts those that it has skipped with those that it has handled.
        eventually(fun() -> rpc:call(Cpp, words, done, []) == {22, 20} end) end},
    {a_late_answer_of_a_worker_leaves_nothing, fun(Cpp) ->
        {timeout, _} = catch_exit(fun() -> gen_server:call({single, Cpp}, {late, 200}, 50) end),
        %% It has one worker, whose answers come in order: this one is behind the late one.
        {ok, 1} = gen_server:call({single, Cpp}, {count, <<"x">>}),
        {messages, []} = process_info(self(), messages) end},
    {a_result_is_seen_before_the_end_of_its_sender, fun(Cpp) ->
        Driver = drive(Cpp, self),
        Ready = self(),
        Worker = spawn(fun() -> receive go -> Driver ! {result, 42}, Ready ! sent end end),
        _ = drive(Cpp, {monitor, Worker}),
        ok = drive(Cpp, {link, Worker}),
        _ = drive(Cpp, seen),
        %% The driver is busy meanwhile.
        Busy = gen_server:send_request({driver, Cpp}, {sleep, 300}),
        Gone = monitor(process, Worker),
        Worker ! go,
        expect(sent),
        receive {'DOWN', Gone, process, Worker, normal} -> ok end,
        {reply, ok} = gen_server:wait_response(Busy, ?PATIENCE),
        [{message, Worker, {result, 42}} | Ends] = collect_events(Cpp, 3),
        2 = length(Ends) end},
    {links_that_cross, fun(Cpp) ->
        process_flag(trap_exit, true),
        Driver = drive(Cpp, self),
        %% Both sides link and unlink themselves at the same time, again and again.
        [begin
             Other = gen_server:send_request({driver, Cpp}, {relink, self(), 20}),
             [begin link(Driver), unlink(Driver) end || _ <- lists:seq(1, 20)],
             {reply, ok} = gen_server:wait_response(Other, ?PATIENCE)
         end || _ <- lists:seq(1, 50)],
        %% What is on its way arrives; then both are of one mind, and nobody is linked.
        pong = net_adm:ping(Cpp),
        eventually(fun() -> {links, L} = process_info(self(), links), [P || P <- L, is_pid(P), node(P) == Cpp] == [] end),
        eventually(fun() -> drive(Cpp, links) == [] end),
        silence() end},
    {monitor_by_pid, fun(Cpp) ->
        Victim = victim(Cpp),
        Ref = monitor(process, Victim),
        Victim ! {die, reason},
        expect({'DOWN', Ref, process, Victim, reason}),
        Late = monitor(process, Victim),
        expect({'DOWN', Late, process, Victim, noproc}) end},
    {monitor_by_name, fun(Cpp) ->
        Victim = victim(Cpp),
        ok = drive(Cpp, {register, victim, Victim}),
        Ref = monitor(process, {victim, Cpp}),
        Victim ! {die, normal},
        expect({'DOWN', Ref, process, {victim, Cpp}, normal}),
        None = monitor(process, {victim, Cpp}),
        expect({'DOWN', None, process, {victim, Cpp}, noproc}) end},
    {demonitor, fun(Cpp) ->
        Victim = victim(Cpp),
        Ref = monitor(process, Victim),
        true = demonitor(Ref),
        Victim ! {die, reason},
        silence() end},
    {link_and_its_exit, fun(Cpp) ->
        process_flag(trap_exit, true),
        Victim = victim(Cpp),
        link(Victim),
        Victim ! {die, <<"a text">>},
        receive {'EXIT', Victim, Reason} -> <<"a text">> = Reason after ?PATIENCE -> error(nothing) end end},
    {unlink, fun(Cpp) ->
        process_flag(trap_exit, true),
        Victim = victim(Cpp),
        link(Victim),
        unlink(Victim),
        Victim ! {die, reason},
        silence() end},
    {link_to_the_dead, fun(Cpp) ->
        process_flag(trap_exit, true),
        Victim = victim(Cpp),
        Victim ! {die, normal},
        Ref = monitor(process, Victim),
        receive {'DOWN', Ref, _, _, _} -> ok end,
        link(Victim),
        expect({'EXIT', Victim, noproc}) end},
    {exit_of_ours_ends_theirs, fun(Cpp) ->
        Victim = victim(Cpp),
        Ref = monitor(process, Victim),
        spawn(fun() -> link(Victim), exit(crashed) end),
        expect({'DOWN', Ref, process, Victim, crashed}) end},
    {exit_2, fun(Cpp) ->
        Victim = victim(Cpp),
        Ref = monitor(process, Victim),
        exit(Victim, because),
        expect({'DOWN', Ref, process, Victim, because}),
        Other = victim(Cpp),
        Killed = monitor(process, Other),
        exit(Other, kill),
        expect({'DOWN', Killed, process, Other, killed}),
        Third = victim(Cpp),
        Normal = monitor(process, Third),
        exit(Third, normal),
        expect({'DOWN', Normal, process, Third, normal}) end},
    {a_pool_is_monitored_and_linked, fun(Cpp) ->
        process_flag(trap_exit, true),
        {ok, Pool} = drive(Cpp, {spawn_pool, watched_pool}),
        ByPid = monitor(process, Pool),
        ByName = monitor(process, {watched_pool, Cpp}),
        link(Pool),
        %% The ends of its workers are its own matter.
        [{error, {terminated, _}} = gen_server:call(Pool, crash, ?PATIENCE) || _ <- lists:seq(1, 5)],
        {ok, 2} = gen_server:call(Pool, {count, <<"a b">>}, ?PATIENCE),
        silence(),
        exit(Pool, broken),
        expect({'DOWN', ByPid, process, Pool, broken}),
        expect({'DOWN', ByName, process, {watched_pool, Cpp}, broken}),
        expect({'EXIT', Pool, broken}),
        silence() end},
    {gen_stop_and_sys, fun(Cpp) ->
        Victim = victim(Cpp),
        %% OTP 26.1 and later want {ok, State}, which former ones take for the state.
        case sys:get_state(Victim) of #{} -> ok; {ok, #{}} -> ok end,
        {status, Victim, {module, _}, [_ | _]} = sys:get_status(Victim),
        ok = sys:suspend(Victim),
        ok = sys:resume(Victim),
        pong = gen_server:call(Victim, ping),
        %% A message is counted after its answer. Whatever the process answers next, it does so when it has counted.
        _ = sys:get_state(Victim),
        {ok, Statistics} = sys:statistics(Victim, get),
        {{{_, _, _}, {_, _, _}}, 1} = {proplists:get_value(start_time, Statistics), proplists:get_value(messages_in, Statistics)},
        ok = sys:statistics(Victim, true),
        {error, unsupported} = sys:trace(Victim, true),
        %% A hidden node is not asked: the answers are Erlang's own, at once.
        false = proc_lib:initial_call(Victim),
        {proc_lib, init_p, 5} = proc_lib:translate_initial_call(Victim),
        ok = gen_server:stop(Victim),
        Next = victim(Cpp),
        Ref = monitor(process, Next),
        ok = gen_server:stop(Next, shutdown, ?PATIENCE),
        expect({'DOWN', Ref, process, Next, shutdown}) end},
    {rpc_calls_a_function, fun(Cpp) ->
        6 = rpc:call(Cpp, words, count, [<<"to be or not to be">>]),
        2 = rpc:call(Cpp, words, count, ["two words"], ?PATIENCE),
        {ok, 3} = rpc:call(Cpp, words, 'of', [{count, <<"abc">>}]),
        [<<"a">>, <<"a">>] = rpc:call(Cpp, words, repeat, [<<"a">>, 2]),
        ok = rpc:call(Cpp, words, nothing, []),
        3 = rpc:call(Cpp, words, ask, [<<"a b c">>]),
        {} = rpc:call(Cpp, words, any, []),
        {1, [2], #{c := d}} = rpc:call(Cpp, words, any, [1, [2], #{c => d}]),
        Big = binary:copy(<<"0123456789">>, 400000),
        {Big} = rpc:call(Cpp, words, any, [Big]),
        {[2], [{badrpc, _}]} = {[rpc:call(Cpp, words, count, [<<"x y">>])], [rpc:call(Cpp, words, count, [])]},
        Key = rpc:async_call(Cpp, words, count, [<<"x">>]),
        1 = rpc:yield(Key),
        {[1], []} = rpc:multicall([Cpp], words, count, [<<"x">>]),
        {messages, []} = process_info(self(), messages) end},
    {erpc_calls_a_function, fun(Cpp) ->
        6 = erpc:call(Cpp, words, count, [<<"to be or not to be">>]),
        2 = erpc:call(Cpp, words, count, [<<"a b">>], infinity),
        Id = erpc:send_request(Cpp, words, count, [<<"a b c">>]),
        3 = erpc:receive_response(Id, ?PATIENCE),
        [{ok, 1}] = erpc:multicall([Cpp], words, count, [<<"x">>]),
        Self = self(),
        ok = erpc:cast(Cpp, words, sleep, [Self, 1]),
        receive {sleeps, Pid} -> true = is_pid(Pid) after ?PATIENCE -> error(nothing) end,
        expect(awake),
        silence() end},
    {errors_of_functions, fun(Cpp) ->
        {badrpc, {'EXIT', {negative, [{words, repeat, 2, []}]}}} = rpc:call(Cpp, words, repeat, [<<"a">>, -1]),
        {badrpc, {'EXIT', {mailbox_full, _}}} = rpc:call(Cpp, words, fails, [x]),
        {badrpc, {'EXIT', {{panic, <<"thrown">>}, _}}} = rpc:call(Cpp, words, throws, [1]),
        {error, {exception, negative, [{words, repeat, 2, []}]}} = catch_error(fun() -> erpc:call(Cpp, words, repeat, [<<"a">>, -1]) end),
        {error, {exception, {panic, <<"thrown">>}, _}} = catch_error(fun() -> erpc:call(Cpp, words, throws, [1]) end),
        {badrpc, {'EXIT', {{incorrect, <<"argument 2: ", _/binary>>}, _}}} = rpc:call(Cpp, words, repeat, [<<"a">>, b]),
        {badrpc, {'EXIT', {{incorrect, <<"argument 1: ", _/binary>>}, _}}} = rpc:call(Cpp, words, count, [42]),
        {badrpc, {'EXIT', {{incorrect, <<"argument 1: count", _/binary>>}, _}}} = rpc:call(Cpp, words, 'of', [{count, x}]) end},
    {texts_never_become_atoms, fun(Cpp) ->
        Fail = fun(N) ->
            Text = iolist_to_binary(["job_", integer_to_list(N)]),
            {badrpc, {'EXIT', {Text, [{words, refuse, 1, []}]}}} = rpc:call(Cpp, words, refuse, [Text]),
            {error, Text} = gen_server:call({words, Cpp}, {fail, Text}),
            Victim = victim(Cpp),
            Ref = monitor(process, Victim),
            Victim ! {die, Text},
            expect({'DOWN', Ref, process, Victim, Text}),
            State = case sys:get_state({driver, Cpp}) of {ok, Map} -> Map; Map -> Map end,
            [] = [K || K <- maps:keys(State), not is_binary(K)] end,
        Fail(0),
        Atoms = erlang:system_info(atom_count),
        [Fail(N) || N <- lists:seq(1, 200)],
        More = erlang:system_info(atom_count) - Atoms,
        true = More < 100 end},
    {functions_that_are_unknown_are_refused_at_once, fun(Cpp) ->
        [{badrpc, notsup} = rpc:call(Cpp, M, F, A, infinity) || {M, F, A} <- [{words, unknown, []}, {unknown, count, [<<"x">>]},
            {words, count, []}, {words, count, [<<"x">>, y]}, {remote, start, []}, {os, cmd, ["true"]},
            {erlang, processes, []}, {observer_backend, sys_info, []}]],
        {error, {erpc, notsup}} = catch_error(fun() -> erpc:call(Cpp, words, unknown, [], infinity) end),
        {error, {erpc, notsup}} = catch_error(fun() -> erpc:call(Cpp, fun() -> ok end) end),
        %% As erpc itself would not ask.
        [begin
             Ref = spawn_request(Cpp, erpc, F, A, [{reply, yes}]),
             expect({spawn_reply, Ref, error, notsup})
         end || {F, A} <- [{execute_call, []}, {execute_call, [1, 2, 3, 4]}, {execute_call, [x, words, count, y]},
                           {execute_cast, [words, 1, []]}, {execute_cast, [words, count, [a | b]]}, {call, [a, b]}]] end},
    {who_waits_no_more_ends_the_function, fun(Cpp) ->
        Self = self(),
        Asleep = fun() -> receive {sleeps, Pid} -> {monitor(process, Pid), Pid} after ?PATIENCE -> error(nothing) end end,
        %% A time-out.
        Request = erpc:send_request(Cpp, words, sleep, [Self, 60000]),
        {TimedOut, Sleeper} = Asleep(),
        timeout = try erpc:receive_response(Request, 1) catch error:{erpc, Why} -> Why end,
        expect_down(TimedOut, Sleeper),
        %% The end of the caller.
        Caller = spawn(fun() -> rpc:call(Cpp, words, sleep, [Self, 60000]) end),
        {Ends, Next} = Asleep(),
        exit(Caller, kill),
        expect({'DOWN', Ends, process, Next, killed}),
        %% One that is killed tells its caller.
        Other = spawn(fun() -> Self ! {outcome, rpc:call(Cpp, words, sleep, [Self, 60000])} end),
        {_, Killed} = Asleep(),
        exit(Killed, kill),
        expect({outcome, {badrpc, {'EXIT', killed}}}),
        false = is_process_alive(Other) end},
    {too_many_functions_are_refused, fun(Cpp) ->
        Self = self(),
        Callers = [spawn(fun() -> rpc:call(Cpp, words, sleep, [Self, 60000]) end) || _ <- lists:seq(1, 20)],
        Sleepers = [receive {sleeps, Pid} -> Pid after ?PATIENCE -> error(nothing) end || _ <- Callers],
        {badrpc, {'EXIT', system_limit}} = rpc:call(Cpp, words, count, [<<"x">>]),
        {error, {erpc, system_limit}} = catch_error(fun() -> erpc:call(Cpp, words, count, [<<"x">>]) end),
        Refs = [monitor(process, S) || S <- Sleepers],
        [exit(C, kill) || C <- Callers],
        [receive {'DOWN', R, _, _, _} -> ok after ?PATIENCE -> error(nothing) end || R <- Refs],
        eventually(fun() -> rpc:call(Cpp, words, count, [<<"x">>]) == 1 end),
        %% One after the other there is always room.
        [[1 = rpc:call(Cpp, words, count, [<<"x">>]) || _ <- lists:seq(1, 100)] || _ <- [1, 2, 3]] end},
    {a_process_is_spawned_here, fun(Cpp) ->
        process_flag(trap_exit, true),
        Pid = spawn(Cpp, remote, start, [self(), 1, <<"two">>]),
        Cpp = node(Pid),
        expect({started, Pid, 1, <<"two">>}),
        pong = gen_server:call(Pid, ping),
        Pid ! {die, normal},
        Linked = spawn_link(Cpp, remote, start, []),
        Linked ! {die, boom},
        expect({'EXIT', Linked, boom}),
        {Watched, Ref} = spawn_monitor(Cpp, remote, start, [self(), x]),
        expect({started, Watched, x}),
        Watched ! {die, over},
        expect({'DOWN', Ref, process, Watched, over}),
        {Both, Third} = spawn_opt(Cpp, remote, start, [], [link, monitor]),
        exit(Both, kill),
        expect({'DOWN', Third, process, Both, killed}),
        expect({'EXIT', Both, killed}),
        silence() end},
    {spawn_request_is_answered, fun(Cpp) ->
        Ref = spawn_request(Cpp, remote, start, [], [monitor]),
        Pid = receive {spawn_reply, Ref, ok, P} -> P after ?PATIENCE -> error(nothing) end,
        Pid ! {die, reason},
        expect({'DOWN', Ref, process, Pid, reason}),
        %% An Init that fails.
        Failed = spawn_request(Cpp, remote, start, [fail], [monitor]),
        receive {spawn_reply, Failed, ok, F} -> expect({'DOWN', Failed, process, F, no_such_thing}) after ?PATIENCE -> error(nothing) end,
        Unknown = spawn_request(Cpp, remote, unknown, [], [monitor]),
        expect({spawn_reply, Unknown, error, notsup}),
        %% A registered function, of which only the end is told.
        {_, Ran} = spawn_monitor(Cpp, words, count, [<<"x">>]),
        receive {'DOWN', Ran, process, _, normal} -> ok after ?PATIENCE -> error(nothing) end,
        {_, Bad} = spawn_monitor(Cpp, words, repeat, [<<"x">>, -1]),
        receive {'DOWN', Bad, process, _, negative} -> ok after ?PATIENCE -> error(nothing) end,
        silence() end},
    {who_has_spawned_ends_who_is_linked, fun(Cpp) ->
        Self = self(),
        Parent = spawn(fun() -> Self ! {child, spawn_link(Cpp, remote, start, [])}, receive stop -> exit(tired) end end),
        Child = receive {child, C} -> C after ?PATIENCE -> error(nothing) end,
        Ref = monitor(process, Child),
        Parent ! stop,
        expect({'DOWN', Ref, process, Child, tired}) end},
    {too_many_processes_are_refused, fun(Cpp) ->
        Pids = [spawn_link(Cpp, remote, start, []) || _ <- lists:seq(1, 20)],
        Ref = spawn_request(Cpp, remote, start, [], []),
        expect({spawn_reply, Ref, error, system_limit}),
        [unlink(P) || P <- Pids],
        [P ! {die, normal} || P <- Pids],
        eventually(fun() -> rpc:call(Cpp, words, count, [<<"x">>]) == 1 end) end},
    {what_is_not_registered_is_refused, fun(Cpp) ->
        {badrpc, _} = rpc:call(Cpp, erlang, node, []),
        Ref = monitor(process, spawn(Cpp, erlang, node, [])),
        receive {'DOWN', Ref, process, _, _} -> ok after ?PATIENCE -> error(nothing) end end},
    {seq_trace_messages_arrive, fun(Cpp) ->
        seq_trace:set_token(label, 17),
        {ok, 1} = gen_server:call({words, Cpp}, {count, <<"x">>}),
        {driver, Cpp} ! traced,
        seq_trace:set_token([]),
        [{message, _, traced}] = seen(Cpp) end},
    {a_trace_goes_on_in_all_that_is_sent, fun(Cpp) ->
        Self = self(),
        Driver = drive(Cpp, self),
        process_flag(trap_exit, true),
        [begin
             seq_trace:set_token([]),
             seq_trace:set_token(label, Label),
             seq_trace:set_token(print, true),
             %% The answer has it, too: else there would be none now.
             ok = drive(Cpp, {send, Self, sent}),
             {label, Label} = seq_trace:get_token(label),
             ok = drive(Cpp, {exit, Self, ended}),
             ok = drive(Cpp, {send_later, Self, later}),
             {ok, 2} = gen_server:call({words, Cpp}, {count, <<"a b">>}),
             {error, _} = gen_server:call({words, Cpp}, {fail, <<"no">>}),
             {label, Label} = seq_trace:get_token(label),
             seq_trace:set_token([]),
             [begin
                  expect(Message),
                  {label, Label} = seq_trace:get_token(label),
                  {print, true} = seq_trace:get_token(print),
                  {send, false} = seq_trace:get_token(send),
                  {serial, {Previous, Serial}} = seq_trace:get_token(serial),
                  true = Previous > 0 andalso Serial > Previous
              end || Message <- [sent, {'EXIT', Driver, ended}, later]]
         end || Label <- [17, order, 0, -5, 1 bsl 63, 1 bsl 70, {a, <<"label">>}]],
        seq_trace:set_token([]),
        ok = drive(Cpp, {send, Self, plain}),
        [] = seq_trace:get_token(),
        expect(plain),
        [] = seq_trace:get_token() end},
    {a_trace_that_begins_there_is_a_token, fun(Cpp) ->
        Driver = drive(Cpp, self),
        [begin
             seq_trace:set_token([]),
             ok = drive(Cpp, {send_traced, self(), hello, Trace}),
             [] = seq_trace:get_token(),
             expect(hello),
             {7, Trace, _, Driver, _} = seq_trace:get_token()
         end || Trace <- [1, 42, 1 bsl 40, (1 bsl 63) - 1]],
        seq_trace:set_token([]),
        %% A system tracer is told of it.
        Self = self(),
        seq_trace:set_system_tracer(Self),
        Receiver = spawn_link(fun() -> receive hello -> Self ! received end end),
        ok = drive(Cpp, {send_traced, Receiver, hello, 4711}),
        expect(received),
        receive {seq_trace, 4711, {'receive', _, Driver, Receiver, hello}} -> ok
        after ?PATIENCE -> error({nothing, process_info(self(), messages)}) end,
        seq_trace:set_system_tracer(false) end},
    {a_trace_goes_with_what_is_spawned, fun(Cpp) ->
        seq_trace:set_token(label, spawned),
        1 = erpc:call(Cpp, words, ask, [<<"a">>]),
        Self = self(),
        seq_trace:set_token(label, spawned),
        spawn(Cpp, words, sleep, [Self, 1]),
        seq_trace:set_token([]),
        receive {sleeps, _} -> {label, spawned} = seq_trace:get_token(label) after ?PATIENCE -> error(nothing) end,
        receive awake -> {label, spawned} = seq_trace:get_token(label) after ?PATIENCE -> error(nothing) end,
        seq_trace:set_token(label, spawned),
        Victim = spawn(Cpp, remote, start, [Self, begun]),
        seq_trace:set_token([]),
        receive {started, Victim, begun} -> {label, spawned} = seq_trace:get_token(label)
        after ?PATIENCE -> error(nothing) end,
        Victim ! {die, normal},
        %% They spawn here.
        ok = drive(Cpp, {trace, 99, {spawn_there, node(), erlang, apply,
            [fun() -> Self ! {token, seq_trace:get_token(label)} end, []], plain}}),
        expect({token, {label, 99}}) end},

    {they_spawn_functions, fun(Cpp) ->
        Self = self(),
        There = fun(M, F, A, How) -> drive(Cpp, {spawn_there, node(), M, F, A, How}) end,
        {ok, Plain} = There(erlang, send, [Self, {from, there}], plain),
        true = is_pid(Plain) andalso node(Plain) == node(),
        expect({from, there}),
        {ok, Linked} = There(erlang, exit, [boom], link),
        [{exit, Linked, boom}] = seen(Cpp),
        {ok, Sleeper} = There(timer, sleep, [infinity], link),
        true = exit(Sleeper, tired),
        [{exit, Sleeper, tired}] = seen(Cpp),
        [begin
            {ok, Ref} = There(erlang, exit, [Reason], monitor),
            [{down, Ref, Watched, Reason}] = seen(Cpp),
            true = is_pid(Watched)
         end || Reason <- [over, normal, killed]],
        {ok, Unwatched} = There(timer, sleep, [infinity], plain),
        true = is_process_alive(Unwatched),
        {links, []} = process_info(Unwatched, links),
        {monitored_by, []} = process_info(Unwatched, monitored_by),
        exit(Unwatched, kill),
        [] = drive(Cpp, seen),
        silence() end},
    {they_send_to_an_alias, fun(Cpp) ->
        Alias = alias(),
        ok = drive(Cpp, {send, Alias, {hi, alias}}),
        expect({hi, alias}),
        ok = drive(Cpp, {send_later, Alias, {hi, later}}),
        expect({hi, later}),
        Once = alias([reply]),
        ok = drive(Cpp, {send, Once, first}),
        ok = drive(Cpp, {send, Once, second}),
        expect(first),
        {error, Called} = drive(Cpp, {call, Alias, x, ?PATIENCE}),
        {_, _} = binary:match(Called, <<"a call to an alias works between Ergon nodes only">>),
        {error, Linked} = drive(Cpp, {link, Alias}),
        {_, _} = binary:match(Linked, <<"works between Ergon nodes only">>),
        {error, Inspected} = drive(Cpp, {inspect, self()}),
        {_, _} = binary:match(Inspected, <<"an inspection works between Ergon nodes only">>),
        {error, ByName} = drive(Cpp, {link, {receiver, node()}}),
        {_, _} = binary:match(ByName, <<"works between Ergon nodes only">>),
        {error, Watched} = drive(Cpp, {monitor, Alias}),
        {_, _} = binary:match(Watched, <<"monitor the PID">>),
        true = unalias(Alias),
        ok = drive(Cpp, {send, Alias, {hi, nobody}}),
        silence() end},
    {they_send, fun(Cpp) ->
        ok = drive(Cpp, {send, self(), {hi, 1}}),
        expect({hi, 1}),
        register(receiver, self()),
        ok = drive(Cpp, {send, {receiver, node()}, {hi, 2}}),
        expect({hi, 2}) end},
    {they_call_a_gen_server, fun(Cpp) ->
        %% rex is one that is always there.
        {ok, [3, 2, 1]} = drive(Cpp, {rpc, node(), lists, reverse, [[1, 2, 3]]}),
        {error, _} = drive(Cpp, {rpc, node(), nothing, at_all, []}) end},
    {they_call_the_dying, fun(Cpp) ->
        Server = spawn(fun() -> receive {'$gen_call', _, _} -> exit(tired) end end),
        {error, Text} = drive(Cpp, {call, Server, hello, ?PATIENCE}),
        {_, _} = binary:match(Text, <<"tired">>),
        {error, Unknown} = drive(Cpp, {call, {nobody_here, node()}, hello, ?PATIENCE}),
        {_, _} = binary:match(Unknown, <<"unknown">>) end},
    {their_call_has_a_time_out, fun(Cpp) ->
        {Server, Ref} = spawn_monitor(fun() ->
            receive {'$gen_call', From, _} -> receive now -> gen_server:reply(From, late) end end end),
        {error, Text} = drive(Cpp, {call, Server, hello, 100}),
        {_, _} = binary:match(Text, <<"whether the request is handled is not known: the request was for a process of another node">>),
        nomatch = binary:match(Text, <<"will not be handled">>),
        Server ! now,
        expect({'DOWN', Ref, process, Server, normal}),
        [] = drive(Cpp, seen) end},  % goes behind the late answer
    {they_monitor, fun(Cpp) ->
        Pid = spawn(fun() -> receive stop -> exit(stopped) end end),
        Ref = drive(Cpp, {monitor, Pid}),
        Pid ! stop,
        [{down, Ref, Pid, stopped}] = seen(Cpp),
        Late = drive(Cpp, {monitor, Pid}),
        [{down, Late, Pid, noproc}] = seen(Cpp) end},
    {they_monitor_a_name, fun(Cpp) ->
        Pid = spawn(fun() -> register(to_be_watched, self()), receive stop -> exit(stopped) end end),
        eventually(fun() -> whereis(to_be_watched) == Pid end),
        _ = drive(Cpp, {monitor, {to_be_watched, node()}}),
        Pid ! stop,
        [{down, _, {to_be_watched, _}, stopped}] = seen(Cpp) end},
    {they_link, fun(Cpp) ->
        Pid = spawn(fun() -> receive stop -> exit(stopped) end end),
        ok = drive(Cpp, {link, Pid}),
        Pid ! stop,
        [{exit, Pid, stopped}] = seen(Cpp) end},
    {they_unlink, fun(Cpp) ->
        {Pid, Ref} = spawn_monitor(fun() -> receive stop -> exit(stopped) end end),
        ok = drive(Cpp, {link, Pid}),
        ok = drive(Cpp, {unlink, Pid}),
        Pid ! stop,
        expect({'DOWN', Ref, process, Pid, stopped}),
        [] = drive(Cpp, seen) end},
    {they_send_exits, fun(Cpp) ->
        process_flag(trap_exit, true),
        ok = drive(Cpp, {exit, self(), because}),
        receive {'EXIT', _, because} -> ok after ?PATIENCE -> error(nothing) end,
        {Pid, Ref} = spawn_monitor(fun() -> process_flag(trap_exit, true), receive never -> ok end end),
        ok = drive(Cpp, {exit, Pid, kill}),
        expect({'DOWN', Ref, process, Pid, killed}) end},
    {they_ping, fun(Cpp) ->
        ok = drive(Cpp, {ping, node()}),
        {error, _} = drive(Cpp, {ping, 'nobody@127.0.0.1'}) end},
    {big_messages, fun(Cpp) ->
        Big = binary:copy(<<"0123456789">>, 800000),
        Big = drive(Cpp, {echo, Big}) end},
    {global_names, fun(Cpp) ->
        Pid = victim(Cpp),
        yes = global:register_name(cpp_victim, Pid),
        pong = gen_server:call({global, cpp_victim}, ping),
        Pid ! {die, normal},
        Ref = monitor(process, Pid),
        receive {'DOWN', Ref, _, _, _} -> ok end,
        eventually(fun() -> global:whereis_name(cpp_victim) == undefined end) end},
    {they_connect, fun(Cpp) ->
        {{nodedown, Cpp}, _} = catch_exit(fun() -> drive(Cpp, {reconnect, node(), self()}) end),
        expect(ok),
        true = lists:member(Cpp, nodes(hidden)) end},
    {what_only_ergon_does_is_refused, fun(Cpp) ->
        register(foreign, self()),
        {{nodedown, Cpp}, _} = catch_exit(fun() -> drive(Cpp, {foreign, node(), {foreign, node()}, self()}) end),
        receive Refused when is_list(Refused) ->
            [{error, _} = Early, {error, _} = Late] = Refused,
            Early = Late,
            {error, Text} = Early,
            {_, _} = binary:match(Text, <<"works between Ergon nodes only">>),
            {_, _} = binary:match(Text, atom_to_binary(node()))
        end,
        receive Other -> exit({got, Other}) after 100 -> ok end,
        pong = net_adm:ping(Cpp) end},
    {groups_without_pg_are_there_when_it_starts, fun(Cpp) ->
        undefined = whereis(pg),
        Victim = victim(Cpp),
        ok = group(Cpp, join, early, Victim),
        with_pg(fun() ->
            eventually(fun() -> pg:get_members(early) == [Victim] end),
            [] = pg:get_local_members(early),
            Victim ! {die, normal},
            eventually(fun() -> pg:which_groups() == [] end) end) end},
    {members_of_both_are_one_group, fun(Cpp) ->
        with_pg(fun() ->
            Mine = member(),
            ok = pg:join(both, Mine),
            eventually(fun() -> group(Cpp, members, both) == [Mine] end),
            Theirs = victim(Cpp),
            ok = group(Cpp, join, both, Theirs),
            eventually(fun() -> lists:sort(pg:get_members(both)) == lists:sort([Mine, Theirs]) end),
            [Mine] = pg:get_local_members(both),
            %% By hand, with the other node's members, and by a pool's name.
            ok = pg:leave(both, Mine),
            eventually(fun() -> group(Cpp, members, both) == [Theirs] end),
            ok = group(Cpp, leave, both, Theirs),
            eventually(fun() -> pg:get_members(both) == [] end) end) end},
    {a_pool_in_a_group_is_called_from_here, fun(Cpp) ->
        with_pg(fun() ->
            {ok, Words} = drive(Cpp, {whereis, words}),
            ok = group(Cpp, join, counters, Words),
            eventually(fun() -> pg:get_members(counters) == [Words] end),
            [Pool] = pg:get_members(counters),
            {ok, 2} = gen_server:call(Pool, {count, <<"two words">>}),
            ok = group(Cpp, leave, counters, Words),
            eventually(fun() -> pg:get_members(counters) == [] end) end) end},
    {what_is_sent_to_a_group_arrives_here, fun(Cpp) ->
        with_pg(fun() ->
            Self = self(),
            Members = [spawn_link(fun() -> relay(Self) end) || _ <- lists:seq(1, 3)],
            ok = pg:join(listeners, Members),
            eventually(fun() -> length(group(Cpp, members, listeners)) == 3 end),
            3 = group(Cpp, send, listeners, {hello, all}),
            [expect({got, M, {hello, all}}) || M <- Members],
            Reached = [begin {ok, M} = group(Cpp, send_to_one, listeners, {hello, N}), expect({got, M, {hello, N}}), M end
                       || N <- lists:seq(1, 6)],
            true = lists:sort(Members ++ Members) == lists:sort(Reached),
            ok = pg:leave(listeners, Members),
            eventually(fun() -> group(Cpp, members, listeners) == [] end),
            0 = group(Cpp, send, listeners, {hello, nobody}) end) end},
    {who_ends_leaves_on_both_sides, fun(Cpp) ->
        with_pg(fun() ->
            Mine = member(),
            ok = pg:join(ends, Mine),
            ok = pg:join(ends_too, Mine),
            Theirs = victim(Cpp),
            [ok = group(Cpp, join, G, Theirs) || G <- [ends, ends_too]],
            eventually(fun() -> length(pg:get_members(ends)) == 2 andalso length(group(Cpp, members, ends_too)) == 2 end),
            exit(Mine, kill),
            eventually(fun() -> group(Cpp, members, ends) == [Theirs] andalso group(Cpp, members, ends_too) == [Theirs] end),
            Theirs ! {die, boom},
            eventually(fun() -> pg:which_groups() == [] end) end) end},
    {monitors_here_see_their_members, fun(Cpp) ->
        with_pg(fun() ->
            {Ref, []} = pg:monitor(watched),
            Theirs = victim(Cpp),
            ok = group(Cpp, join, watched, Theirs),
            expect({Ref, join, watched, [Theirs]}),
            ok = group(Cpp, join, watched, Theirs),
            expect({Ref, join, watched, [Theirs]}),
            ok = group(Cpp, leave, watched, Theirs),
            expect({Ref, leave, watched, [Theirs]}),
            ok = group(Cpp, join, watched, Theirs),
            expect({Ref, join, watched, [Theirs]}),
            Theirs ! {die, normal},
            expect({Ref, leave, watched, [Theirs, Theirs]}),
            silence() end) end},
    {monitors_there_see_our_members, fun(Cpp) ->
        with_pg(fun() ->
            Mine = member(),
            ok = pg:join(watching, Mine),
            eventually(fun() -> group(Cpp, members, watching) == [Mine] end),
            {ok, [Mine]} = group(Cpp, monitor, watching),
            Other = member(),
            ok = pg:join(watching, [Other, Mine]),
            [{joined, watching, [Other, Mine]}] = seen(Cpp),
            ok = pg:leave(watching, Mine),
            [{left, watching, [Mine]}] = seen(Cpp),
            ok = pg:join(watching, Mine),
            [{joined, watching, [Mine]}] = seen(Cpp),
            exit(Other, kill),
            [{left, watching, [Other]}] = seen(Cpp),
            %% pg tells of each membership, one by one.
            exit(Mine, kill),
            [{left, watching, [Mine]}, {left, watching, [Mine]}] = collect_events(Cpp, 2),
            ok = group(Cpp, demonitor, watching),
            [] = drive(Cpp, seen) end) end},
    {a_process_may_be_there_several_times, fun(Cpp) ->
        with_pg(fun() ->
            Self = self(),
            Mine = spawn_link(fun() -> relay(Self) end),
            [ok = pg:join(multi, Mine) || _ <- [1, 2, 3]],
            eventually(fun() -> group(Cpp, members, multi) == [Mine, Mine, Mine] end),
            3 = group(Cpp, send, multi, again),
            [expect({got, Mine, again}) || _ <- [1, 2, 3]],
            ok = pg:leave(multi, Mine),
            eventually(fun() -> group(Cpp, members, multi) == [Mine, Mine] end),
            Theirs = victim(Cpp),
            [ok = group(Cpp, join, multi, Theirs) || _ <- [1, 2]],
            eventually(fun() -> length([P || P <- pg:get_members(multi), P == Theirs]) == 2 end),
            ok = group(Cpp, leave, multi, Theirs),
            eventually(fun() -> length([P || P <- pg:get_members(multi), P == Theirs]) == 1 end),
            Theirs ! {die, normal},
            eventually(fun() -> pg:get_members(multi) == [Mine, Mine] end) end) end},
    {groups_whose_names_are_no_atoms_are_left_out, fun(Cpp) ->
        with_pg(fun() ->
            Mine = member(),
            [ok = pg:join(G, Mine) || G <- [{room, 1}, 1, "text", <<"binary">>, '', #{}, an_atom, 'ünï']],
            eventually(fun() -> group(Cpp, members, 'ünï') == [Mine] end),
            [Mine] = group(Cpp, members, an_atom),
            [ok = pg:leave(G, Mine) || G <- [{room, 1}, 1, "text", <<"binary">>, '', #{}, an_atom]],
            eventually(fun() -> group(Cpp, members, an_atom) == [] end),
            [Mine] = group(Cpp, members, 'ünï'),
            pong = net_adm:ping(Cpp) end) end},
    {a_scope_that_dies_takes_its_members_along, fun(Cpp) ->
        Theirs = victim(Cpp),
        ok = group(Cpp, join, scope, Theirs),
        Mine = member(),
        with_pg(fun() ->
            ok = pg:join(scope, Mine),
            eventually(fun() -> group(Cpp, members, scope) == [Theirs, Mine] end),
            {ok, _} = group(Cpp, monitor, scope) end),
        [{left, scope, [Mine]}] = seen(Cpp),
        [Theirs] = group(Cpp, members, scope),
        with_pg(fun() ->
            eventually(fun() -> pg:get_members(scope) == [Theirs] end),
            ok = pg:join(scope, Mine),
            [{joined, scope, [Mine]}] = seen(Cpp) end),
        [{left, scope, [Mine]}] = seen(Cpp),
        ok = group(Cpp, demonitor, scope),
        ok = group(Cpp, leave, scope, Theirs) end},
    {what_is_no_message_of_pg_harms_nobody, fun(Cpp) ->
        %% Messages that pg itself would die of; they are nobody's here.
        [{pg, Cpp} ! M || M <- [nothing, {discover}, {discover, x}, {join, self()}, {join, self(), g, x}, {leave, self(), self(), g},
                                {'$gen_cast', {sync, self(), x}}, {'$gen_cast', {sync, self(), [x]}}]],
        %% Well formed, but of nobody who speaks for groups.
        [{pg, Cpp} ! M || M <- [{join, self(), strangers, self()}, {leave, self(), self(), [strangers]}]],
        [] = group(Cpp, members, strangers),
        %% As a later version asks.
        {pg, Cpp} ! {discover, self(), 2},
        Node = receive {'$gen_cast', {sync, Pid, Groups}} when is_list(Groups) -> Pid after ?PATIENCE -> error(nothing) end,
        expect({discover, Node}),
        gen_server:cast(Node, {sync, self(), [{strangers, [self(), self()]}]}),
        eventually(fun() -> group(Cpp, members, strangers) == [self(), self()] end),
        Node ! {join, self(), strangers, []},
        Node ! {leave, self(), [self()], [strangers, unknown_group]},
        eventually(fun() -> group(Cpp, members, strangers) == [self()] end),
        Ref = monitor(process, Node),
        silence(),
        true = demonitor(Ref),
        Node ! {leave, self(), self(), [strangers]} end},
    {members_of_a_killed_third_node_leave_at_once, fun(Cpp) ->
        Third = list_to_atom("third" ++ os:getpid() ++ "@127.0.0.1"),
        Does = io_lib:format("pg:start(pg), pg:join(third, self()), pong = net_adm:ping('~s'), receive never -> ok end.", [Cpp]),
        Port = open_port({spawn_executable, os:find_executable("erl")},
                         [{args, ["-name", atom_to_list(Third), "-setcookie", "secret", "-noshell", "-eval", lists:flatten(Does)]}]),
        {os_pid, OsPid} = erlang:port_info(Port, os_pid),
        Kill = fun() -> os:cmd("kill -9 " ++ integer_to_list(OsPid)) end,
        try with_pg(fun() ->
            Theirs = victim(Cpp),
            ok = group(Cpp, join, third, Theirs),
            eventually(fun() -> length(group(Cpp, members, third)) == 2 end),
            pong = net_adm:ping(Third),
            %% All three know the same.
            Known = lists:sort(group(Cpp, members, third)),
            eventually(fun() -> lists:sort(pg:get_members(third)) == Known end),
            eventually(fun() -> lists:sort(rpc:call(Third, pg, get_members, [third])) == Known end),
            [Killed] = Known -- [Theirs],
            {ok, _} = group(Cpp, monitor, third),
            Kill(),
            [{left, third, [Killed]}] = seen(Cpp),
            eventually(fun() -> pg:get_members(third) == [Theirs] end),
            ok = group(Cpp, demonitor, third) end)
        after Kill() end end},
    %% The last ones: they cut the connection, and end the node.
    {members_of_a_lost_connection_come_back, fun(Cpp) ->
        Theirs = victim(Cpp),
        with_pg(fun() ->
            ok = group(Cpp, join, cut, Theirs),
            {Ref, _} = pg:monitor(cut),
            Mine = member(),
            ok = pg:join(cut, Mine),
            eventually(fun() -> length(pg:get_members(cut)) == 2 andalso length(group(Cpp, members, cut)) == 2 end),
            {ok, _} = group(Cpp, monitor, cut),
            flush(),
            [begin
                 true = erlang:disconnect_node(Cpp),
                 expect({Ref, leave, cut, [Theirs]}),
                 pong = net_adm:ping(Cpp),
                 expect({Ref, join, cut, [Theirs]}),
                 [{left, cut, [Mine]}, {joined, cut, [Mine]}] = collect_events(Cpp, 2)
             end || _ <- lists:seq(1, 5)],
            silence(),
            [] = drive(Cpp, seen),
            ok = group(Cpp, demonitor, cut),
            ok = group(Cpp, leave, cut, Theirs) end) end},
    {a_lost_connection_ends_functions, fun(Cpp) ->
        Self = self(),
        spawn(fun() -> Self ! {outcome, rpc:call(Cpp, words, sleep, [Self, 60000])} end),
        Pid = receive {sleeps, P} -> P after ?PATIENCE -> error(nothing) end,
        Child = spawn(Cpp, remote, start, []),
        true = erlang:disconnect_node(Cpp),
        expect({outcome, {badrpc, nodedown}}),
        pong = net_adm:ping(Cpp),
        Ref = monitor(process, Pid),
        expect_down(Ref, Pid),
        %% Nobody was tied to it.
        pong = gen_server:call(Child, ping),
        Child ! {die, normal} end},
    {a_lost_connection_is_told_once, fun(Cpp) ->
        process_flag(trap_exit, true),
        Victim = victim(Cpp),
        Ref = monitor(process, Victim),
        link(Victim),
        Pid = spawn(fun() -> receive stop -> ok end end),
        Watch = drive(Cpp, {monitor, Pid}),
        {ok, Pool} = drive(Cpp, {spawn_pool, lost_pool}),
        PoolByPid = monitor(process, Pool),
        PoolByName = monitor(process, {lost_pool, Cpp}),
        link(Pool),
        {ok, 2} = gen_server:call(Pool, {count, <<"a b">>}, ?PATIENCE),  % behind these
        true = erlang:disconnect_node(Cpp),
        expect({'DOWN', Ref, process, Victim, noconnection}),
        expect({'EXIT', Victim, noconnection}),
        expect({'DOWN', PoolByPid, process, Pool, noconnection}),
        expect({'DOWN', PoolByName, process, {lost_pool, Cpp}, noconnection}),
        expect({'EXIT', Pool, noconnection}),
        silence(),
        [{down, Watch, Pid, noconnection}] = seen(Cpp),
        pong = net_adm:ping(Cpp),
        %% The link has ended the pool there, too.
        Gone = monitor(process, {lost_pool, Cpp}),
        receive {'DOWN', Gone, process, {lost_pool, Cpp}, Reason} ->
            true = lists:member(Reason, [noproc, noconnection])
        after ?PATIENCE -> error(lost_pool_lives) end end},
    {a_killed_node_is_noticed, fun(Cpp) ->
        monitor_node(Cpp, true),
        Victim = victim(Cpp),
        Ref = monitor(process, Victim),
        {ok, Scope} = pg:start(pg),
        [ok = group(Cpp, join, killed, Victim) || _ <- [1, 2]],
        eventually(fun() -> pg:get_members(killed) == [Victim, Victim] end),
        {Group, _} = pg:monitor(killed),
        {ok, OsPid} = drive(Cpp, os_pid),
        os:cmd("kill -9 " ++ integer_to_list(OsPid)),
        expect({'DOWN', Ref, process, Victim, noconnection}),
        expect({nodedown, Cpp}),
        expect({Group, leave, killed, [Victim, Victim]}),
        [] = pg:which_groups(),
        gen_server:stop(Scope),
        {{nodedown, Cpp}, _} = catch_exit(fun() -> gen_server:call({words, Cpp}, x, infinity) end),
        pang = net_adm:ping(Cpp) end}].

%% What the driver is asked about groups.
group(Cpp, Verb, Group) -> drive(Cpp, {group, Verb, Group}).
group(Cpp, Verb, Group, Argument) -> drive(Cpp, {group, Verb, Group, Argument}).
%% While the default scope of pg runs here.
with_pg(Do) ->
    {ok, Scope} = pg:start(pg),
    try Do() after gen_server:stop(Scope) end.
member() -> spawn(fun() -> receive never -> ok end end).
relay(To) -> receive Any -> To ! {got, self(), Any}, relay(To) end.
flush() -> receive _ -> flush() after 0 -> ok end.
eventually(Holds) -> eventually(Holds, ?PATIENCE div 10).
eventually(Holds, 0) -> error({never, Holds});
eventually(Holds, N) ->
    case Holds() of
        true -> ok;
        _ -> timer:sleep(10), eventually(Holds, N - 1)
    end.
collect_events(_, 0) -> [];
collect_events(Cpp, Left) ->
    Some = seen(Cpp),
    Some ++ collect_events(Cpp, Left - length(Some)).
collect(_, 0, Seen) -> lists:append(lists:reverse(Seen));
collect(Cpp, Left, Seen) ->
    Some = [N || {message, _, {n, N}} <- seen(Cpp)],
    collect(Cpp, Left - length(Some), [Some | Seen]).
%% It has ended, or does so now.
expect_down(Ref, Pid) ->
    receive {'DOWN', Ref, process, Pid, Reason} -> true = lists:member(Reason, [killed, noproc]) after ?PATIENCE -> error({lives, Pid}) end.
catch_error(Fun) -> try Fun() of Value -> error({no_error, Value}) catch error:Reason -> {error, Reason} end.
catch_exit(Fun) -> try Fun() of Value -> error({no_exit, Value}) catch exit:Reason -> Reason end.

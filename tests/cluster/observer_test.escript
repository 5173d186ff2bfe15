#!/usr/bin/env escript
%% -*- erlang -*-
%% Erlang's own tools and the example erlang_pool, which is observable: what they ask and show.
%% usage: observer_test.sh PROGRAM

%% No case waits longer for anything, in milliseconds.
-define(PATIENCE, 60000).

main([Program]) ->
    Id = os:getpid(),
    {ok, _} = start_distribution(list_to_atom("erl" ++ Id ++ "@127.0.0.1"), 100),
    erlang:set_cookie(node(), secret),
    Cpp = list_to_atom("cpp" ++ Id ++ "@127.0.0.1"),
    Port = open_port({spawn_executable, Program},
                     [{args, [atom_to_list(Cpp)]}, {env, [{"RELEASE_COOKIE", "secret"}]}, exit_status]),
    connect(Cpp, ?PATIENCE div 20),
    [{ok, 2} = gen_server:call({words, Cpp}, {count, <<"two words">>}) || _ <- lists:seq(1, 40)],
    Failed = lists:sum([run(C, Cpp) || C <- etop_cases() ++ cases()]),
    try port_close(Port) catch error:badarg -> ended end,
    io:format("~b failed~n", [Failed]),
    halt(min(Failed, 1)).

start_distribution(Name, Attempts) ->
    case net_kernel:start([Name, longnames]) of
        {ok, _} = Started -> Started;
        {error, _} when Attempts > 0 -> timer:sleep(50), start_distribution(Name, Attempts - 1)
    end.

connect(Cpp, Attempts) when Attempts > 0 ->
    %% Its pool is there a moment after the node.
    case net_adm:ping(Cpp) == pong andalso rpc:call(Cpp, erlang, whereis, [words]) of
        Pid when is_pid(Pid) -> ok;
        _ -> timer:sleep(20), connect(Cpp, Attempts - 1)
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

etop_cases() -> [
    {etop_shows_the_workers_of_the_pool, fun(Cpp) ->
        Screen = etop(Cpp, off, fun(Text) -> count(Text, "'Worker':init/1") + count(Text, "Worker:init/1") >= 4 end),
        io:format("~ts~n", [Screen]),
        true = count(Screen, "words") >= 1,
        true = count(Screen, atom_to_list(Cpp)) >= 1 end},
    {etop_goes_on, fun(Cpp) ->
        %% The second time it looks at what was since the first.
        etop(Cpp, off, fun(Text) -> count(Text, "Load:") >= 2 end) end},
    {etop_that_traces_has_no_traces_and_goes_on, fun(Cpp) ->
        %% Twice: the port where it waits for them is free again.
        [etop(Cpp, on, fun(Text) -> count(Text, "Load:") >= 2 end) || _ <- [1, 2]] end},
    {no_port_is_left_of_it, fun(Cpp) ->
        eventually(fun() -> gen_tcp:connect("127.0.0.1", etop_port(), []) == {error, econnrefused} end),
        eventually(fun() -> [] == [P || P <- rpc:call(Cpp, erlang, processes, []), relays(Cpp, P)] end) end}
  ].

relays(Cpp, Pid) ->
    case rpc:call(Cpp, erlang, process_info, [Pid, monitors]) of
        {monitors, Monitors} -> lists:any(fun({process, Other}) -> node(Other) == node(); (_) -> false end, Monitors);
        undefined -> false
    end.

%% Below those that the system gives to connections.
etop_port() -> 8000 + list_to_integer(os:getpid()) rem 6000.

cases() -> [
    {the_page_system, fun(Cpp) ->
        Info = rpc:call(Cpp, observer_backend, sys_info, []),
        Number = fun(Key) -> Value = proplists:get_value(Key, Info), true = is_integer(Value), Value end,
        [Number(Key) || Key <- [uptime, run_queue, io_input, io_output, schedulers, logical_processors, total, processes, code]],
        true = Number(process_count) >= 5,
        [{malloc, [{instance, 0, [_ | _]}]}] = proplists:get_value(alloc_info, Info) end},
    {the_page_processes, fun(Cpp) ->
        %% As observer's page does it.
        {module, _} = rpc:call(Cpp, code, ensure_loaded, [observer_backend]),
        true = rpc:call(Cpp, erlang, function_exported, [observer_backend, procs_info, 1]),
        process_flag(trap_exit, true),
        Backend = spawn_link(Cpp, observer_backend, procs_info, [self()]),
        Records = receive {procs_info, Backend, Procs} -> Procs after ?PATIENCE -> error(nothing) end,
        receive {'EXIT', Backend, normal} -> ok after ?PATIENCE -> error(nothing) end,
        true = lists:any(fun(R) -> element(5, R) == words end, Records),
        Workers = [element(2, R) || R <- Records, element(5, R) == {'Worker', init, 1}],
        4 = length(Workers),
        [{reductions, N} = rpc:call(Cpp, erlang, process_info, [W, reductions]) || W <- Workers, N <- [10]] end},
    {the_window_of_a_process, fun(Cpp) ->
        Pid = rpc:call(Cpp, erlang, whereis, [words]),
        {registered_name, words} = rpc:call(Cpp, erlang, process_info, [Pid, registered_name]),
        8 = rpc:call(Cpp, erlang, system_info, [wordsize]),
        Items = [binary, catchlevel, current_function, error_handler, garbage_collection, group_leader, heap_size, initial_call,
                 last_calls, links, memory, message_queue_len, monitored_by, monitors, priority, reductions, registered_name,
                 sequential_trace_token, stack_size, status, suspending, total_heap_size, trace, trap_exit],
        Info = rpc:call(Cpp, erlang, process_info, [Pid, Items]),
        Items = [Key || {Key, _} <- Info],
        true = length(proplists:get_value(links, Info)) >= 4,
        [{Key, _} = rpc:call(Cpp, erlang, process_info, [Pid, Key]) || Key <- [messages, dictionary, current_stacktrace]] end},
    {the_page_state_of_that_window, fun(Cpp) ->
        Pid = rpc:call(Cpp, erlang, whereis, [words]),
        {M, init, 1} = rpc:call(Cpp, proc_lib, translate_initial_call, [Pid]),
        false = lists:keyfind(behaviour, 1, rpc:call(Cpp, M, module_info, [attributes])),
        {status, Pid, {module, M}, [_, running, _, [], [{header, _}, {data, Data}, {data, [{"State", State}]}]]} =
            rpc:call(Cpp, sys, get_status, [Pid, ?PATIENCE]),
        {_, <<"Words">>} = {ok, lists:last(binary:split(proplists:get_value("Behaviour", Data), <<"::">>, [global]))},
        <<"4">> = maps:get(<<"pool_size">>, State),
        State = rpc:call(Cpp, sys, get_state, [words]) end},
    {the_page_applications, fun(Cpp) ->
        {ok, Pid} = appmon_info:start_link(Cpp, self(), []),
        Ref = monitor(process, Pid),
        [Alive, _] = string:split(atom_to_list(Cpp), "@"),
        Name = list_to_atom(Alive),
        appmon_info:app_ctrl(Pid, Cpp, true, []),
        receive {delivery, Pid, app_ctrl, Cpp, [{_, Name, {Name, _, _}}]} -> ok after ?PATIENCE -> error(nothing) end,
        appmon_info:app(Pid, Name, true, []),
        {Root, Boxes, Links, []} = receive {delivery, Pid, app, Name, Tree} -> Tree after ?PATIENCE -> error(nothing) end,
        true = length(Boxes) >= 6,
        Root = proplists:get_value("words", [{Child, Parent} || {Parent, Child} <- Links]),
        4 = length(proplists:get_all_values("words", Links)),
        appmon_info:app_ctrl(Pid, Cpp, false, []),
        receive {'DOWN', Ref, process, Pid, normal} -> ok after ?PATIENCE -> error(goes_on) end end},
    {what_the_log_page_asks, fun(Cpp) ->
        [] = rpc:block_call(Cpp, application, which_applications, []),
        {badrpc, _} = rpc:block_call(Cpp, os, cmd, ["true"]) end},
    {sys_of_a_process, fun(Cpp) ->
        {ok, Statistics} = sys:statistics({words, Cpp}, get),
        [true = is_integer(proplists:get_value(Key, Statistics)) || Key <- [reductions, messages_in, messages_out]],
        ok = sys:suspend({words, Cpp}),
        Pid = rpc:call(Cpp, erlang, whereis, [words]),
        {status, suspended} = rpc:call(Cpp, erlang, process_info, [Pid, status]),
        ok = sys:resume({words, Cpp}),
        {status, waiting} = rpc:call(Cpp, erlang, process_info, [Pid, status]) end},
    {what_is_not_there_is_refused, fun(Cpp) ->
        [{badrpc, notsup} = rpc:call(Cpp, M, F, A) || {M, F, A} <- [{os, cmd, ["true"]}, {erlang, halt, []}, {dbg, p, [all]},
            {erlang, garbage_collect, [self()]}, {observer_backend, ttb_init_node, [a, b, c]}, {erlang, process_info, []}]],
        {badrpc, {'EXIT', {badarg, _}}} = rpc:call(Cpp, erlang, process_info, [self(), links]) end},
    {each_function_of_observer_backend_answers_or_refuses, fun(Cpp) ->
        Exports = observer_backend:module_info(exports) -- [{module_info, 0}, {module_info, 1}],
        true = length(Exports) >= 10,
        Answered = lists:sort([F || F <- Exports, is_answered(Cpp, F)]),
        io:format("answered: ~p~nrefused: ~p~n", [Answered, lists:sort(Exports) -- Answered]),
        [] = [{etop_collect, 1}, {fetch_stats, 2}, {get_port_list, 0}, {get_socket_list, 0}, {get_table_list, 2},
              {procs_info, 1}, {socket_info, 0}, {sys_info, 0}, {vsn, 0}] -- Answered end}
  ].

%% Whether it is answered; else it is refused in each way that tools have to call it. Neither takes long.
is_answered(Cpp, {Name, Arity}) ->
    Exported = rpc:call(Cpp, erlang, function_exported, [observer_backend, Name, Arity]),
    case Exported of
        true ->
            Self = self(),
            %% It sends what it has to say, or returns that.
            {Pid, Ref} = spawn_monitor(fun() ->
                Answer = rpc:call(Cpp, observer_backend, Name, arguments(Name, Self), ?PATIENCE),
                exit({answer, Answer}) end),
            Answer = receive
                {stats, 1, Workers, {{input, _}, {output, _}}, _} when is_list(Workers), Name == fetch_stats -> exit(Pid, kill), told;
                {'DOWN', Ref, process, Pid, {answer, Value}} -> Value
            after ?PATIENCE -> error({no_answer, Name}) end,
            demonitor(Ref, [flush]),
            not_refused = case Answer of {badrpc, _} -> {Name, Answer}; _ -> not_refused end,
            true;
        false ->
            Arguments = lists:duplicate(Arity, self()),
            {badrpc, notsup} = rpc:call(Cpp, observer_backend, Name, Arguments, ?PATIENCE),
            notsup = try erpc:call(Cpp, observer_backend, Name, Arguments, ?PATIENCE) catch error:{exception, Why, _} -> Why;
                         error:{erpc, Why} -> Why end,
            notsup = try spawn_monitor(Cpp, observer_backend, Name, Arguments) of
                {Pid, Ref} -> receive {'DOWN', Ref, process, Pid, Reason} -> Reason after ?PATIENCE -> {no_end, Name} end
            catch error:Reason -> Reason end,
            process_flag(trap_exit, true),
            notsup = try spawn_link(Cpp, observer_backend, Name, Arguments) of
                Linked -> receive {'EXIT', Linked, Reason2} -> Reason2 after ?PATIENCE -> {no_end, Name} end
            catch error:Reason2 -> Reason2 end,
            process_flag(trap_exit, false),
            false
    end.

arguments(get_table_list, _) -> [ets, []];
arguments(fetch_stats, Tool) -> [Tool, 10];
arguments(Name, Tool) when Name == etop_collect; Name == procs_info -> [Tool];
arguments(_, _) -> [].

eventually(Condition) -> eventually(Condition, ?PATIENCE div 20).
eventually(Condition, Attempts) when Attempts > 0 ->
    case Condition() of
        true -> ok;
        false -> timer:sleep(20), eventually(Condition, Attempts - 1)
    end.

%% What etop writes in text mode, once `Enough` of it is there.
etop(Cpp, Tracing, Enough) ->
    Self = self(),
    Screen = spawn_link(fun() -> screen(Self, [], Enough) end),
    {Top, Ref} = spawn_monitor(fun() ->
        group_leader(Screen, self()),
        etop:start([{node, Cpp}, {output, text}, {tracing, Tracing}, {port, etop_port()}, {interval, 1}, {lines, 50}]) end),
    Text = receive
        {Screen, Seen} -> Seen;
        {'DOWN', Ref, process, Top, Why} -> error({etop, Why})
    after ?PATIENCE -> error(nothing)
    end,
    etop:stop(),
    receive {'DOWN', Ref, process, Top, _} -> Text after ?PATIENCE -> error(etop_goes_on) end.

%% A group leader that keeps what is written.
screen(Parent, Text, Enough) ->
    receive
        {io_request, From, Ref, Request} ->
            {Answer, New} = case Request of
                {put_chars, _, Chars} -> {ok, [Text, Chars]};
                {put_chars, _, M, F, A} -> {ok, [Text, apply(M, F, A)]};
                getopts -> {[{encoding, unicode}], Text};
                _ -> {{error, enotsup}, Text}
            end,
            From ! {io_reply, Ref, Answer},
            Flat = unicode:characters_to_list(New),
            %% Up to the end of a page.
            case lists:suffix("\n\n", Flat) andalso Enough(Flat) of
                true -> Parent ! {self(), Flat};
                false -> ok
            end,
            screen(Parent, Flat, Enough)
    end.

count(Text, What) -> length(string:split(Text, What, all)) - 1.

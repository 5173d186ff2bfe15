#!/usr/bin/env escript
%% -*- erlang -*-
%% A node of Erlang beside those of node.h: reads the same lines, says the same words, writes the same ledger.
%% usage: erlang_node.escript NAME INCARNATION LEDGER EPMD_PORT TICK_MS SEED SLOWNESS PEER...

-mode(compile).

main([Name, Incarnation, Path, _EpmdPort, TickMs, Seed, Slowness | Peers]) ->
    ok = start_distribution(list_to_atom(Name ++ "@127.0.0.1"), list_to_integer(TickMs) div 1000),
    erlang:set_cookie(node(), secret),
    {ok, Ledger} = file:open(Path, [append, raw, binary]),
    persistent_term:put(slowness, list_to_integer(Slowness)),
    %% Whether the load ends, senders and callers, those who watch.
    persistent_term:put(stage, counters:new(3, [])),
    %% A raw file belongs to one process: everybody who notes something waits until it is written.
    register(ledger, self()),
    {ok, _} = pg:start_link(),
    [start_receiver(R) || R <- [tight, pool, sink]],
    spawn_link(fun() -> commands(Name ++ Incarnation, list_to_integer(Seed), Peers) end),
    io:format("ready~n"),
    write(Ledger).

%% The name may be that of a node that was killed a moment ago.
start_distribution(Node, Ticktime) ->
    case net_kernel:start(Node, #{name_domain => longnames, net_ticktime => Ticktime}) of
        {ok, _} -> Ticktime = net_kernel:get_net_ticktime(), ok;
        {error, _} -> timer:sleep(20), start_distribution(Node, Ticktime)
    end.

write(Ledger) ->
    receive
        {note, From, Ref, Line} ->
            ok = file:write(Ledger, [Line, $\n]),
            From ! Ref,
            write(Ledger)
    end.

note(Format, Words) ->
    Ref = make_ref(),
    ledger ! {note, self(), Ref, io_lib:format(Format, Words)},
    receive Ref -> ok end.

%% ---- commands

commands(Me, Seed, Peers) ->
    case io:get_line("") of
        "begin\n" -> [start_load(Me, Seed, P) || P <- Peers];
        "disconnect " ++ Rest -> erlang:disconnect_node(node_of(string:trim(Rest)));
        "heal\n" -> heal(Peers), io:format("healed~n");
        "finish\n" -> finish();
        "end\n" -> finish_ledger(), halt(0);
        eof -> halt(3)
    end,
    commands(Me, Seed, Peers).

node_of(Peer) -> list_to_atom(Peer ++ "@127.0.0.1").

heal(Peers) ->
    [until(fun() -> net_adm:ping(node_of(P)) == pong end) || P <- Peers],
    until(fun() -> length(pg:get_members(chaos)) == length(Peers) + 1 end).

until(Condition) ->
    case Condition() of
        true -> ok;
        false -> timer:sleep(10), until(Condition)
    end.

finish() ->
    Stage = persistent_term:get(stage),
    counters:put(Stage, 1, 1),
    until(fun() -> counters:get(Stage, 2) == 0 end),
    io:format("idle~n"),
    until(fun() -> counters:get(Stage, 3) == 0 end),
    io:format("finished~n").

%% What waits is handled first, as in a node of Ergon that stops.
finish_ledger() ->
    until(fun() -> lists:sum([element(2, process_info(whereis(R), message_queue_len)) || R <- [sink, pool, tight]]) == 0 end),
    note("balance 0 0 0", []),
    note("end", []).

stopping() -> counters:get(persistent_term:get(stage), 1) == 1.

pause(Least, Most) ->
    timer:sleep((Least + rand:uniform(Most - Least + 1) - 1) * persistent_term:get(slowness)).

%% ---- receivers

start_receiver(Name) ->
    Self = self(),
    spawn_link(fun() ->
        register(Name, self()),
        process_flag(trap_exit, true),
        Name == sink andalso pg:join(chaos, self()),
        Self ! {started, Name},
        receiver(#{})
    end),
    receive {started, Name} -> ok end.

%% As a gen_server would answer; sessions by the reference of their monitors.
receiver(Sessions) ->
    receive
        {note, Session, Number, _} when is_binary(Session) ->
            note("got ~s ~b", [Session, Number]),
            receiver(case Sessions of
                #{Session := {Ref, _}} -> Sessions#{Session := {Ref, Number}};
                #{} -> Sessions
            end);
        {'$gen_call', {From, _} = Caller, {open, Session}} ->
            note("opened ~s", [Session]),
            gen:reply(Caller, self()),
            receiver(Sessions#{Session => {monitor(process, From), 0}});
        {'$gen_call', Caller, {close, Session}} ->
            {Last, Left} = case maps:take(Session, Sessions) of
                {{Ref, Number}, Others} ->
                    demonitor(Ref, [flush]),
                    note("ended ~s", [Session]),
                    {Number, Others};
                error -> {0, Sessions}
            end,
            gen:reply(Caller, Last),
            receiver(Left);
        {'$gen_call', Caller, {ask, Who, Number}} ->
            note("asked ~s ~b", [Who, Number]),
            gen:reply(Caller, Number),
            receiver(Sessions);
        {'$gen_call', Caller, who} ->
            gen:reply(Caller, self()),
            receiver(Sessions);
        {'DOWN', Ref, process, _, _} ->
            Lost = [S || {S, {R, _}} <- maps:to_list(Sessions), R == Ref],
            [note("lost ~s", [S]) || S <- Lost],
            receiver(maps:without(Lost, Sessions));
        {'EXIT', _, _} -> receiver(Sessions)
    end.

%% ---- load

start_load(Me, Seed, Peer) ->
    start(2, Seed + 1, fun() -> sender(Me ++ ".s" ++ Peer, Peer, 1) end),
    start(2, Seed + 2, fun() -> sender(Me ++ ".r" ++ Peer, Peer, 1) end),
    start(2, Seed + 3, fun() -> caller(Me ++ ".c" ++ Peer, Peer, 1) end),
    start(2, Seed + 4, fun() -> caller(Me ++ ".d" ++ Peer, Peer, 1) end),
    start(3, Seed + 5, fun() -> watcher(Me ++ ".w" ++ Peer, Peer, 1) end).

start(Counter, Seed, Fun) ->
    Stage = persistent_term:get(stage),
    counters:add(Stage, Counter, 1),
    spawn_link(fun() ->
        rand:seed(exsss, Seed),
        process_flag(trap_exit, true),
        Fun(),
        counters:sub(Stage, Counter, 1)
    end).

%% As Sender in load.cc.
sender(Name, Peer, N) ->
    case stopping() of
        true -> ok;
        false -> session(io_lib:format("~s/~b", [Name, N]), Peer), pause(1, 5), sender(Name, Peer, N + 1)
    end.

session(Text, Peer) ->
    Session = iolist_to_binary(Text),
    To = {sink, node_of(Peer)},
    note("session ~s ~s ordered", [Session, Peer]),
    note("watch ~s ~s", [Session, Peer]),
    Ref = monitor(process, To),
    case call(To, {open, Session}, infinity) of
        {ok, Pid} when is_pid(Pid) ->
            case sends(Session, To, Pid, Ref, 0, rand:uniform(500)) of
                told -> ok;
                0 -> unwatch(Session, Ref);
                Number ->
                    case call(To, {close, Session}, infinity) of
                        {ok, Number} -> note("closed ~s ~b", [Session, Number]), unwatch(Session, Ref);
                        %% The connection was lost. Here that, or an answer on the next one, may come before this news.
                        _ -> receive {'DOWN', Ref, _, _, Reason} -> note("signal ~s ~p", [Session, Reason]) end
                    end
            end;
        _ -> unwatch(Session, Ref)
    end.

%% What has told before is noted.
unwatch(Name, Ref) ->
    receive
        {'DOWN', Ref, _, _, Reason} -> note("signal ~s ~p", [Name, Reason])
    after 0 ->
        demonitor(Ref, [flush]),
        note("unwatch ~s", [Name])
    end.

sends(Session, To, Pid, Ref, Number, Length) ->
    case Number < Length andalso not stopping() of
        false -> Number;
        true ->
            case burst(Session, To, Pid, Ref, Number, rand:uniform(8) - 1) of
                told -> told;
                More -> pause(2, 8), sends(Session, To, Pid, Ref, More, Length)
            end
    end.

burst(_, _, _, _, Number, 0) -> Number;
burst(Session, To, Pid, Ref, Number, Left) ->
    receive
        {'DOWN', Ref, _, _, Reason} -> note("signal ~s ~p", [Session, Reason]), told
    after 0 ->
        Padding = case rand:uniform(10) of 1 -> binary:copy(<<"x">>, 4096 + rand:uniform(40000)); _ -> <<>> end,
        case rand:uniform(2) of 1 -> Pid; 2 -> To end ! {note, Session, Number + 1, Padding},
        note("sent ~s ~b plain", [Session, Number + 1]),
        burst(Session, To, Pid, Ref, Number + 1, Left - 1)
    end.

call(To, Request, Timeout) ->
    try gen_server:call(To, Request, Timeout) of
        {error, no_connection} -> {error, noconnection};
        {error, Reason} -> {error, Reason};
        Answer -> {ok, Answer}
    catch
        exit:{{nodedown, _}, _} -> {error, noconnection};
        exit:{noconnection, _} -> {error, noconnection};
        exit:{noproc, _} -> {error, unknown};
        exit:{timeout, _} -> {error, timeout};
        exit:{Reason, _} -> {error, Reason}
    end.

caller(Name, Peer, N) ->
    case stopping() of
        true -> ok;
        false ->
            Hasty = rand:uniform(8) == 1,
            {Word, Timeout} = case Hasty of true -> {"hasty", rand:uniform(20)}; false -> {"patient", infinity} end,
            note("call ~s ~b ~s ~s", [Name, N, Peer, Word]),
            Server = case rand:uniform(2) of 1 -> pool; 2 -> sink end,
            case call({Server, node_of(Peer)}, {ask, list_to_binary(Name), N}, Timeout) of
                {ok, Answer} -> note("answer ~s ~b ~w", [Name, N, Answer]);
                {error, Why} -> note("error ~s ~b ~w", [Name, N, Why])
            end,
            pause(0, 4),
            caller(Name, Peer, N + 1)
    end.

%% As Watcher in load.cc.
watcher(Name, Peer, N) ->
    case stopping() of
        true -> ok;
        false ->
            case call({sink, node_of(Peer)}, who, infinity) of
                {ok, Pid} when is_pid(Pid) -> watch(Name, Peer, Pid, N);
                _ -> ok
            end,
            pause(1, 10),
            watcher(Name, Peer, N + 1)
    end.

watch(Name, Peer, Pid, N) ->
    Names = [iolist_to_binary(io_lib:format("~s:~s~b", [Name, Kind, N])) || Kind <- ["m", "n", "o"]],
    Link = iolist_to_binary(io_lib:format("~s:l~b", [Name, N])),
    Targets = [Pid, Pid, {sink, node_of(Peer)}],
    Refs = [begin note("watch ~s ~s", [W, Peer]), {monitor(process, To), W} end || {W, To} <- lists:zip(Names, Targets)],
    note("watch ~s ~s", [Link, Peer]),
    link(Pid),
    case rand:uniform(3) of
        1 -> wait_for_all(Refs, Pid, Link);
        _ ->
            pause(0, 40),
            [unwatch(W, Ref) || {Ref, W} <- Refs],
            unlink(Pid),
            receive
                {'EXIT', Pid, Reason} -> note("signal ~s ~p", [Link, Reason])
            after 0 -> note("unwatch ~s", [Link])
            end
    end.

wait_for_all([], _, none) -> ok;
wait_for_all(Refs, Pid, Link) ->
    receive
        {'DOWN', Ref, process, _, Reason} ->
            {value, {Ref, W}, Left} = lists:keytake(Ref, 1, Refs),
            note("signal ~s ~p", [W, Reason]),
            wait_for_all(Left, Pid, Link);
        {'EXIT', Pid, Reason} when Link /= none ->
            note("signal ~s ~p", [Link, Reason]),
            wait_for_all(Refs, Pid, none)
    end.

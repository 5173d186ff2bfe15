#!/usr/bin/env escript
%% -*- erlang -*-
%% What an Erlang system and a C++ pool say to each other.   usage: dialogue.sh PROGRAM
main([Program]) ->
    {ok, _} = start_distribution(100),
    erlang:set_cookie(node(), secret),
    Folder = filename:dirname(escript:script_name()),
    {ok, cpp_pool, Code} = compile:file(filename:join(Folder, "cpp_pool.erl"), [binary]),
    {module, cpp_pool} = code:load_binary(cpp_pool, "cpp_pool.erl", Code),
    {ok, cpp_pool_supervisor, Supervising} = compile:file(filename:join(Folder, "cpp_pool_supervisor.erl"), [binary]),
    {module, _} = code:load_binary(cpp_pool_supervisor, "cpp_pool_supervisor.erl", Supervising),
    logger:set_primary_config(level, none),
    Cpp = list_to_atom("cpp" ++ os:getpid() ++ "@127.0.0.1"),
    {ok, Supervisor} = start_supervisor(cpp_pool:child_spec(#{program => Program, node => Cpp, pool => words})),
    Pool = gen_server:call(cpp_pool, pool),
    say("the pool is ~p", [Pool]),
    say("net_adm:ping(~p) -> ~p", [Cpp, pong = net_adm:ping(Cpp)]),
    ask(Pool, {count, <<"to be or not to be">>}, {ok, 6}),
    ask(Pool, #{customer => <<"Ann">>, items => [#{name => <<"tea">>, price => 250}, #{name => <<"cup">>, price => 750}]}, 1000),
    Dear = #{name => <<"gold">>, price => 9223372036854775807},
    ask(Pool, #{customer => <<"Ann">>, items => [Dear, Dear]}, {error, <<"the sum does not fit">>}),
    ask(Pool, {count, 42}, fun({error, {incorrect, _}}) -> true; (_) -> false end),
    ask(Pool, {what, is, this}, fun({error, {unsupported, _}}) -> true; (_) -> false end),
    %% A worker that crashes: its caller is told, and the pool goes on with another one.
    ask(Pool, crash, fun({error, {terminated, _}}) -> true; (_) -> false end),
    ask(Pool, {count, <<"still here">>}, {ok, 2}),
    %% The program is killed: its supervisor starts another one.
    Server = whereis(cpp_pool),
    Watch = monitor(process, Server),
    {os_pid, OsPid} = gen_server:call(Server, os_pid),
    os:cmd("kill -9 " ++ integer_to_list(OsPid)),
    receive {'DOWN', Watch, process, Server, Reason} -> say("the program is killed: ~p", [Reason]) after 10000 -> error(alive) end,
    await_server(Server, 200),
    ask(gen_server:call(cpp_pool, pool), {count, <<"back again">>}, {ok, 2}),
    exit(Supervisor, shutdown),
    %% A program that does not get as far as its pool.
    Fails = #{program => os:find_executable("false"), node => 'nobody@127.0.0.1', pool => words},
    {error, {program_ended, 1}} = gen_server:start(cpp_pool, Fails, []),
    say("that is all", []),
    halt(0).

ask(Pool, Request, Expected) ->
    Answer = gen_server:call(Pool, Request),
    say("gen_server:call(words, ~p) -> ~p", [Request, Answer]),
    case is_function(Expected) andalso Expected(Answer) orelse Answer =:= Expected of
        true -> ok;
        false -> io:format("expected ~p~n", [Expected]), halt(1)
    end.
say(Format, Values) -> io:format(Format ++ "~n", Values).

%% As in an application: a supervisor with the pool as its child.
start_supervisor(Child) ->
    {ok, Supervisor} = supervisor:start_link(cpp_pool_supervisor, Child),
    unlink(Supervisor),
    {ok, Supervisor}.

await_server(_, 0) -> error(no_server);
await_server(Former, Attempts) ->
    case whereis(cpp_pool) of
        Pid when is_pid(Pid), Pid =/= Former -> gen_server:call(cpp_pool, pool, 20000), ok;
        _ -> timer:sleep(50), await_server(Former, Attempts - 1)
    end.

start_distribution(Attempts) ->
    case net_kernel:start([list_to_atom("erl" ++ os:getpid() ++ "@127.0.0.1"), longnames]) of
        {ok, _} = Started -> Started;
        {error, _} when Attempts > 0 -> timer:sleep(50), start_distribution(Attempts - 1)
    end.

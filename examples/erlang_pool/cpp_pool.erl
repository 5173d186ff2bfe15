%% The C++ program as a child of an Erlang supervisor: started with its node, watched, and started anew when it dies.
-module(cpp_pool).
-behaviour(gen_server).
-export([child_spec/1, start_link/1, init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

%% #{program => "/path/to/erlang_pool", node => 'cpp@127.0.0.1', pool => words}
child_spec(Options) ->
    #{id => ?MODULE, start => {?MODULE, start_link, [Options]}, restart => permanent, shutdown => 10000}.

start_link(Options) -> gen_server:start_link({local, ?MODULE}, ?MODULE, Options, []).

init(#{program := Program, node := Node, pool := Pool}) ->
    process_flag(trap_exit, true),
    Port = open_port({spawn_executable, Program},
                     [{args, [atom_to_list(Node)]},
                      {env, [{"RELEASE_COOKIE", atom_to_list(erlang:get_cookie())}]},
                      exit_status, {line, 1000}]),
    case await_pool(Port, {Pool, Node}, 100) of
        ok -> {ok, #{port => Port, pool => {Pool, Node}, monitor => monitor(process, {Pool, Node})}};
        {error, Reason} -> {stop, Reason}
    end.

%% The pool of the program that runs, and the program's process of the operating system.
handle_call(pool, _From, State = #{pool := Pool}) -> {reply, Pool, State};
handle_call(os_pid, _From, State = #{port := Port}) -> {reply, erlang:port_info(Port, os_pid), State}.
handle_cast(_, State) -> {noreply, State}.

handle_info({Port, {data, {_, Line}}}, State = #{port := Port}) ->
    io:format("~s~n", [Line]),
    {noreply, State};
handle_info({Port, {exit_status, Status}}, State = #{port := Port}) -> {stop, {program_ended, Status}, State};
handle_info({'DOWN', Monitor, process, _, Reason}, State = #{monitor := Monitor}) ->
    await_end(State),
    {stop, {pool_ended, Reason}, State};
handle_info(_, State) -> {noreply, State}.

%% The program ends when its standard input is closed.
terminate(_Reason, #{port := Port}) -> try port_close(Port), ok catch error:badarg -> ok end.

%% The next program needs the name that this one has until it has handled its last requests.
await_end(#{port := Port}) ->
    case erlang:port_info(Port, os_pid) of
        {os_pid, Program} ->
            os:cmd("kill -TERM " ++ integer_to_list(Program)),
            receive {Port, {exit_status, _}} -> ok after 9000 -> ok end;
        undefined -> ok
    end.

await_pool(Port, Pool, Attempts) ->
    Monitor = monitor(process, Pool),
    receive {'DOWN', Monitor, process, _, _} when Attempts > 0 -> await_next(Port, Pool, Attempts - 1);
            {'DOWN', Monitor, process, _, Reason} -> {error, Reason};
            {Port, {exit_status, Status}} -> demonitor(Monitor, [flush]), {error, {program_ended, Status}}
    after 200 -> demonitor(Monitor, [flush]), ok
    end.

await_next(Port, Pool, Attempts) ->
    receive {Port, {exit_status, Status}} -> {error, {program_ended, Status}}
    after 50 -> await_pool(Port, Pool, Attempts)
    end.

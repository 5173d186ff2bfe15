#!/usr/bin/env escript
%% -*- erlang -*-
%%! -smp enable
%% observer and the example erlang_pool, page by page.   usage: observer_pictures.sh PROGRAM FOLDER

main([Program, Folder]) ->
    Id = os:getpid(),
    {ok, _} = net_kernel:start([list_to_atom("erl" ++ Id ++ "@127.0.0.1"), longnames]),
    erlang:set_cookie(node(), secret),
    Cpp = list_to_atom("cpp" ++ Id ++ "@127.0.0.1"),
    _ = open_port({spawn_executable, Program},
                  [{args, [atom_to_list(Cpp)]}, {env, [{"RELEASE_COOKIE", "secret"}]}]),
    connect(Cpp, 500),
    [{ok, 2} = gen_server:call({words, Cpp}, {count, <<"two words">>}) || _ <- lists:seq(1, 40)],
    ok = observer:start(),
    Observer = monitor(process, observer),
    select_node(Cpp),
    {Env, Notebook} = notebook(),
    wx:set_env(Env),
    Pages = wxNotebook:getPageCount(Notebook),
    [page(Notebook, Folder, N) || N <- lists:seq(0, Pages - 1)],
    %% The window of a process.
    observer ! {open_link, pid_to_list(rpc:call(Cpp, erlang, whereis, [words]))},
    picture(Folder, "process"),
    receive {'DOWN', Observer, _, _, Why} -> io:format("observer has ended: ~p~n", [Why]), halt(1) after 0 -> ok end,
    io:format("~b pages, and observer goes on~n", [Pages]),
    halt(0).

connect(Cpp, Attempts) when Attempts > 0 ->
    case net_adm:ping(Cpp) == pong andalso rpc:call(Cpp, erlang, whereis, [words]) of
        Pid when is_pid(Pid) -> ok;
        _ -> timer:sleep(20), connect(Cpp, Attempts - 1)
    end.

%% As the menu "Nodes" does it: its entries are numbered in the order of the nodes' names.
select_node(Cpp) ->
    {ok, Names} = net_adm:names(),
    Nodes = lists:usort([node() | nodes(connected)] ++ [list_to_atom(N ++ "@127.0.0.1") || {N, _} <- Names]),
    Index = length(lists:takewhile(fun(N) -> N /= Cpp end, Nodes)) + 1,
    observer ! {wx, 1000 + Index, undefined, [], {wxCommand, command_menu_selected, [], 0, 0}},
    timer:sleep(1000).

notebook() ->
    observer ! {get_debug_info, self()},
    receive {observer_debug, Env, Notebook, _} -> {Env, Notebook} end.

page(Notebook, Folder, N) ->
    Name = wxNotebook:getPageText(Notebook, N),
    wxNotebook:setSelection(Notebook, N),
    picture(Folder, integer_to_list(N + 1) ++ "_" ++ lists:flatten(string:replace(Name, " ", "_", all))).

picture(Folder, Name) ->
    timer:sleep(4000),
    os:cmd("import -window root '" ++ Folder ++ "/" ++ Name ++ ".png'").

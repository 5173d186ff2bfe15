#!/usr/bin/env escript
%% -*- erlang -*-
%% The Erlang side of scripts/bench --network: what nodes.h says, for an Erlang node.
%% usage: network.escript serve NAME | call NAME PEER COUNT | stream NAME PEER COUNT
%% The cookie is in the environment's RELEASE_COOKIE.
-module(network).
-behaviour(gen_server).
-export([init/1, handle_call/3, handle_cast/2]).
-mode(compile).

main(["serve", Name]) ->
    start(Name),
    {ok, _} = gen_server:start({local, echo}, ?MODULE, [], []),
    register(counter, spawn(fun() -> count(0) end)),
    io:format("ready~n"),
    eof = io:get_line(""),
    halt(0);
main(["call", Name, Peer, Count]) ->
    start(Name),
    Echo = gen_server:call({echo, list_to_atom(Peer)}, self),
    measure(fun(N) -> call(Echo, payload(), N) end, list_to_integer(Count));
main(["stream", Name, Peer, Count]) ->
    start(Name),
    Counter = gen_server:call({counter, list_to_atom(Peer)}, self),
    measure(fun(N) ->
        send(Counter, payload(), N),
        N = gen_server:call(Counter, count, infinity)
    end, list_to_integer(Count)).

start(Name) ->
    {ok, _} = net_kernel:start([list_to_atom(Name), longnames]),
    erlang:set_cookie(node(), list_to_atom(os:getenv("RELEASE_COOKIE"))).

payload() -> binary:copy(<<"x">>, 16).

measure(Run, Count) ->
    Run(Count div 10),
    Start = erlang:monotonic_time(nanosecond),
    Run(Count),
    io:format("~.1f~n", [(erlang:monotonic_time(nanosecond) - Start) / Count]),
    halt(0).

call(_, _, 0) -> ok;
call(Echo, Payload, N) ->
    Payload = gen_server:call(Echo, Payload),
    call(Echo, Payload, N - 1).

send(_, _, 0) -> ok;
send(Counter, Payload, N) ->
    Counter ! Payload,
    send(Counter, Payload, N - 1).

%% A plain loop, for a gen_server takes longer for a message.
count(N) ->
    receive
        Binary when is_binary(Binary) -> count(N + 1);
        {'$gen_call', From, count} -> gen_server:reply(From, N), count(0);
        {'$gen_call', From, self} -> gen_server:reply(From, self()), count(N)
    end.

init([]) -> {ok, none}.
handle_call(self, _, State) -> {reply, self(), State};
handle_call(Binary, _, State) when is_binary(Binary) -> {reply, Binary, State}.
handle_cast(_, State) -> {noreply, State}.

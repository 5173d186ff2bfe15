%% A supervisor with one child.
-module(cpp_pool_supervisor).
-behaviour(supervisor).
-export([init/1]).

init(Child) -> {ok, {#{strategy => one_for_one, intensity => 5, period => 10}, [Child]}}.

defmodule Shop.Service do
  @moduledoc """
  The C++ program as a child of a supervisor. `init/1` returns when its pool is there. When the program ends, or its pool
  does, this process ends, and the supervisor starts both again; when this process ends, the program's standard input is
  closed, and the program stops in order.
  """
  use GenServer
  require Logger

  def start_link(options), do: GenServer.start_link(__MODULE__, Map.new(options), name: __MODULE__)
  def child_spec(options), do: %{id: __MODULE__, start: {__MODULE__, :start_link, [options]}, shutdown: 10_000}

  @doc "The process of the operating system."
  def os_pid, do: GenServer.call(__MODULE__, :os_pid)

  @impl true
  def init(%{program: program, node: node, arguments: arguments}) do
    Process.flag(:trap_exit, true)

    port =
      Port.open({:spawn_executable, program}, [
        :binary,
        :exit_status,
        line: 1000,
        args: ["--name", Atom.to_string(node), "--stop-with-input"] ++ arguments,
        env: [{~c"RELEASE_COOKIE", Atom.to_charlist(Node.get_cookie())}]
      ])

    with :ok <- await_line(port), pid when is_pid(pid) <- whereis(node, :prices) do
      {:ok, %{port: port, monitor: Process.monitor(pid)}}
    else
      problem -> {:stop, problem}
    end
  end

  @impl true
  def handle_call(:os_pid, _from, state) do
    {:os_pid, os_pid} = Port.info(state.port, :os_pid)
    {:reply, os_pid, state}
  end

  @impl true
  def handle_info({port, {:data, {_, line}}}, %{port: port} = state) do
    Logger.info("price_service: #{line}")
    {:noreply, state}
  end

  def handle_info({port, {:exit_status, status}}, %{port: port} = state), do: {:stop, {:program_ended, status}, state}

  def handle_info({:DOWN, ref, :process, _, reason}, %{monitor: ref} = state) do
    await_end(state.port)
    {:stop, {:pool_ended, reason}, state}
  end

  def handle_info(_, state), do: {:noreply, state}

  # The next program needs the name that this one has until it has handled its last requests.
  defp await_end(port) do
    with {:os_pid, program} <- Port.info(port, :os_pid) do
      System.cmd("kill", ["-TERM", Integer.to_string(program)], stderr_to_stdout: true)

      receive do
        {^port, {:exit_status, _}} -> :ok
      after
        9_000 -> :ok
      end
    end
  end

  # The program says that it listens when its whole tree is there.
  defp await_line(port) do
    receive do
      {^port, {:data, {:eol, "listening at " <> _}}} -> :ok
      {^port, {:exit_status, status}} -> {:program_ended, status}
    after
      30_000 -> :program_is_slow
    end
  end

  # Asked twice: whoever calls a node while this one connects to it shares the fate of that attempt. The watcher's may have
  # begun before the program listened, and then fails for both. The second call is an attempt of its own.
  defp whereis(node, name) do
    ask = fn -> :rpc.call(node, :erlang, :whereis, [name]) end
    with {:badrpc, :nodedown} <- ask.(), do: ask.()
  end
end

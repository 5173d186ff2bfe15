# An Ergon node in a cluster of Elixir.   usage: elixir_test.sh [--tls] PROGRAM
# PROGRAM is the other node: cluster_node.cc says what runs there. The script tells the folder with the certificates.

defmodule Echo do
  # What the driver calls, and is called through a supervisor's and a registry's names.
  use GenServer
  def start_link(options), do: GenServer.start_link(__MODULE__, nil, options)
  def init(state), do: {:ok, state}
  def handle_call(:who, _from, state), do: {:reply, :elixir, state}
  def handle_call({:hold, milliseconds}, _from, state) do
    Process.sleep(milliseconds)
    {:reply, :late, state}
  end
end

defmodule Dialogue do
  # No case waits longer for anything, in milliseconds.
  @patience 60_000

  def drive(cpp, command), do: GenServer.call({:driver, cpp}, command, :infinity)
  def victim(cpp), do: drive(cpp, :spawn)

  # What the driver got since the last look, once there is something.
  def seen(cpp, tries \\ div(@patience, 10)) do
    case drive(cpp, :seen) do
      [] when tries > 0 ->
        Process.sleep(10)
        seen(cpp, tries - 1)

      seen ->
        seen
    end
  end

  def eventually(condition, tries \\ div(@patience, 10)) do
    cond do
      condition.() -> :ok
      tries == 0 -> raise "not in time"
      true -> Process.sleep(10) && eventually(condition, tries - 1)
    end
  end

  def expect(wanted) do
    receive do
      ^wanted -> :ok
    after
      @patience -> raise "no #{inspect(wanted)}: #{inspect(Process.info(self(), :messages))}"
    end
  end

  def caught_exit(function) do
    function.()
    raise "it has not failed"
  catch
    :exit, reason -> reason
  end

  def cases do
    [
      ping: fn cpp ->
        # Over TLS, on a machine with too much to do, the first attempt may take longer than Erlang waits.
        eventually(fn -> Node.ping(cpp) == :pong end)
        true = cpp in Node.list(:hidden)
      end,
      call: fn cpp ->
        {:ok, 6} = GenServer.call({:words, cpp}, {:count, "to be or not to be"})
        {:error, {:incorrect, text}} = GenServer.call({:words, cpp}, {:count, 42})
        true = text =~ "count"
        {:error, :mailbox_full} = GenServer.call({:full, cpp}, {:count, "x"})
        {:error, "why"} = GenServer.call({:words, cpp}, {:fail, "why"})
      end,
      values: fn cpp ->
        values = [1, -1.5, nil, true, :"a b", "ünï", ~c"list", %{"b" => [2], a: 1}, {1, {2}}, 1..3, ~D[2024-02-29],
                  MapSet.new([1]), [key: "word"], self(), make_ref(), <<5::3>>]
        for value <- values, do: ^value = drive(cpp, {:echo, value})
      end,
      call_that_fails: fn cpp ->
        {:noproc, _} = caught_exit(fn -> GenServer.call({:nobody, cpp}, :x, :infinity) end)
        {:boom, _} = caught_exit(fn -> GenServer.call(victim(cpp), {:die, :boom}, :infinity) end)
        :ok = :sys.suspend({:driver, cpp})
        {:timeout, _} = caught_exit(fn -> GenServer.call({:driver, cpp}, {:sleep, 1}, 20) end)
        :ok = :sys.resume({:driver, cpp})
        {{:nodedown, :"nobody@127.0.0.1"}, _} =
          caught_exit(fn -> GenServer.call({:words, :"nobody@127.0.0.1"}, :x) end)
      end,
      cast_and_send: fn cpp ->
        me = self()
        :ok = GenServer.cast({:driver, cpp}, {:hello, 1})
        [{:message, _, {:hello, 1}}] = seen(cpp)
        send({:driver, cpp}, {:hello, 2})
        [{:message, ^me, {:hello, 2}}] = seen(cpp)
        :ok = Process.send({:driver, cpp}, {:hello, 3}, [:noconnect])
        [{:message, ^me, {:hello, 3}}] = seen(cpp)
        :abcast = GenServer.abcast([cpp], :driver, {:hello, 4})
        [{:message, _, {:hello, 4}}] = seen(cpp)
      end,
      whereis: fn cpp ->
        driver = drive(cpp, :self)
        ^driver = :rpc.call(cpp, :erlang, :whereis, [:driver])
        :undefined = :rpc.call(cpp, :erlang, :whereis, [:nobody])
        {:ok, kernel} = drive(cpp, {:where_is, :net_kernel, node()})
        ^kernel = Process.whereis(:net_kernel)
      end,
      multi_call: fn cpp ->
        {[{^cpp, {:ok, 1}}], []} = GenServer.multi_call([cpp], :words, {:count, "one"}, @patience)
        {[], [^cpp]} = GenServer.multi_call([cpp], :nobody, :x, @patience)
      end,
      stop: fn cpp ->
        :ok = GenServer.stop(victim(cpp))
        next = victim(cpp)
        ref = Process.monitor(next)
        :ok = GenServer.stop(next, :shutdown, @patience)
        expect({:DOWN, ref, :process, next, :shutdown})
        {:noproc, _} = caught_exit(fn -> GenServer.stop(next) end)
      end,
      monitor: fn cpp ->
        pid = victim(cpp)
        ref = Process.monitor(pid)
        :ok = drive(cpp, {:register, :elixirs_victim, pid})
        named = Process.monitor({:elixirs_victim, cpp})
        send(pid, {:die, :reason})
        expect({:DOWN, ref, :process, pid, :reason})
        expect({:DOWN, named, :process, {:elixirs_victim, cpp}, :reason})
        late = Process.monitor(pid)
        expect({:DOWN, late, :process, pid, :noproc})
        other = victim(cpp)
        true = Process.demonitor(Process.monitor(other), [:flush])
        Process.exit(other, :kill)
      end,
      link: fn cpp ->
        Process.flag(:trap_exit, true)
        pid = victim(cpp)
        Process.link(pid)
        send(pid, {:die, "a text"})
        expect({:EXIT, pid, "a text"})
        other = victim(cpp)
        ref = Process.monitor(other)
        spawn(fn -> Process.link(other) && exit(:crashed) end)
        expect({:DOWN, ref, :process, other, :crashed})
      end,
      erpc: fn cpp ->
        6 = :erpc.call(cpp, :words, :count, ["to be or not to be"])
        [{:ok, 1}] = :erpc.multicall([cpp], :words, :count, ["x"])
        id = :erpc.send_request(cpp, :words, :count, ["a b c"])
        3 = :erpc.receive_response(id, @patience)
        2 = :rpc.call(cpp, :words, :count, ["a b"])
        %ErlangError{original: {:exception, :negative, _}} =
          (try do
             :erpc.call(cpp, :words, :repeat, ["a", -1])
           rescue
             error in ErlangError -> error
           end)
        # What Elixir's own code would run there.
        {:badrpc, :notsup} = :rpc.call(cpp, Kernel, :node, [])
      end,
      tasks: fn cpp ->
        counts = 1..200
                 |> Task.async_stream(fn n -> GenServer.call({:words, cpp}, {:count, String.duplicate("a ", n)}) end,
                      max_concurrency: 20)
                 |> Enum.map(fn {:ok, {:ok, n}} -> n end)
        ^counts = Enum.to_list(1..200)
        task = Task.async(fn -> :erpc.call(cpp, :words, :count, ["a b"]) end)
        2 = Task.await(task)
        :ok = :sys.suspend({:driver, cpp})
        held = Task.async(fn -> GenServer.call({:driver, cpp}, {:sleep, 1}) end)
        nil = Task.yield(held, 1)
        :ok = :sys.resume({:driver, cpp})
        {:ok, :ok} = Task.yield(held, @patience)
        # A task that is given up is waited for no more.
        :ok = :sys.suspend({:driver, cpp})
        nil = Task.shutdown(Task.async(fn -> GenServer.call({:driver, cpp}, {:sleep, 1}) end), :brutal_kill)
        :ok = :sys.resume({:driver, cpp})
        :pong = GenServer.call(victim(cpp), :ping)
      end,
      groups: fn cpp ->
        {:ok, _} = :pg.start_link()
        me = self()
        :ok = :pg.join(:elixirs, me)
        eventually(fn -> drive(cpp, {:group, :members, :elixirs}) == [me] end)
        driver = drive(cpp, :self)
        :ok = drive(cpp, {:group, :join, :elixirs, driver})
        eventually(fn -> driver in :pg.get_members(:elixirs) end)
        2 = drive(cpp, {:group, :send, :elixirs, :to_all})
        expect(:to_all)
        :ok = :pg.leave(:elixirs, me)
        eventually(fn -> drive(cpp, {:group, :members, :elixirs}) == [driver] end)
        :ok = drive(cpp, {:group, :leave, :elixirs, driver})
        eventually(fn -> :pg.get_members(:elixirs) == [] end)
      end,
      names: fn cpp ->
        # A process there found through a registry here, by those who know its key.
        {:ok, _} = Registry.start_link(keys: :duplicate, name: Cpps)
        driver = drive(cpp, :self)
        {:ok, _} = Registry.register(Cpps, :driver, driver)
        [{_, ^driver}] = Registry.lookup(Cpps, :driver)
        _ = drive(cpp, :seen)
        Registry.dispatch(Cpps, :driver, fn entries -> for {_, pid} <- entries, do: send(pid, :dispatched) end)
        me = self()
        [{:message, ^me, :dispatched}] = seen(cpp)
        # Processes here, called from there: by a name, and by a PID that a registry has.
        {:ok, _} = Registry.start_link(keys: :unique, name: Heres)
        children = [{Echo, name: :echo_by_name}]
        {:ok, _} = Supervisor.start_link(children, strategy: :one_for_one)
        {:ok, _} = Echo.start_link(name: {:via, Registry, {Heres, :echo}})
        {:ok, :elixir} = drive(cpp, {:call, {:echo_by_name, node()}, :who, @patience})
        [{here, nil}] = Registry.lookup(Heres, :echo)
        {:ok, :elixir} = drive(cpp, {:call, here, :who, @patience})
        {:error, _} = drive(cpp, {:call, here, {:hold, @patience}, 20})
        # A name that goes and comes back with its supervisor.
        GenServer.stop(:echo_by_name, :shutdown)
        eventually(fn -> drive(cpp, {:call, {:echo_by_name, node()}, :who, @patience}) == {:ok, :elixir} end)
      end,
      remote_spawn: fn cpp ->
        pid = Node.spawn(cpp, :remote, :start, [self(), 1, "two"])
        expect({:started, pid, 1, "two"})
        ref = Process.monitor(pid)
        send(pid, {:die, :normal})
        expect({:DOWN, ref, :process, pid, :normal})
      end
    ]
  end

  def main(["--tls", folder, program]) do
    {:ok, [[~c"inet_tls"]]} = :init.get_argument(:proto_dist)
    {:ok, _} = Application.ensure_all_started(:ssl)
    main(program, ["secret", folder])
  end

  def main([program]), do: main(program, [])

  def main(program, more) do
    name = :"elixir#{System.pid()}@127.0.0.1"
    {:ok, _} = start_distribution(name, 100)
    Node.set_cookie(:secret)
    cpp = :"cpp#{System.pid()}@127.0.0.1"
    port = Port.open({:spawn_executable, program}, [:exit_status, args: [Atom.to_string(cpp) | more], line: 1000])

    receive do
      {^port, {:data, {:eol, ~c"ready"}}} -> :ok
    after
      @patience -> raise "the other node is not ready"
    end

    failed = for {name, test} <- cases(), not passes(name, test, cpp), do: name
    IO.puts("#{length(cases()) - length(failed)} passed, #{length(failed)} failed")
    System.halt(min(length(failed), 1))
  end

  # EPMD may not listen yet.
  defp start_distribution(name, tries) do
    case Node.start(name, :longnames) do
      {:error, _} when tries > 0 ->
        Process.sleep(50)
        start_distribution(name, tries - 1)

      started ->
        started
    end
  end

  defp passes(name, test, cpp) do
    {pid, ref} = spawn_monitor(fn -> test.(cpp) end)

    receive do
      {:DOWN, ^ref, :process, ^pid, :normal} ->
        IO.puts("ok    #{name}")
        true

      {:DOWN, ^ref, :process, ^pid, reason} ->
        IO.puts("FAIL  #{name}: #{inspect(reason)}")
        false
    after
      2 * @patience ->
        IO.puts("FAIL  #{name}: no end after #{2 * @patience} ms: #{inspect(Process.info(pid, :current_stacktrace))}")
        Process.exit(pid, :kill)
        false
    end
  end
end

Dialogue.main(System.argv())

defmodule ShopTest do
  # With the program that the environment's PRICE_SERVICE names, under the supervisor of the application.
  use ExUnit.Case
  alias Shop.{Prices, PriceWatcher, Service}

  defp cpp, do: Application.fetch_env!(:shop, :node)

  defp eventually(condition, tries \\ 1000) do
    cond do
      condition.() -> :ok
      tries == 0 -> flunk("not in time")
      true -> Process.sleep(10) && eventually(condition, tries - 1)
    end
  end

  # Until the node there knows of the group, nobody hears of a price.
  defp await_watched do
    eventually(fn ->
      :ok = Prices.set_price("bread", 300)

      receive do
        {:price_changed, "bread", _, 300} -> true
      after
        20 -> false
      end
    end)
  end

  test "typed requests: maps of fields, nil for what has no value" do
    assert {:ok, %{cents: 1250, saved: nil}} = Prices.offer([%{article: "tea", count: 2}, %{article: "cup", count: 1}])
    assert {:ok, %{cents: 900, saved: 100}} = Prices.offer([%{article: "tea", count: 4}], "TEN_PERCENT")
  end

  test "errors: atoms to tell apart, texts for people, fields that do not fit by their names" do
    assert {:error, :empty_order} = Prices.offer([])
    assert {:error, "jam: no such article"} = Prices.offer([%{article: "jam", count: 1}])
    assert {:error, {:incorrect, text}} = Prices.offer([%{article: "tea", count: "two"}])
    assert text =~ "items[0].count: expected an integer"
    assert {:error, {:unsupported, "request set_price"}} = GenServer.call({:prices, cpp()}, {:set_price, "tea", 1})
  end

  test "a worker that crashes is replaced, its caller is told" do
    assert {:error, {:terminated, text}} = Prices.offer([%{article: "tea", count: 1}], "BUG")
    assert text =~ "a voucher with a bug"
    assert {:ok, %{cents: 250}} = Prices.offer([%{article: "tea", count: 1}])
  end

  test "the pool is scaled, before all orders that wait" do
    assert 8 = Prices.resize(8)
    assert "8" = Prices.state(:prices)["pool_size"]
    assert {:error, {:incorrect, "workers: 0 is outside 1..1000"}} = Prices.resize(0)
    assert 4 = Prices.resize(4)
  end

  test "events: each new price comes to whoever is in the group" do
    :ok = PriceWatcher.subscribe()
    await_watched()
    :ok = Prices.set_price("honey", 650)
    assert_receive {:price_changed, "honey", nil, 650}, 5000
    :ok = Prices.set_price("honey", 700)
    assert_receive {:price_changed, "honey", 650, 700}, 5000
    # The workers know it already.
    for _ <- 1..8, do: assert({:ok, %{cents: 700}} = Prices.offer([%{article: "honey", count: 1}]))
    assert "700" = Prices.state()["honey"]
  end

  test "what Elixir knows of any process" do
    catalog = :rpc.call(cpp(), :erlang, :whereis, [:catalog])
    assert node(catalog) == cpp()
    assert :undefined = :rpc.call(cpp(), :erlang, :whereis, [:nobody])
    assert {:status, ^catalog, {:module, _}, _} = :sys.get_status(catalog)
    assert {:registered_name, :catalog} = :rpc.call(cpp(), :erlang, :process_info, [catalog, :registered_name])
    assert {:noproc, _} = catch_exit(GenServer.call({:nobody, cpp()}, :x))
  end

  test "a program that is killed is started again" do
    :ok = PriceWatcher.subscribe()
    former = Process.whereis(Service)
    ref = Process.monitor(former)
    {_, 0} = System.cmd("kill", ["-9", Integer.to_string(Service.os_pid())])
    assert_receive {:DOWN, ^ref, :process, ^former, reason}, 10_000
    assert reason in [{:program_ended, 137}, {:pool_ended, :noconnection}]
    eventually(fn -> (pid = Process.whereis(Service)) && pid != former && :sys.get_state(pid) != nil end)
    assert {:ok, %{cents: 250}} = Prices.offer([%{article: "tea", count: 1}])
    # The watcher hears of prices again, too.
    await_watched()
  end

  # What systemd has been told and nobody has looked at.
  defp told(systemd) do
    receive do
      {:udp, ^systemd, _, _, text} -> [text | told(systemd)]
    after
      0 -> []
    end
  end

  test "as a unit of systemd: it is ready, it is alive, it stops; meanwhile it is administered" do
    path = Path.join(System.tmp_dir!(), "price_service_#{System.pid()}.socket")
    {:ok, systemd} = :gen_udp.open(0, [:local, :binary, ifaddr: {:local, path}])
    on_exit(fn -> File.rm(path) end)

    env = [{~c"NOTIFY_SOCKET", to_charlist(path)}, {~c"WATCHDOG_USEC", ~c"300000"}, {~c"RELEASE_COOKIE", Atom.to_charlist(Node.get_cookie())}]
    program = System.fetch_env!("PRICE_SERVICE")
    name = "unit_" <> Atom.to_string(cpp())
    # It ends with this test, also when that fails.
    args = ["--name", name, "--stop-with-input"]
    port = Port.open({:spawn_executable, program}, [:binary, :exit_status, line: 1000, env: env, args: args])
    assert_receive {:udp, ^systemd, _, _, "READY=1"}, 30_000
    assert_receive {^port, {:data, {:eol, "listening at 127.0.0.1 port " <> http}}}, 30_000
    assert {200, "ok\n"} = http(:get, http, "/health")
    assert {200, "workers 6\n"} = http(:put, http, "/workers/6")
    assert {400, _} = http(:put, http, "/workers/none")
    assert {400, _} = http(:put, http, "/workers/0")
    assert {404, _} = http(:get, http, "/")
    {200, stats} = http(:get, http, "/stats")
    assert stats =~ "workers 6\n"
    for _ <- 1..3, do: assert_receive({:udp, ^systemd, _, _, "WATCHDOG=1"}, 5000)
    # A catalog that dies takes the pool with it; the unit goes on.
    whereis = &:rpc.call(String.to_atom(name), :erlang, :whereis, [&1])
    {catalog, prices} = {whereis.(:catalog), whereis.(:prices)}
    Process.exit(catalog, :kill)
    eventually(fn -> is_pid(whereis.(:prices)) and whereis.(:prices) != prices end)
    for _ <- 1..2, do: assert_receive({:udp, ^systemd, _, _, "WATCHDOG=1"}, 5000)
    assert "STOPPING=1" not in told(systemd)
    {:os_pid, os_pid} = Port.info(port, :os_pid)
    {_, 0} = System.cmd("kill", ["-TERM", Integer.to_string(os_pid)])
    assert_receive {:udp, ^systemd, _, _, "STOPPING=1"}, 5000
    assert_receive {^port, {:exit_status, 0}}, 10_000
    assert "STOPPING=1" not in told(systemd)
  end

  defp http(method, port, path) do
    url = ~c"http://127.0.0.1:#{port}#{path}"
    request = if method == :put, do: {url, [], ~c"text/plain", ""}, else: {url, []}
    {:ok, {{_, status, _}, _, body}} = :httpc.request(method, request, [], body_format: :binary)
    {status, body}
  end
end

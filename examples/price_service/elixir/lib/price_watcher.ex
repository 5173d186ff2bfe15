defmodule Shop.PriceWatcher do
  @moduledoc """
  Hears of each new price, as a member of a group of `:pg`. An Ergon node tells its groups to all nodes that it is connected
  with, so the watcher sees to it that there is a connection, also after the service was started again.
  """
  use GenServer
  @group :price_watchers
  @look_again 500

  def start_link(options), do: GenServer.start_link(__MODULE__, options, name: __MODULE__)

  @doc """
  The process gets each `{:price_changed, article, before, cents}` from now on, once, until it ends. It does not hear of what
  changes while there is no connection.
  """
  def subscribe(pid \\ self()), do: GenServer.call(__MODULE__, {:subscribe, pid})

  @impl true
  def init(node: node) do
    :ok = :pg.join(@group, self())
    :ok = :net_kernel.monitor_nodes(true, node_type: :all)
    send(self(), :connect)
    {:ok, %{node: node, subscribers: %{}}}
  end

  @impl true
  def handle_call({:subscribe, pid}, _from, state) do
    subscribers = Map.put_new_lazy(state.subscribers, pid, fn -> Process.monitor(pid) end)
    {:reply, :ok, %{state | subscribers: subscribers}}
  end

  @impl true
  def handle_info({:price_changed, _, _, _} = change, state) do
    for {pid, _} <- state.subscribers, do: send(pid, change)
    {:noreply, state}
  end

  def handle_info({:DOWN, _, :process, pid, _}, state) do
    {:noreply, %{state | subscribers: Map.delete(state.subscribers, pid)}}
  end

  def handle_info(:connect, state) do
    unless Node.connect(state.node) == true, do: Process.send_after(self(), :connect, @look_again)
    {:noreply, state}
  end

  def handle_info({:nodedown, node, _}, %{node: node} = state) do
    send(self(), :connect)
    {:noreply, state}
  end

  def handle_info(_, state), do: {:noreply, state}
end

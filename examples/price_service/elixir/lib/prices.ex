defmodule Shop.Prices do
  @moduledoc """
  What the shop asks the C++ node. Its processes are called as any `GenServer`; maps and tuples are those that
  `messages.h` names.
  """

  @type item :: %{article: String.t(), count: pos_integer}
  @type offer :: %{cents: integer, saved: integer | nil}

  @doc """
  An offer, or why there is none: `:empty_order`, a text for people, `:mailbox_full` when too many orders wait,
  `{:terminated, text}` when the worker has crashed.
  """
  @spec offer([item], String.t() | nil) :: {:ok, offer} | {:error, term}
  def offer(items, voucher \\ nil, timeout \\ 5000) do
    case GenServer.call({:prices, node_of_prices()}, %{items: items, voucher: voucher}, timeout) do
      {:error, reason} -> {:error, reason}
      offer -> {:ok, offer}
    end
  end

  @doc "So many workers from now on. It goes before all orders that wait."
  @spec resize(pos_integer) :: pos_integer | {:error, term}
  def resize(workers), do: GenServer.call({:prices, node_of_prices()}, {:resize, workers})

  @doc "Nobody answers: whoever wants to know of it watches the prices (`Shop.PriceWatcher`)."
  @spec set_price(String.t(), pos_integer) :: :ok
  def set_price(article, cents), do: GenServer.cast({:catalog, node_of_prices()}, {:set_price, article, cents})

  @doc "What a process there tells of itself, a map of texts: of the catalog, what each article costs."
  def state(name \\ :catalog) do
    # OTP 26.1 and later unwrap it, as for processes of their own.
    case :sys.get_state({name, node_of_prices()}) do
      {:ok, state} -> state
      state -> state
    end
  end

  defp node_of_prices, do: Application.fetch_env!(:shop, :node)
end

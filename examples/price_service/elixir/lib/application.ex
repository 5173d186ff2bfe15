defmodule Shop.Application do
  @moduledoc """
  The supervision tree of the shop. The C++ node is one of its children, as a port: it starts and ends with the tree, and is
  started again when it dies.
  """
  use Application

  def start(_type, _arguments) do
    node = Application.fetch_env!(:shop, :node)

    service =
      case Application.fetch_env!(:shop, :program) do
        nil -> []
        program -> [{Shop.Service, program: program, node: node, arguments: Application.fetch_env!(:shop, :arguments)}]
      end

    groups = %{id: :pg, start: {:pg, :start_link, []}}
    Supervisor.start_link([groups, {Shop.PriceWatcher, node: node}] ++ service, strategy: :one_for_one, name: Shop.Supervisor)
  end
end

defmodule Shop.MixProject do
  use Mix.Project

  def project, do: [app: :shop, version: "0.1.0", elixir: "~> 1.14", start_permanent: Mix.env() == :prod, deps: []]

  # Where the C++ program is: config/runtime.exs.
  def application, do: [extra_applications: [:logger, :inets], mod: {Shop.Application, []}]
end

defmodule Shop.MixProject do
  use Mix.Project

  def project, do: [app: :shop, version: "0.1.0", elixir: "~> 1.14", start_permanent: Mix.env() == :prod, deps: []]

  # Where the C++ program is: config/runtime.exs. The tests ask over HTTP, for which inets needs public_key.
  def application, do: [extra_applications: [:logger, :inets, :public_key], mod: {Shop.Application, []}]
end

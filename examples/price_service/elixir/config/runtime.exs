import Config

# The program, and the name of its node. None: the service is not ours to start, as with the systemd unit.
config :shop,
  program: System.get_env("PRICE_SERVICE"),
  node: String.to_atom(System.get_env("PRICE_NODE", "prices@127.0.0.1")),
  arguments: String.split(System.get_env("PRICE_ARGUMENTS", ""))

ExUnit.start(seed: 0, timeout: 60_000)

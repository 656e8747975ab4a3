"""Training that ends in a proof: the network is trained until the prover accepts it."""

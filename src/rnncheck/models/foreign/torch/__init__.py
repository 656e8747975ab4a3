"""A user's PyTorch modules as models (extra ``torch``)."""

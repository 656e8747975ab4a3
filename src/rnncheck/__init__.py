"""Verify recurrent neural networks against regular specifications."""

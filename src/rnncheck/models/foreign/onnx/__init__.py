"""ONNX graphs as models (extra ``onnx``)."""

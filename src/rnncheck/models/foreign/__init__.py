"""Models that rnncheck did not build: functions, step functions, PyTorch modules and ONNX graphs."""

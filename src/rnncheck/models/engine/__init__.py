"""The numpy engine: recurrent layers that read many words a step, and the reference it is judged by."""

"""The numpy engine: recurrent layers that read many words a step, and the definition it is judged by."""

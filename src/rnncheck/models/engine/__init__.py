"""The numpy engine: recurrent layers that read many words per step, and the reference it is compared with."""

"""Sets of network states that a proof follows: intervals and zonotopes, both sound for float32."""

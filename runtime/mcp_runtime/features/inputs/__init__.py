"""Input in the middle of a request (2026-07-28, basic/patterns/mrtr): results that ask, and requests that answer."""

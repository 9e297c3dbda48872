"""Input during a request (2026-07-28, basic/patterns/mrtr): results with questions, and retries with answers."""

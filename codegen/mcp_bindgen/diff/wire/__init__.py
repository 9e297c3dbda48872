"""The wire view of a comparison: what changes in the messages that two peers exchange."""

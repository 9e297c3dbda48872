"""The protocol as documents: OpenRPC, and a reference that people browse; `show` prints the same facts."""

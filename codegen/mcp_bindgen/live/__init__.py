"""Commands that talk to a server or judge messages: the one part of the generator that uses the runtime, lazily."""

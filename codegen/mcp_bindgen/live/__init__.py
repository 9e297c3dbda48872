"""Commands that talk to a server or validate messages: the only part of the generator that uses the runtime, lazily."""

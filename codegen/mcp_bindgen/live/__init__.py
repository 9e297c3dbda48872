"""Commands that talk to a server: the one part of the generator that uses the runtime and the bindings, lazily."""

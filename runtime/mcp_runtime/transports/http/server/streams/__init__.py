"""Messages on their way to a client: streams, stored events, and the responses through which they are sent."""

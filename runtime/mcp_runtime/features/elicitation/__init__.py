"""Elicitation: a server asks a person through the client, in a form or on a web page."""

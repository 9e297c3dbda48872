"""Elicitation: a server asks the user through the client, in a form or on a web page."""

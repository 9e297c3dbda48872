"""The client's side: obtains access tokens for protected servers."""

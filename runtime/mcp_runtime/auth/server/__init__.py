"""The server's side of authorization: access tokens and the scopes that they carry."""

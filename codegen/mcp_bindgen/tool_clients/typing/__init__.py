"""Typing: from the JSON Schemas of a tool to definitions of the intermediate representation."""

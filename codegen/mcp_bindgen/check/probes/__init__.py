"""The probes that are functions: a module for each page of the specification with several, one for the others."""

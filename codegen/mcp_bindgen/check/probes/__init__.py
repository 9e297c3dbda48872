"""The probes that are functions: a module for each page of the specification that has any."""

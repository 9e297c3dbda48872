"""The command line: arguments become one call, findings are printed, the outcome becomes an exit status."""

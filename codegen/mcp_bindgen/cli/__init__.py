"""The command line: parses arguments, calls the library, prints findings and sets the exit status."""

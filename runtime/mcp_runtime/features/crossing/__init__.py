"""What one era does where the other one does it by other messages: the ends of a bridge between the eras."""

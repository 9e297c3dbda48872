"""What one era does and the other achieves with different messages: the two ends of a bridge between the eras."""

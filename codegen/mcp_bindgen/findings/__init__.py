"""What all reports on findings share: severities, accepted findings, and the formats that other tools read."""

"""File access: metadata files, table files, locations, deletion."""

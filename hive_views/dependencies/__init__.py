"""What views depend on, who depends on what, and what a change or a drop does to it."""

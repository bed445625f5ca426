"""This version of the package beside an older one on one metastore: each reads and changes what the other wrote."""

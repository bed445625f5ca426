"""Everything that knows Thrift, sockets and locks."""

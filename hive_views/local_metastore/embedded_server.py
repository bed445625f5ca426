"""The server of the embedded metastore: Hive 2.3.10's own classes, put together through Py4J's gateway.

It is built the way `HiveMetaStore.startMetaStore` (Hive 2.3.10) does it, with two differences: the socket is bound to
the loopback address, and the house-keeper that removes abandoned locks runs (in Hive only a server with the compactor
turned on has it).
"""

from __future__ import annotations

from typing import Any

from hive_views.local_metastore.directory import MetastoreDirectory
from hive_views.local_metastore.jvm import LOOPBACK

MIN_WORKER_THREADS = 8
MAX_WORKER_THREADS = 500
MAX_MESSAGE_BYTES = 100 * 1024 * 1024


def serve(gateway: Any, directory: MetastoreDirectory, port: int, deadline: float) -> int:
    """Build and start the server's objects."""
    jvm = gateway.jvm
    system = jvm.java.lang.System
    # Python stops reading standard output now.
    system.setOut(system.err)
    hive = jvm.org.apache.hadoop.hive
    thrift = jvm.org.apache.thrift
    # First, because it fails where the port is taken; it listens from here on, and answers when the server runs.
    socket = thrift.transport.TServerSocket(jvm.java.net.InetSocketAddress(LOOPBACK, port))
    hive.conf.HiveConf.setHiveSiteLocation(jvm.java.net.URL(directory.site.as_uri()))
    conf = hive.conf.HiveConf()
    _create_lock_tables(hive, conf)

    store = hive.metastore.HiveMetaStore
    base = getattr(hive.metastore, "HiveMetaStore$HMSHandler")("embedded", conf, False)
    handler = store.newRetryingHMSHandler(base, conf)
    arguments = getattr(thrift.server, "TThreadPoolServer$Args")(socket)
    binary = getattr(thrift.protocol, "TBinaryProtocol$Factory")
    limit = jvm.java.lang.Long(MAX_MESSAGE_BYTES)
    arguments.processor(hive.metastore.TUGIBasedProcessor(handler))
    arguments.transportFactory(getattr(hive.thrift, "TUGIContainingTransport$Factory")())
    arguments.protocolFactory(binary())
    arguments.inputProtocolFactory(binary(True, True, limit, limit))
    arguments.minWorkerThreads(MIN_WORKER_THREADS)
    arguments.maxWorkerThreads(MAX_WORKER_THREADS)
    server = thrift.server.TThreadPoolServer(arguments)
    server.setServerEventHandler(_connection_cleaner(jvm, gateway.new_array(jvm.java.lang.Object, 0)))
    _thread(jvm, server, "serve", "metastore").start()

    # It starts only under a transaction manager that knows transactions.
    keeping = hive.conf.HiveConf(conf)
    keeping.set("hive.support.concurrency", "true")
    keeping.set("hive.txn.manager", "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager")
    hive.ql.txn.AcidHouseKeeperService().start(keeping)
    shutdown = jvm.org.apache.derby.jdbc.BasicEmbeddedDataSource40()
    shutdown.setDatabaseName(directory.database_name)
    shutdown.setShutdownDatabase("shutdown")
    jvm.java.lang.Runtime.getRuntime().addShutdownHook(_thread(jvm, shutdown, "getConnection", "derby-shutdown"))
    return int(socket.getServerSocket().getLocalPort())


def _create_lock_tables(hive: Any, conf: Any) -> None:
    """DataNucleus makes no tables for locks: without them the first lock hangs (Hive makes them by its schema tool)."""
    from py4j.protocol import Py4JJavaError

    try:
        hive.metastore.txn.TxnDbUtil.prepDb(conf)
    except Py4JJavaError as error:
        # Derby's X0Y32: there is such a table already, so this is not the first start.
        if "already exists" not in str(error.java_exception.getMessage()):
            raise


def _connection_cleaner(jvm: Any, nothing: Any) -> Any:
    """Hive's own event handler, which rolls back and closes what a connection leaves behind. It has no name.

    `nothing` is an empty array of Java objects: the arguments of its constructor.
    """
    loader = jvm.java.lang.Class
    for number in range(1, 10):
        found = loader.forName(f"org.apache.hadoop.hive.metastore.HiveMetaStore${number}")
        if any(each.getSimpleName() == "TServerEventHandler" for each in found.getInterfaces()):
            constructor = found.getDeclaredConstructors()[0]
            constructor.setAccessible(True)
            return constructor.newInstance(nothing)
    raise LookupError("HiveMetaStore has no TServerEventHandler")


def _thread(jvm: Any, target: Any, method: str, name: str) -> Any:
    """A Java thread that runs a method without arguments, and ignores what it throws."""
    create = jvm.java.beans.EventHandler.create
    find = jvm.java.lang.Class.forName
    thread = jvm.java.lang.Thread(create(find("java.lang.Runnable"), target, method), name)
    # Derby reports its orderly shutdown as an exception; any method without effect will do as its handler.
    thread.setUncaughtExceptionHandler(create(find("java.lang.Thread$UncaughtExceptionHandler"), target, "hashCode"))
    return thread

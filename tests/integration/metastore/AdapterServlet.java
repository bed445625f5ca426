package org.apache.iceberg.rest;

import java.io.IOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.exceptions.RESTException;
import org.apache.iceberg.hive.HiveCatalog;
import org.apache.iceberg.rest.responses.ErrorResponse;

/**
 * Iceberg's REST adapter on the metastore of this JVM, as the servlet of a metastore of Hive 4.1 or later.
 *
 * <p>Hive's own factory, org.apache.iceberg.rest.HMSCatalogFactory, is not on Maven Central. The Java that runs this
 * is later than the one that compiles it, so Hive's classes are called by reflection.
 */
public class AdapterServlet extends HttpServlet {
  private static final String HIVE = "org.apache.hadoop.hive.metastore.";

  private final transient RESTCatalogAdapter adapter;

  private AdapterServlet(RESTCatalogAdapter adapter) {
    this.adapter = adapter;
  }

  /** Called by Hive, which finds this class by the property metastore.catalog.servlet.factory. */
  public static Object createServlet(Configuration configuration) throws ReflectiveOperationException {
    int port = configuration.getInt("metastore.catalog.servlet.port", -1);
    if (port < 0) {
      return null; // switched off
    }
    var catalog = new HiveCatalog();
    var own = new Configuration(configuration);
    own.set("metastore.thrift.uris", ""); // the metastore of this JVM
    catalog.setConf(own);
    catalog.initialize("hive", Map.of("warehouse", configuration.get("metastore.warehouse.dir")));
    Class<?> authentication = Class.forName(HIVE + "ServletSecurity$AuthType");
    Object method =
        authentication
            .getMethod("fromString", String.class)
            .invoke(null, configuration.get("metastore.catalog.servlet.auth", "jwt"));
    Class<?> security = Class.forName(HIVE + "ServletSecurity");
    Object secured =
        security
            .getMethod("proxy", HttpServlet.class)
            .invoke(
                security.getConstructor(authentication, Configuration.class).newInstance(method, configuration),
                new AdapterServlet(new RESTCatalogAdapter(catalog)));
    return Class.forName(HIVE + "ServletServerBuilder$Descriptor")
        .getConstructor(int.class, String.class, HttpServlet.class)
        .newInstance(
            port,
            configuration.get("metastore.iceberg.catalog.servlet.path", "iceberg"),
            secured);
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
    var method = HTTPRequest.HTTPMethod.valueOf(request.getMethod());
    String path = request.getPathInfo().substring(1);
    var route = Route.from(method, path);
    if (route == null) {
      response.sendError(HttpServletResponse.SC_BAD_REQUEST, "No route for " + method + " " + path);
      return;
    }
    Object body = null;
    if (route.first().requestClass() != null) {
      body = RESTObjectMapper.mapper().readValue(request.getReader(), route.first().requestClass());
    }
    var parameters = new HashMap<String, String>();
    request.getParameterMap().forEach((name, values) -> parameters.put(name, values[0]));
    response.setContentType("application/json");
    var failure = new ErrorResponse[1];
    Object answer = null;
    try {
      answer =
          adapter.execute(
              adapter.buildRequest(method, path, parameters, Collections.emptyMap(), body),
              route.first().responseClass(),
              error -> failure[0] = error,
              headers -> headers.forEach(response::setHeader));
    } catch (RESTException error) {
      if (failure[0] == null) {
        throw error;
      }
      response.setStatus(failure[0].code());
      answer = failure[0];
    }
    if (answer != null) {
      RESTObjectMapper.mapper().writeValue(response.getWriter(), answer);
    }
  }
}

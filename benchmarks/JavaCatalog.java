import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.hive.HiveCatalog;
import org.apache.iceberg.types.Types;

/**
 * Iceberg's own HiveCatalog on one metastore: executes each line of standard input and answers the nanoseconds that it
 * took, or the exception. Arguments: the metastore's URI, the warehouse, the database, the number of columns.
 */
public final class JavaCatalog {
  public static void main(String[] arguments) throws Exception {
    HiveCatalog catalog = new HiveCatalog();
    catalog.setConf(new Configuration());
    catalog.initialize("java", Map.of("uri", arguments[0], "warehouse", arguments[1]));
    Namespace namespace = Namespace.of(arguments[2]);
    List<Types.NestedField> fields = new ArrayList<>();
    for (int number = 1; number <= Integer.parseInt(arguments[3]); number++) {
      fields.add(Types.NestedField.optional(number, "column_" + number, Types.LongType.get()));
    }
    Schema schema = new Schema(fields);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      // The operation, the view, and what it needs: another name, or a text.
      String[] words = line.split(" ", 3);
      TableIdentifier view = TableIdentifier.of(namespace, words.length > 1 ? words[1] : "none");
      long started = System.nanoTime();
      try {
        execute(catalog, namespace, schema, view, words);
      } catch (RuntimeException error) {
        String message = error + (error.getCause() == null ? "" : " / " + error.getCause());
        System.out.println(message.replaceAll("\\s+", " "));
        continue;
      }
      System.out.println(System.nanoTime() - started);
    }
  }

  private static void execute(
      HiveCatalog catalog, Namespace namespace, Schema schema, TableIdentifier view, String[] words) {
    switch (words[0]) {
      case "create" -> catalog.buildView(view).withSchema(schema).withDefaultNamespace(namespace)
          .withQuery("spark", words[2]).create();
      case "replace" -> catalog.buildView(view).withSchema(schema).withDefaultNamespace(namespace)
          .withQuery("spark", words[2]).replace();
      case "load" -> catalog.loadView(view);
      case "rename" -> catalog.renameView(view, TableIdentifier.of(namespace, words[2]));
      case "drop" -> catalog.dropView(view);
      case "list" -> {
        int found = catalog.listViews(namespace).size();
        if (found != Integer.parseInt(words[1])) {
          throw new IllegalStateException(found + " views listed");
        }
      }
      default -> throw new IllegalArgumentException(words[0]);
    }
  }
}

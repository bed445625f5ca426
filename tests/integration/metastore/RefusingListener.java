import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.MetaStoreEventListener;
import org.apache.hadoop.hive.metastore.MetaStorePreEventListener;
import org.apache.hadoop.hive.metastore.api.InvalidOperationException;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.NoSuchObjectException;
import org.apache.hadoop.hive.metastore.events.AddPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AlterTableEvent;
import org.apache.hadoop.hive.metastore.events.CreateDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.CreateTableEvent;
import org.apache.hadoop.hive.metastore.events.DropDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.DropPartitionEvent;
import org.apache.hadoop.hive.metastore.events.DropTableEvent;
import org.apache.hadoop.hive.metastore.events.PreEventContext;

/** Refuses changes with the exception that a file names, as "type message"; without the file it refuses nothing. */
public class RefusingListener extends MetaStorePreEventListener {
  private static final String CHANGES = "(CREATE|ALTER|DROP)_(TABLE|DATABASE)|(ADD|DROP)_PARTITION";
  private final Configuration configuration;

  public RefusingListener(Configuration configuration) {
    super(configuration);
    this.configuration = configuration;
  }

  /** Does nothing: as an agent of the JVM, the jar of this class is on the class path of every metastore. */
  public static void premain(String arguments) {}

  @Override
  public void onEvent(PreEventContext context)
      throws MetaException, NoSuchObjectException, InvalidOperationException {
    if (context.getEventType().name().matches(CHANGES)) {
      String[] words = read(configuration, "before");
      if (words.length > 1 && words[0].equals("InvalidOperationException")) {
        throw new InvalidOperationException(words[1]);
      } else if (words.length > 1 && words[0].equals("NoSuchObjectException")) {
        throw new NoSuchObjectException(words[1]);
      }
      refuse(words);
    }
  }

  private static String[] read(Configuration configuration, String time) {
    try {
      String path = configuration.get("tests.refusal." + time);
      return new String(Files.readAllBytes(Paths.get(path)), StandardCharsets.UTF_8).split(" ", 2);
    } catch (IOException missing) {
      return new String[0];
    }
  }

  private static void refuse(String[] words) throws MetaException {
    switch (words.length > 1 ? words[0] : "") {
      case "MetaException":
        throw new MetaException(words[1]);
      case "RuntimeException":
        throw new RuntimeException(words[1]);
      case "SecurityException":
        throw new SecurityException(words[1]);
      default:
    }
  }

  /** Fails in the same way after the server has carried out a change. */
  public static class After extends MetaStoreEventListener {
    private final Configuration configuration;

    public After(Configuration configuration) {
      super(configuration);
      this.configuration = configuration;
    }

    @Override
    public void onCreateTable(CreateTableEvent event) throws MetaException {
      refuse(read(configuration, "after"));
    }

    @Override
    public void onAlterTable(AlterTableEvent event) throws MetaException {
      refuse(read(configuration, "after"));
    }

    @Override
    public void onDropTable(DropTableEvent event) throws MetaException {
      refuse(read(configuration, "after"));
    }

    @Override
    public void onAddPartition(AddPartitionEvent event) throws MetaException {
      refuse(read(configuration, "after"));
    }

    @Override
    public void onDropPartition(DropPartitionEvent event) throws MetaException {
      refuse(read(configuration, "after"));
    }

    @Override
    public void onCreateDatabase(CreateDatabaseEvent event) throws MetaException {
      refuse(read(configuration, "after"));
    }

    @Override
    public void onDropDatabase(DropDatabaseEvent event) throws MetaException {
      refuse(read(configuration, "after"));
    }
  }
}

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.session.SessionState;

/** Runs each statement on stdin (a JSON string per line) in Hive's driver and prints its rows, or the error, as JSON. */
public class HiveReader {
  public static void main(String[] settings) throws Exception {
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
    System.setOut(System.err);
    HiveConf conf = new HiveConf(HiveReader.class);
    for (String setting : settings) {
      int end = setting.indexOf('=');
      conf.set(setting.substring(0, end), setting.substring(end + 1));
    }
    SessionState.start(new SessionState(conf));
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      ObjectNode answer = json.createObjectNode();
      try (IDriver driver = DriverFactory.newDriver(SessionState.get().getConf())) {
        driver.run(json.readValue(line, String.class));
        List<String> rows = new ArrayList<>(), batch = new ArrayList<>();
        while (driver.getResults(batch)) {
          rows.addAll(batch);
          batch.clear();
        }
        answer.set("rows", json.valueToTree(rows));
      } catch (Throwable error) {
        answer.put("error", String.valueOf(error.getMessage()));
      }
      out.println(json.writeValueAsString(answer));
    }
    Runtime.getRuntime().halt(0);
  }
}

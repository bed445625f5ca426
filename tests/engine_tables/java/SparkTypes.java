import java.util.Arrays;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.internal.SessionState;

/** Analyzes many expressions in one query, because a query for each of them takes ten times as long. */
public final class SparkTypes {
    private static final int MOST = 50;
    private static final int FEW = 4;
    private static final scala.Enumeration.Value MODE = CommandExecutionMode.SKIP();

    private SparkTypes() {}

    /**
     * Returns one line for each line of expressions: its type, or '!' and Spark's error where it gives one. Only a
     * complete analysis ends with Spark's checks, which refuse more and take longer.
     */
    public static String ask(Object spark, String expressions, String from, Boolean isComplete) {
        SparkSession.setActiveSession((SparkSession) spark);
        String[] lines = expressions.split("\n");
        String[] answers = new String[lines.length];
        for (int start = 0; start < lines.length; start += MOST) {
            answer(spark, lines, from, isComplete, answers, start, Math.min(start + MOST, lines.length));
        }
        return String.join("\n", answers);
    }

    private static void answer(
            Object spark, String[] lines, String from, boolean isComplete, String[] answers, int start, int end) {
        StringBuilder sql = new StringBuilder("SELECT ");
        for (int index = start; index < end; index++) {
            sql.append(index > start ? ", " : "").append(lines[index]).append(" AS c").append(index);
        }
        Arrays.fill(answers, start, end, "!");
        try {
            var state = (SessionState) spark.getClass().getMethod("sessionState").invoke(spark);
            var parsed = state.sqlParser().parsePlan(sql.append(from).toString());
            var plan = isComplete ? state.executePlan(parsed, MODE).analyzed() : state.analyzer().execute(parsed);
            var items = plan.expressions().iterator();
            while (items.hasNext()) {
                Expression item = (Expression) items.next();
                if (item instanceof NamedExpression named && item.resolved() && named.name().startsWith("c")) {
                    answers[Integer.parseInt(named.name().substring(1))] = item.dataType().catalogString();
                }
            }
        } catch (Throwable error) {
            if (end - start == 1) {
                answers[start] = "!" + condition(error);
                return;
            }
            int size = end - start > FEW ? (end - start + 1) / 2 : 1;
            for (int at = start; at < end; at += size) {
                answer(spark, lines, from, isComplete, answers, at, Math.min(at + size, end));
            }
        }
    }

    private static String condition(Throwable error) {
        String message = String.valueOf(error.getMessage());
        int end = message.indexOf(']');
        String condition = message.startsWith("[") && end > 0 ? message.substring(1, end) : message;
        return condition.substring(0, Math.min(condition.length(), 80)).replace('\n', ' ');
    }
}

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hive.ql.exec.FunctionInfo;
import org.apache.hadoop.hive.ql.exec.FunctionRegistry;
import org.apache.hadoop.hive.ql.plan.ExprNodeColumnDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeDesc;
import org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc;
import org.apache.hadoop.hive.ql.udf.generic.GenericUDAFEvaluator;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspector;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorConverters;
import org.apache.hadoop.hive.serde2.objectinspector.ObjectInspectorUtils;
import org.apache.hadoop.hive.serde2.objectinspector.primitive.PrimitiveObjectInspectorFactory;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfo;
import org.apache.hadoop.hive.serde2.typeinfo.TypeInfoUtils;

/**
 * Answers the types of calls of Hive's functions. A line of the input is a name and the types of the arguments, with
 * tabs between them; a constant is a type, an equals sign and a value. `NAMES` lists the functions.
 */
public final class HiveTypes {
    private HiveTypes() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        var in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(line.equals("NAMES") ? String.join("\t", FunctionRegistry.getFunctionNames()) : answer(line));
            out.flush();
        }
    }

    private static String answer(String line) {
        try {
            String[] parts = line.split("\t");
            FunctionInfo info = FunctionRegistry.getFunctionInfo(parts[0]);
            List<ExprNodeDesc> children = new ArrayList<>();
            for (int index = 1; index < parts.length; index++) {
                children.add(argument(parts[index], index));
            }
            if (info.isGenericUDF()) {
                return ExprNodeGenericFuncDesc.newInstance(info.getGenericUDF(), parts[0], children).getTypeString();
            }
            if (!info.isGenericUDAF()) {
                return "!OTHER";
            }
            List<ObjectInspector> inspectors = new ArrayList<>();
            for (ExprNodeDesc child : children) {
                inspectors.add(child.getWritableObjectInspector());
            }
            GenericUDAFEvaluator evaluator =
                    FunctionRegistry.getGenericUDAFEvaluator(parts[0], inspectors, false, children.isEmpty());
            return evaluator.init(
                            GenericUDAFEvaluator.Mode.COMPLETE, inspectors.toArray(new ObjectInspector[0]))
                    .getTypeName();
        } catch (Throwable error) {
            String message = error.getClass().getSimpleName() + " " + error.getMessage();
            return "!" + message.substring(0, Math.min(message.length(), 120)).replaceAll("\\s+", " ");
        }
    }

    private static ExprNodeDesc argument(String written, int index) {
        int equals = written.indexOf('=');
        TypeInfo type = TypeInfoUtils.getTypeInfoFromTypeString(equals < 0 ? written : written.substring(0, equals));
        if (written.equals("void")) {
            return new ExprNodeConstantDesc(type, null);
        }
        if (equals < 0) {
            return new ExprNodeColumnDesc(type, "c" + index, "t", false);
        }
        ObjectInspector target = TypeInfoUtils.getStandardJavaObjectInspectorFromTypeInfo(type);
        var converter =
                ObjectInspectorConverters.getConverter(PrimitiveObjectInspectorFactory.javaStringObjectInspector, target);
        Object value = converter.convert(written.substring(equals + 1));
        return new ExprNodeConstantDesc(type, ObjectInspectorUtils.copyToStandardJavaObject(value, target));
    }
}

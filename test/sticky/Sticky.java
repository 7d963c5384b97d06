import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.common.TopicPartition;

/** Answers each line, a group, with what Kafka's cooperative-sticky assignor makes of it. */
public final class Sticky {
    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var assignor = new CooperativeStickyAssignor();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            // topic=count,...;member:topic,...:generation:topic-number,...;...
            String[] parts = line.split(";");
            Map<String, Integer> counts = new HashMap<>();
            for (String t : parts[0].split(",")) {
                String[] kv = t.split("=");
                counts.put(kv[0], Integer.parseInt(kv[1]));
            }
            Map<String, Subscription> members = new HashMap<>();
            for (int i = 1; i < parts.length; i++) {
                String[] f = parts[i].split(":", -1);
                members.put(f[0], new Subscription(Arrays.asList(f[1].split(",")), null, partitions(f[3]),
                    Integer.parseInt(f[2]), Optional.empty()));
            }
            StringBuilder out = new StringBuilder();
            for (var e : new TreeMap<>(assignor.assign(counts, members)).entrySet()) {
                out.append(e.getKey()).append(':');
                String separator = "";
                for (TopicPartition p : e.getValue()) {
                    out.append(separator).append(p.topic()).append('-').append(p.partition());
                    separator = ",";
                }
                out.append(';');
            }
            System.out.println(out);
        }
    }

    private static List<TopicPartition> partitions(String text) {
        List<TopicPartition> list = new ArrayList<>();
        for (String p : text.split(",")) {
            if (!p.isEmpty()) {
                int at = p.lastIndexOf('-');
                list.add(new TopicPartition(p.substring(0, at), Integer.parseInt(p.substring(at + 1))));
            }
        }
        return list;
    }
}

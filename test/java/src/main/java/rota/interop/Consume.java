package rota.interop;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Consume is a member of a group that prints what it owns and reads. */
final class Consume implements ConsumerRebalanceListener {
    private final TreeSet<Integer> owned = new TreeSet<>();

    static void run(Map<String, String> options) {
        ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config(options), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(options.get("topic")), new Consume());
            Thread reader = new Thread(() -> read(commands));
            reader.setDaemon(true);
            reader.start();
            for (;;) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
                    print(record);
                }
                String command = commands.poll();
                if (command == null) {
                    continue;
                }
                if (command.equals("leave")) {
                    break;
                }
                if (command.equals("stall")) {
                    stall(commands);
                    continue;
                }
                consumer.commitSync();
                Client.print("committed", event -> {});
            }
        }
        Client.print("left", event -> {});
    }

    /** Does not poll until the next command comes. */
    private static void stall(ConcurrentLinkedQueue<String> commands) {
        while (commands.isEmpty()) {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                return;
            }
        }
        if (commands.peek().equals("go")) {
            commands.poll();
        }
    }

    private static Map<String, Object> config(Map<String, String> options) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", options.get("brokers"));
        config.put("group.id", options.get("group"));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", options.getOrDefault("commit", "none").equals("auto"));
        config.put("auto.commit.interval.ms", 100);
        if (options.containsKey("client")) {
            config.put("client.id", options.get("client"));
        }
        if (options.containsKey("poll")) {
            config.put("max.poll.interval.ms", Integer.parseInt(options.get("poll")));
        }
        if (options.containsKey("instance")) {
            config.put("group.instance.id", options.get("instance"));
        }
        if (options.getOrDefault("protocol", "classic").equals("consumer")) {
            config.put("group.protocol", "consumer");
            return config;
        }
        int session = Integer.parseInt(options.getOrDefault("session", "10000"));
        config.put("session.timeout.ms", session);
        config.put("heartbeat.interval.ms", session / 15);
        config.put("partition.assignment.strategy", options.getOrDefault("assignor", "range").equals("cooperative")
            ? "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
            : "org.apache.kafka.clients.consumer.RangeAssignor");
        return config;
    }

    /** Reads commands; the end of the input is one to leave. */
    static void read(ConcurrentLinkedQueue<String> commands) {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                commands.add(line);
            }
        } catch (IOException e) {
            System.err.println(e);
        }
        commands.add("leave");
    }

    private static void print(ConsumerRecord<byte[], byte[]> record) {
        Client.print("record", event -> {
            event.put("partition", record.partition()).put("offset", record.offset());
            event.put("key", Client.text(record.key())).put("value", Client.text(record.value()));
            event.set("headers", Client.headers(record.headers()));
        });
    }

    private void tell() {
        Client.print("owns", event -> {
            ArrayNode partitions = event.putArray("partitions");
            owned.forEach(partitions::add);
        });
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        partitions.forEach(p -> owned.add(p.partition()));
        tell();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        partitions.forEach(p -> owned.remove(p.partition()));
        tell();
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        onPartitionsRevoked(partitions);
    }
}

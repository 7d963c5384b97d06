package rota.workloads;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * WordCount counts the words of the topic "lines" into the topic "counts" until its input ends. Its counts are in a
 * store with a changelog, and they are grouped through a repartition topic.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String arg : args) {
            String[] pair = arg.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        Properties config = new Properties();
        config.put("application.id", "word-count");
        config.put("bootstrap.servers", options.get("brokers"));
        config.put("state.dir", options.get("state"));
        config.put("default.key.serde", Serdes.StringSerde.class);
        config.put("default.value.serde", Serdes.StringSerde.class);
        config.put("processing.guarantee", options.getOrDefault("guarantee", "at_least_once"));
        config.put("group.protocol", "classic");
        config.put("commit.interval.ms", 200);
        config.put("num.stream.threads", 2);
        config.put("replication.factor", 1);
        config.put("auto.offset.reset", "earliest");
        config.put("session.timeout.ms", 6000);
        config.put("heartbeat.interval.ms", 500);

        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("lines")
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.as("words"))
            .toStream()
            .to("counts", Produced.with(Serdes.String(), Serdes.Long()));

        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setStateListener((now, before) -> System.out.println(now));
        streams.start();
        while (System.in.read() >= 0) {
            // Anything but the end means nothing.
        }
        streams.close();
    }
}

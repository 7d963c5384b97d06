package rota.interop;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Produce sends the records that it reads, and tells when they are acknowledged. */
final class Produce {
    private Produce() {}

    static void run(Map<String, String> options) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", options.get("brokers"));
        config.put("compression.type", options.getOrDefault("codec", "none"));
        config.put("linger.ms", 20);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (!line.isEmpty()) {
                    sent.add(producer.send(record(options.get("topic"), Client.parse(line))));
                    continue;
                }
                for (Future<RecordMetadata> future : sent) {
                    future.get();
                }
                int count = sent.size();
                Client.print("acked", event -> event.put("count", count));
                sent.clear();
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, JsonNode json) {
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
            topic, json.get("partition").asInt(), Client.bytes(json.get("key")), Client.bytes(json.get("value")));
        for (JsonNode header : json.get("headers")) {
            record.headers().add(header.get(0).asText(), Client.bytes(header.get(1)));
        }
        return record;
    }
}

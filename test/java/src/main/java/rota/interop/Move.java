package rota.interop;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Move copies records to another topic, with the offsets of its group, in transactions. Some of them it gives up. */
final class Move {
    private static final int GIVEN_UP = 5; // every such transaction

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaProducer<byte[], byte[]> producer;
    private final String to;
    private int transactions;

    private Move(Map<String, String> options) {
        consumer = new KafkaConsumer<>(readerConfig(options), new ByteArrayDeserializer(), new ByteArrayDeserializer());
        producer = new KafkaProducer<>(writerConfig(options), new ByteArraySerializer(), new ByteArraySerializer());
        to = options.get("to");
    }

    static void run(Map<String, String> options) {
        ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
        Thread reader = new Thread(() -> Consume.read(commands));
        reader.setDaemon(true);
        reader.start();
        Move move = new Move(options);
        try (move.consumer; move.producer) {
            move.producer.initTransactions();
            move.consumer.subscribe(List.of(options.get("topic")));
            while (!"leave".equals(commands.poll())) {
                ConsumerRecords<byte[], byte[]> records = move.consumer.poll(Duration.ofMillis(50));
                if (!records.isEmpty()) {
                    move.transaction(records);
                }
            }
        }
        Client.print("left", event -> {});
    }

    private static Map<String, Object> readerConfig(Map<String, String> options) {
        int session = Integer.parseInt(options.getOrDefault("session", "6000"));
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", options.get("brokers"));
        config.put("group.id", options.get("group"));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", false);
        config.put("isolation.level", "read_committed");
        config.put("max.poll.records", 20);
        config.put("session.timeout.ms", session);
        config.put("heartbeat.interval.ms", session / 15);
        return config;
    }

    private static Map<String, Object> writerConfig(Map<String, String> options) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", options.get("brokers"));
        config.put("transactional.id", options.get("id"));
        config.put("transaction.timeout.ms", 10000);
        return config;
    }

    private void transaction(ConsumerRecords<byte[], byte[]> records) {
        transactions++;
        try {
            producer.beginTransaction();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (ConsumerRecord<byte[], byte[]> record : records) {
                producer.send(new ProducerRecord<>(to, record.key(), record.value()));
                offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            if (transactions % GIVEN_UP == 0) {
                producer.abortTransaction();
                goBack();
                return;
            }
            producer.commitTransaction();
            Client.print("moved", event -> event.put("count", records.count()));
        } catch (ProducerFencedException e) {
            throw e;
        } catch (KafkaException e) {
            System.err.println(e);
            producer.abortTransaction();
            goBack();
        }
    }

    /** Goes on where the group is: what this member has read since then has not been moved. */
    private void goBack() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(partition);
            if (offset == null) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, offset);
            }
        }
    }
}

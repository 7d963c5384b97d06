package rota.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.header.Header;

/** Client is the kafka-clients program of the interoperability tests: see test/interop/doc.go. */
public final class Client {
    static final ObjectMapper JSON = new ObjectMapper();

    private Client() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (String arg : List.of(args).subList(1, args.length)) {
            String[] pair = arg.split("=", 2);
            options.put(pair[0], pair[1]);
        }
        try {
            switch (args[0]) {
                case "version" -> version();
                case "create" -> create(options);
                case "produce" -> Produce.run(options);
                case "consume" -> Consume.run(options);
                case "move" -> Move.run(options);
                default -> throw new IllegalArgumentException("no such command: " + args[0]);
            }
        } catch (Exception e) {
            print("error", event -> event.put("text", e.toString()));
            System.exit(1);
        }
        System.exit(0);
    }

    private static void version() throws IOException {
        Properties properties = new Properties();
        try (InputStream in = Admin.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(in);
        }
        print("version", event -> event.put("version", properties.getProperty("version")));
    }

    private static void create(Map<String, String> options) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", options.get("brokers")))) {
            NewTopic topic = new NewTopic(options.get("topic"), Integer.parseInt(options.get("partitions")), (short) 1);
            admin.createTopics(List.of(topic)).all().get();
        }
        print("created", event -> {});
    }

    /** Fill adds what an event tells to it. */
    interface Fill {
        void into(ObjectNode event);
    }

    /** Prints an event as one line. */
    static synchronized void print(String name, Fill fill) {
        ObjectNode event = JSON.createObjectNode().put("event", name);
        fill.into(event);
        System.out.println(event);
        System.out.flush();
    }

    static byte[] bytes(JsonNode text) {
        return text == null || text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    static ArrayNode headers(Iterable<Header> headers) {
        ArrayNode all = JSON.createArrayNode();
        for (Header header : headers) {
            all.addArray().add(header.key()).add(text(header.value()));
        }
        return all;
    }

    static JsonNode parse(String line) throws IOException {
        return JSON.readTree(line);
    }
}

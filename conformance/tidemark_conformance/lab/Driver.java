import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One client of Kafka, driven by lines of JSON: a producer, a consumer, or an admin client.
 *
 * A line in is {"id": 1, "do": "send", "args": ["x", "r"]}, a line out {"id": 1, "ok": ["offset=0"]} or
 * {"id": 1, "error": "TimeoutException", "message": "..."}. Requests are begun in order by one thread, which polls the
 * consumer between them; a send is answered by its callback. Brokers go by the names of the schedule.
 */
public class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration POLL = Duration.ofMillis(100);
    private static final Duration CLOSING = Duration.ofSeconds(10);
    private static final long READING_MS = 20_000;

    private final String bootstrap;
    private final Map<Integer, String> names = new HashMap<>();
    private final Map<String, Integer> ids = new HashMap<>();
    private final LinkedBlockingQueue<JsonNode> asked = new LinkedBlockingQueue<>();
    private Admin admin;
    private KafkaProducer<String, String> producer;
    private KafkaConsumer<String, String> consumer;
    private final List<String> consumed = new ArrayList<>();

    Driver(String bootstrap, String nodes) {
        this.bootstrap = bootstrap;
        for (String node : nodes.isEmpty() ? new String[0] : nodes.split(",")) {
            String[] pair = node.split("=");
            names.put(Integer.valueOf(pair[0]), pair[1]);
            ids.put(pair[1], Integer.valueOf(pair[0]));
        }
    }

    /** BOOTSTRAP, and the brokers' ids and names: 1=A,2=B. Or: format CLUSTER-ID FEATURE=LEVEL,... PROPERTIES... */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("format")) {
            System.exit(format(args[1], args[2], List.of(args).subList(3, args.length)));
        }
        new Driver(args[0], args[1]).run();
    }

    /** What kafka-storage.sh does, for several nodes in one process. */
    private static int format(String cluster, String features, List<String> nodes) {
        for (String node : nodes) {
            List<String> words = new ArrayList<>(List.of("format", "-t", cluster, "-c", node));
            for (String feature : features.isEmpty() ? new String[0] : features.split(",")) {
                words.addAll(List.of("--feature", feature));
            }
            int code = StorageTool.execute(words.toArray(new String[0]), System.out);
            if (code != 0) {
                return code;
            }
        }
        return 0;
    }

    void run() throws Exception {
        Thread reader = new Thread(this::read);
        reader.setDaemon(true);
        reader.start();
        while (true) {
            boolean polling = consumer != null && !consumer.subscription().isEmpty();
            JsonNode next = polling ? asked.poll() : asked.poll(1, TimeUnit.SECONDS);
            if (next != null) {
                begin(next);
            } else if (polling) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    consumed.add(record.topic() + "-" + record.partition() + "@" + record.offset());
                }
            }
        }
    }

    /** Until standard input ends: then nobody drives this process any more. */
    private void read() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                asked.add(JSON.readTree(line));
            }
        } catch (Exception problem) {
            problem.printStackTrace();
        }
        Runtime.getRuntime().halt(0);
    }

    private void begin(JsonNode request) {
        long id = request.get("id").asLong();
        List<String> args = new ArrayList<>();
        request.get("args").forEach(one -> args.add(one.asText()));
        try {
            if (request.get("do").asText().equals("send")) {
                send(id, args);
            } else {
                answer(id, done(request.get("do").asText(), args, request.get("settings")));
            }
        } catch (Throwable problem) {
            fail(id, problem);
        }
    }

    private static synchronized void answer(long id, List<String> found) {
        print(Map.of("id", id, "ok", found));
    }

    private static synchronized void fail(long id, Throwable problem) {
        Throwable cause = problem;
        while ((cause instanceof ExecutionException || cause instanceof CompletionException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        print(Map.of("id", id, "error", cause.getClass().getSimpleName(), "message", String.valueOf(cause.getMessage())));
    }

    private static void print(Map<String, Object> line) {
        try {
            System.out.println(JSON.writeValueAsString(line));
            System.out.flush();
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
    }

    List<String> done(String what, List<String> args, JsonNode settings) throws Exception {
        switch (what) {
            case "producer": return nothing(() -> producer = new KafkaProducer<>(properties(settings), new StringSerializer(), new StringSerializer()));
            case "consumer": return nothing(() -> consumer = new KafkaConsumer<>(properties(settings), new StringDeserializer(), new StringDeserializer()));
            case "admin": return nothing(() -> admin = Admin.create(properties(settings)));
            case "create": return nothing(() -> create(args, settings));
            case "partitions": return nothing(() -> admin.createPartitions(Map.of(args.get(0), NewPartitions.increaseTo(Integer.parseInt(args.get(1))))).all().get());
            case "describe": return describe(args.get(0));
            case "reassign": return nothing(() -> reassign(args.get(0), Optional.of(new NewPartitionReassignment(brokers(args.get(1))))));
            case "cancel": return nothing(() -> reassign(args.get(0), Optional.empty()));
            case "elect": return nothing(() -> admin.electLeaders(ElectionType.PREFERRED, Set.of(new TopicPartition(args.get(0), 0))).all().get());
            case "configure": return nothing(() -> configure(args));
            case "brokers": return live();
            case "group": return group(args.get(0));
            case "offsets": return offsets(args.get(0));
            case "reset": return nothing(() -> admin.alterConsumerGroupOffsets(args.get(0), Map.of(partition(args.get(1)), new OffsetAndMetadata(Long.parseLong(args.get(2))))).all().get());
            case "read": return read(args.get(0), args.get(1));
            case "fill": return fill(args);
            case "init": return nothing(producer::initTransactions);
            case "begin": return nothing(producer::beginTransaction);
            case "commit": return nothing(producer::commitTransaction);
            case "abort": return nothing(producer::abortTransaction);
            case "subscribe": return nothing(() -> consumer.subscribe(List.of(args.get(0).split(","))));
            case "assignment": return sorted(consumer.assignment());
            case "consumed": return consumed;
            case "commit-offsets": return nothing(consumer::commitSync);
            case "close": return nothing(this::close);
            default: throw new IllegalArgumentException("no such request: " + what);
        }
    }

    interface Act {
        void run() throws Exception;
    }

    static List<String> nothing(Act act) throws Exception {
        act.run();
        return List.of("done");
    }

    private Properties properties(JsonNode settings) {
        Properties found = new Properties();
        found.put("bootstrap.servers", bootstrap);
        settings.properties().forEach(one -> found.put(one.getKey(), one.getValue().asText()));
        return found;
    }

    private static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    private List<Integer> brokers(String list) {
        List<Integer> found = new ArrayList<>();
        for (String name : list.split(",")) {
            found.add(ids.get(name));
        }
        return found;
    }

    private String named(List<Node> nodes) {
        return nodes == null ? "" : String.join(",", nodes.stream().map(one -> names.get(one.id())).toList());
    }

    /** TOPIC and the replicas of each of its partitions. */
    private void create(List<String> args, JsonNode settings) throws Exception {
        Map<Integer, List<Integer>> replicas = new TreeMap<>();
        for (String one : args.subList(1, args.size())) {
            replicas.put(replicas.size(), brokers(one));
        }
        Map<String, String> configured = new HashMap<>();
        settings.properties().forEach(one -> configured.put(one.getKey(), one.getValue().asText()));
        admin.createTopics(List.of(new NewTopic(args.get(0), replicas).configs(configured))).all().get();
    }

    private List<String> describe(String topic) throws Exception {
        var reassigned = admin.listPartitionReassignments().reassignments().get();
        List<String> found = new ArrayList<>();
        for (var one : admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions()) {
            var moving = reassigned.get(new TopicPartition(topic, one.partition()));
            found.add(topic + "-" + one.partition() + " leader=" + (one.leader() == null ? "none" : names.get(one.leader().id()))
                + " replicas=" + named(one.replicas()) + " isr=" + named(one.isr()) + " elr=" + named(one.elr())
                + (moving == null ? " settled" : " moving"));
        }
        return found;
    }

    private void reassign(String topic, Optional<NewPartitionReassignment> target) throws Exception {
        admin.alterPartitionReassignments(Map.of(new TopicPartition(topic, 0), target)).all().get();
    }

    /** topic|broker, its name, and key=value. */
    private void configure(List<String> args) throws Exception {
        boolean topic = args.get(0).equals("topic");
        String name = topic ? args.get(1) : String.valueOf(ids.get(args.get(1)));
        List<AlterConfigOp> changes = new ArrayList<>();
        for (String pair : args.subList(2, args.size())) {
            String[] parts = pair.split("=", 2);
            changes.add(new AlterConfigOp(new ConfigEntry(parts[0], parts[1]), AlterConfigOp.OpType.SET));
        }
        ConfigResource.Type type = topic ? ConfigResource.Type.TOPIC : ConfigResource.Type.BROKER;
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), changes)).all().get();
    }

    private List<String> live() throws Exception {
        List<Node> found = new ArrayList<>(admin.describeCluster().nodes().get());
        return List.of("live=" + String.join(",", new TreeSet<>(found.stream().map(one -> names.get(one.id())).toList())));
    }

    /** The state, then each member's client id with what it is assigned. */
    private List<String> group(String name) throws Exception {
        var described = admin.describeConsumerGroups(List.of(name)).all().get().get(name);
        List<String> found = new ArrayList<>(List.of("state=" + described.groupState()));
        described.members().forEach(one -> one.assignment().topicPartitions().forEach(part -> found.add(part + " of " + one.clientId())));
        return found;
    }

    private List<String> offsets(String group) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        return found.entrySet().stream().filter(one -> Objects.nonNull(one.getValue())).map(one -> one.getKey() + "=" + one.getValue().offset()).sorted().toList();
    }

    private static List<String> sorted(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().toList();
    }

    /** The values of partition 0, from the beginning to the end that the isolation level shows. */
    private List<String> read(String topic, String isolation) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", isolation);
        TopicPartition partition = new TopicPartition(topic, 0);
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> reading = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            reading.assign(List.of(partition));
            reading.seekToBeginning(List.of(partition));
            long end = reading.endOffsets(List.of(partition)).get(partition);
            long until = System.currentTimeMillis() + READING_MS;
            while (reading.position(partition) < end) {
                if (System.currentTimeMillis() > until) {
                    throw new IllegalStateException("offset " + reading.position(partition) + " of " + end + " was not read in time");
                }
                reading.poll(POLL).forEach(one -> found.add(one.value()));
            }
        }
        return found;
    }

    /** TOPIC-PARTITION, and how many records of how many bytes. */
    private List<String> fill(List<String> args) throws Exception {
        TopicPartition to = partition(args.get(0));
        String value = "x".repeat(Integer.parseInt(args.get(2)));
        long offset = -1;
        for (int left = Integer.parseInt(args.get(1)); left > 0; left--) {
            offset = producer.send(new ProducerRecord<>(to.topic(), to.partition(), null, value)).get().offset();
        }
        return List.of("offset=" + offset);
    }

    /** TOPIC-PARTITION and a value; `size=N` stands for a value of N bytes. */
    private void send(long id, List<String> args) {
        String value = args.get(1).startsWith("size=") ? "x".repeat(Integer.parseInt(args.get(1).substring(5))) : args.get(1);
        TopicPartition to = partition(args.get(0));
        producer.send(new ProducerRecord<>(to.topic(), to.partition(), null, value), (metadata, problem) -> {
            if (problem == null) {
                answer(id, List.of("offset=" + metadata.offset()));
            } else {
                fail(id, problem);
            }
        });
    }

    private void close() {
        if (producer != null) {
            producer.close(CLOSING);
        }
        if (consumer != null) {
            consumer.close();
            consumer = null;
        }
    }
}

import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * One log of a partition in a process of its own: Kafka's UnifiedLog, which a broker would drive. The tasks that it gives
 * to the background wait until they are called.
 *
 * open clean|unclean; append EPOCH COUNT, each record a batch; roll; truncate OFFSET; task NAME, the waiting ones whose
 * name begins so; lose BASE COUNT, of the batches of a segment's file only so many are left; tear BASE COUNT, so many and
 * a part of the next; look, all that there is.
 */
public final class LogDriver extends Driver {
    private final List<Task> waiting = new ArrayList<>();
    private File folder;
    private UnifiedLog log;

    private LogDriver() {
        super("", "");
    }

    public static void main(String[] args) throws Exception {
        new LogDriver().run();
    }

    private record Task(String name, Runnable work) { }

    /** Nothing of what it is given happens by itself; what is to be repeated never does. */
    private final class Waiting implements Scheduler {
        private final ScheduledThreadPoolExecutor never = new ScheduledThreadPoolExecutor(0);

        @Override
        public void startup() { }

        @Override
        public void shutdown() { }

        @Override
        public void resizeThreadPool(int size) { }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable work, long delay, long period) {
            if (period < 0 && delay <= 0) {
                waiting.add(new Task(name, work));
            }
            return never.schedule(() -> { }, Long.MAX_VALUE, TimeUnit.NANOSECONDS);
        }
    }

    @Override
    List<String> done(String what, List<String> args, JsonNode settings) throws Exception {
        switch (what) {
            case "log": return nothing(() -> folder = new File(settings.get("dir").asText()));
            case "open": return opened(args.get(0).equals("clean"));
            case "append": return appended(Integer.parseInt(args.get(0)), Integer.parseInt(args.get(1)));
            case "roll": log.roll(); return look();
            case "truncate": log.truncateTo(Long.parseLong(args.get(0))); return look();
            case "task": return task(args.get(0));
            case "lose": return lose(args.get(0), Integer.parseInt(args.get(1)), false);
            case "tear": return lose(args.get(0), Integer.parseInt(args.get(1)), true);
            case "look": return look();
            default: return super.done(what, args, settings);
        }
    }

    /** The recovery point is 0, as in a directory without its checkpoint. */
    private List<String> opened(boolean clean) throws Exception {
        folder.mkdirs();
        waiting.clear();
        log = UnifiedLog.create(folder, new LogConfig(new Properties()), 0, 0, new Waiting(), new BrokerTopicStats(), Time.SYSTEM,
            300_000, new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), clean, Optional.empty());
        return look();
    }

    private List<String> appended(int epoch, int count) throws Exception {
        for (int left = count; left > 0; left--) {
            SimpleRecord record = new SimpleRecord(("r" + log.logEndOffset()).getBytes());
            log.appendAsFollower(MemoryRecords.withRecords(log.logEndOffset(), Compression.NONE, epoch, record), epoch);
        }
        return look();
    }

    private List<String> task(String name) throws Exception {
        List<Task> found = waiting.stream().filter(one -> one.name().startsWith(name)).toList();
        if (found.isEmpty()) {
            throw new IllegalStateException("no task " + name + " waits");
        }
        waiting.removeAll(found);
        found.forEach(one -> one.work().run());
        return look();
    }

    private List<String> lose(String base, int count, boolean torn) throws Exception {
        Path file = folder.toPath().resolve(String.format("%020d.log", Long.parseLong(base)));
        long end = 0;
        try (FileRecords records = FileRecords.open(file.toFile(), false)) {
            int left = count;
            for (RecordBatch batch : records.batches()) {
                if (left-- > 0) {
                    end += batch.sizeInBytes();
                } else if (torn && left == -1) {
                    end += batch.sizeInBytes() / 2;
                }
            }
        }
        try (FileChannel opened = FileChannel.open(file, StandardOpenOption.WRITE)) {
            opened.truncate(end);
        }
        return List.of("done");
    }

    private List<String> look() throws Exception {
        List<String> found = new ArrayList<>(List.of("end=" + log.logEndOffset(), "recovery-point=" + log.recoveryPoint()));
        for (LogSegment one : log.logSegments()) {
            found.add("segment " + one.baseOffset() + ".." + one.readNextOffset());
        }
        log.leaderEpochCache().epochEntries().forEach(one -> found.add("epoch " + one.epoch() + " from " + one.startOffset()));
        waiting.forEach(one -> found.add("waits " + one.name()));
        return found;
    }
}

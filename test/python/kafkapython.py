"""kafka-python: the client written in Python."""

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.range import RangePartitionAssignor

import lines


def version(options):
    lines.tell("version", version=kafka.__version__)


def create(options):
    admin = KafkaAdminClient(bootstrap_servers=options["brokers"])
    admin.create_topics([NewTopic(options["topic"], int(options["partitions"]), 1)])
    admin.close()
    lines.tell("created")


def produce(options):
    codec = options.get("codec", "none")
    producer = KafkaProducer(bootstrap_servers=options["brokers"], compression_type=None if codec == "none" else codec,
                             linger_ms=20, acks="all", retries=100)
    for batch in lines.batches():
        sent = [producer.send(options["topic"], value, key, headers, partition) for partition, key, value, headers in batch]
        producer.flush()
        for future in sent:
            future.get(60)
        lines.tell("acked", count=len(batch))


class Listener(ConsumerRebalanceListener):
    def __init__(self):
        self.owned = set()

    def tell(self):
        lines.tell("owns", partitions=sorted(self.owned))

    def on_partitions_revoked(self, revoked):
        self.owned -= {p.partition for p in revoked}
        self.tell()

    def on_partitions_assigned(self, assigned):
        self.owned |= {p.partition for p in assigned}
        self.tell()

    def on_partitions_lost(self, lost):
        self.on_partitions_revoked(lost)


def consume(options):
    session = int(options.get("session", 10000))
    assignor = RangePartitionAssignor
    if options.get("assignor") == "cooperative":
        from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as assignor
    config = {}
    if "instance" in options:
        config["group_instance_id"] = options["instance"]
    consumer = KafkaConsumer(
        bootstrap_servers=options["brokers"], group_id=options["group"], auto_offset_reset="earliest",
        enable_auto_commit=options.get("commit") == "auto", auto_commit_interval_ms=100,
        partition_assignment_strategy=[assignor],
        session_timeout_ms=session, heartbeat_interval_ms=session // 15, max_poll_interval_ms=300000, **config)
    consumer.subscribe([options["topic"]], listener=Listener())
    pending = lines.commands()
    while True:
        for records in consumer.poll(timeout_ms=50).values():
            for r in records:
                lines.tell_record(r.partition, r.offset, r.key, r.value, r.headers)
        command = lines.take(pending)
        if command == "leave":
            break
        if command == "commit":
            consumer.commit()
            lines.tell("committed")
    consumer.close()
    lines.tell("left")


lines.main({"version": version, "create": create, "produce": produce, "consume": consume})

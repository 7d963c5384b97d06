"""confluent-kafka: librdkafka from Python."""

import confluent_kafka
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import lines


def version(options):
    own = confluent_kafka.version()  # a text, or in old ones a pair
    lines.tell("version", version="%s, librdkafka %s" % (own if isinstance(own, str) else own[0], confluent_kafka.libversion()[0]))


def create(options):
    admin = AdminClient({"bootstrap.servers": options["brokers"]})
    topic = NewTopic(options["topic"], num_partitions=int(options["partitions"]), replication_factor=1)
    for future in admin.create_topics([topic]).values():
        future.result()
    lines.tell("created")


def produce(options):
    producer = Producer({
        "bootstrap.servers": options["brokers"],
        "compression.type": options.get("codec", "none"),
        "enable.idempotence": True,
        "linger.ms": 20,
    })
    for batch in lines.batches():
        errors = []
        for partition, key, value, headers in batch:
            producer.produce(options["topic"], value, key, partition, headers=headers,
                             on_delivery=lambda error, _: error and errors.append(error))
        producer.flush()
        if errors:
            raise RuntimeError(errors[0])
        lines.tell("acked", count=len(batch))


def consume(options):
    session = int(options.get("session", 10000))
    config = {
        "bootstrap.servers": options["brokers"],
        "group.id": options["group"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": options.get("commit") == "auto",
        "auto.commit.interval.ms": 100,
        "partition.assignment.strategy": "cooperative-sticky" if options.get("assignor") == "cooperative" else "range",
        "session.timeout.ms": session,
        "heartbeat.interval.ms": session // 15,
    }
    if "instance" in options:
        config["group.instance.id"] = options["instance"]
    if options.get("protocol") == "consumer":
        for key in ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"):
            del config[key]
        config["group.protocol"] = "consumer"
    consumer = Consumer(config)
    owned = set()
    cooperative = options.get("assignor") == "cooperative"

    def assigned(c, partitions):
        owned.update(p.partition for p in partitions)
        lines.tell("owns", partitions=sorted(owned))

    def revoked(c, partitions):
        owned.difference_update(p.partition for p in partitions)
        lines.tell("owns", partitions=sorted(owned))

    consumer.subscribe([options["topic"]], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
    pending = lines.commands()
    try:
        run(consumer, pending)
    finally:
        consumer.close()
    lines.tell("left")


def run(consumer, pending):
    fatal = confluent_kafka.KafkaError
    while True:
        message = consumer.poll(0.05)
        if message is not None and message.error() is None:
            lines.tell_record(message.partition(), message.offset(), message.key(), message.value(), message.headers())
        elif message is not None and (message.error().fatal() or message.error().code() == fatal.UNSUPPORTED_VERSION):
            raise RuntimeError(message.error())
        command = lines.take(pending)
        if command == "leave":
            return
        if command == "commit":
            try:
                consumer.commit(asynchronous=False)
            except confluent_kafka.KafkaException as e:
                if e.args[0].code() != fatal._NO_OFFSET:  # nothing new
                    raise
            lines.tell("committed")


GIVEN_UP = 5  # every such transaction


def move(options):
    session = int(options.get("session", 6000))
    consumer = Consumer({
        "bootstrap.servers": options["brokers"],
        "group.id": options["group"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "session.timeout.ms": session,
        "heartbeat.interval.ms": session // 15,
    })
    producer = Producer({
        "bootstrap.servers": options["brokers"],
        "transactional.id": options["id"],
        "transaction.timeout.ms": 10000,
        # librdkafka 2.16 waits for ever for a group coordinator that it knew
        # before it bootstrapped anew, when the only broker was away.
        "metadata.recovery.strategy": "none",
    })
    producer.init_transactions(60)
    consumer.subscribe([options["topic"]])
    pending = lines.commands()
    number = 0
    while lines.take(pending) != "leave":
        records = [m for m in consumer.consume(20, 0.05) if m.error() is None]
        if records:
            number += 1
            transaction(consumer, producer, options["to"], records, number % GIVEN_UP == 0)
    consumer.close()
    lines.tell("left")


def transaction(consumer, producer, to, records, give_up):
    producer.begin_transaction()
    try:
        for m in records:
            producer.produce(to, m.value(), m.key())
        producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 60)
        if not give_up:
            retriable(lambda: producer.commit_transaction(60))
            lines.tell("moved", count=len(records))
            return
    except confluent_kafka.KafkaException as e:
        if not e.args[0].txn_requires_abort():
            raise
    retriable(lambda: producer.abort_transaction(60))
    for p in consumer.committed(consumer.assignment(), 60):
        if p.offset < 0:
            p.offset = confluent_kafka.OFFSET_BEGINNING
        consumer.seek(p)


def retriable(end):
    while True:
        try:
            return end()
        except confluent_kafka.KafkaException as e:
            if not e.args[0].retriable():
                raise


lines.main({"version": version, "create": create, "produce": produce, "consume": consume, "move": move})

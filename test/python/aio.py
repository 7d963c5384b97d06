"""aiokafka: the client for asyncio."""

import asyncio

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import lines


def version(options):
    lines.tell("version", version=aiokafka.__version__)


def create(options):
    async def run():
        admin = AIOKafkaAdminClient(bootstrap_servers=options["brokers"])
        await admin.start()
        await admin.create_topics([NewTopic(options["topic"], int(options["partitions"]), 1)])
        await admin.close()

    asyncio.run(run())
    lines.tell("created")


def produce(options):
    codec = options.get("codec", "none")

    async def run():
        producer = AIOKafkaProducer(bootstrap_servers=options["brokers"], compression_type=None if codec == "none" else codec,
                                    linger_ms=20, enable_idempotence=True)
        await producer.start()
        todo = lines.batches()
        while (batch := await asyncio.to_thread(next, todo, None)) is not None:
            sent = [await producer.send(options["topic"], value, key, partition, headers=headers)
                    for partition, key, value, headers in batch]
            await asyncio.gather(*sent)
            lines.tell("acked", count=len(batch))
        await producer.stop()

    asyncio.run(run())


class Listener(ConsumerRebalanceListener):
    def __init__(self):
        self.owned = set()

    async def on_partitions_revoked(self, revoked):
        self.owned -= {p.partition for p in revoked}
        lines.tell("owns", partitions=sorted(self.owned))

    async def on_partitions_assigned(self, assigned):
        self.owned |= {p.partition for p in assigned}
        lines.tell("owns", partitions=sorted(self.owned))


def consume(options):
    session = int(options.get("session", 10000))

    async def run():
        consumer = AIOKafkaConsumer(
            bootstrap_servers=options["brokers"], group_id=options["group"], auto_offset_reset="earliest",
            enable_auto_commit=options.get("commit") == "auto", auto_commit_interval_ms=100,
            group_instance_id=options.get("instance"),
            session_timeout_ms=session, heartbeat_interval_ms=session // 15)
        consumer.subscribe([options["topic"]], listener=Listener())
        await consumer.start()
        pending = lines.commands()
        while True:
            for records in (await consumer.getmany(timeout_ms=50)).values():
                for r in records:
                    lines.tell_record(r.partition, r.offset, r.key, r.value, r.headers)
            command = lines.take(pending)
            if command == "leave":
                break
            if command == "commit":
                await consumer.commit()
                lines.tell("committed")
        await consumer.stop()

    asyncio.run(run())
    lines.tell("left")


lines.main({"version": version, "create": create, "produce": produce, "consume": consume})

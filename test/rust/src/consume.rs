use std::collections::BTreeSet;
use std::io::{stdin, BufRead};
use std::sync::mpsc::channel;
use std::sync::Mutex;
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers, Message};
use rdkafka::TopicPartitionList;
use serde_json::{json, Value};

use crate::{tell, text, Options, Outcome};

/// Keeps and tells what the member owns.
#[derive(Default)]
struct Owner {
    owned: Mutex<BTreeSet<i32>>,
}

impl Owner {
    fn change(&self, list: &TopicPartitionList, gained: bool) {
        let mut owned = self.owned.lock().expect("owned");
        for element in list.elements() {
            if gained {
                owned.insert(element.partition());
            } else {
                owned.remove(&element.partition());
            }
        }
        tell("owns", json!({ "partitions": *owned }));
    }
}

impl ClientContext for Owner {}

impl ConsumerContext for Owner {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(list) => self.change(list, true),
            Rebalance::Revoke(list) => self.change(list, false),
            Rebalance::Error(_) => {}
        }
    }
}

/// Is a member of a group that prints what it owns and reads.
pub fn run(options: &Options) -> Outcome {
    let session: u32 = options.get("session").map_or(Ok(10000), |s| s.parse())?;
    let cooperative = options.get("assignor").is_some_and(|a| a == "cooperative");
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &options["brokers"])
        .set("group.id", &options["group"])
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", (options.get("commit").is_some_and(|c| c == "auto")).to_string())
        .set("auto.commit.interval.ms", "100")
        .set("partition.assignment.strategy", if cooperative { "cooperative-sticky" } else { "range" })
        .set("session.timeout.ms", session.to_string())
        .set("heartbeat.interval.ms", (session / 15).to_string());
    if let Some(instance) = options.get("instance") {
        config.set("group.instance.id", instance);
    }
    let consumer: BaseConsumer<Owner> = config.create_with_context(Owner::default())?;
    consumer.subscribe(&[&options["topic"]])?;
    let (commands, pending) = channel();
    std::thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            let _ = commands.send(line);
        }
        let _ = commands.send("leave".to_string());
    });
    loop {
        match consumer.poll(Duration::from_millis(50)) {
            Some(Ok(message)) => show(&message),
            Some(Err(KafkaError::Global(RDKafkaErrorCode::Fatal))) => return Err("fatal".into()),
            _ => {}
        }
        let Ok(command) = pending.try_recv() else { continue };
        if command == "leave" {
            break;
        }
        match consumer.commit_consumer_state(CommitMode::Sync) {
            Ok(()) | Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => {}
            Err(e) => return Err(e.into()),
        }
        tell("committed", json!({}));
    }
    drop(consumer);
    tell("left", json!({}));
    Ok(())
}

fn show(message: &BorrowedMessage<'_>) {
    let headers: Vec<Value> = message
        .headers()
        .map(|all| all.iter().map(|h| json!([h.key, text(h.value)])).collect())
        .unwrap_or_default();
    tell(
        "record",
        json!({
            "partition": message.partition(), "offset": message.offset(),
            "key": text(message.key()), "value": text(message.payload()), "headers": headers,
        }),
    );
}

use std::io::{stdin, BufRead};

use rdkafka::config::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};
use rdkafka::util::Timeout;
use serde_json::{json, Value};

use crate::{data, tell, Options, Outcome};

/// Sends the records that it reads, and tells when they are acknowledged.
#[tokio::main(flavor = "current_thread")]
pub async fn run(options: &Options) -> Outcome {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", &options["brokers"])
        .set("compression.type", options.get("codec").map_or("none", String::as_str))
        .set("enable.idempotence", "true")
        .set("linger.ms", "20")
        .create()?;
    let mut sent = Vec::new();
    for line in stdin().lock().lines() {
        let line = line?;
        if !line.is_empty() {
            let record: Value = serde_json::from_str(&line)?;
            let (key, value) = (data(&record["key"]), data(&record["value"]));
            let mut headers = OwnedHeaders::new();
            for pair in record["headers"].as_array().unwrap_or(&Vec::new()) {
                let value = data(&pair[1]);
                headers = headers.insert(Header { key: pair[0].as_str().unwrap_or_default(), value: value.as_ref() });
            }
            let mut message: FutureRecord<Vec<u8>, Vec<u8>> = FutureRecord::to(&options["topic"])
                .partition(record["partition"].as_i64().unwrap_or_default() as i32)
                .headers(headers);
            message.key = key.as_ref();
            message.payload = value.as_ref();
            sent.push(producer.send_result(message).map_err(|(e, _)| e)?);
            continue;
        }
        let count = sent.len();
        for delivery in sent.drain(..) {
            delivery.await?.map_err(|(e, _)| e)?;
        }
        if count > 0 {
            tell("acked", json!({ "count": count }));
        }
    }
    producer.flush(Timeout::Never)?;
    Ok(())
}

//! The rdkafka program of the interoperability tests: see test/interop/doc.go.

mod consume;
mod produce;

use std::collections::HashMap;
use std::error::Error;
use std::io::Write;

use base64::prelude::*;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use serde_json::{json, Value};

pub type Options = HashMap<String, String>;
pub type Outcome = Result<(), Box<dyn Error>>;

/// Prints an event as one line.
pub fn tell(event: &str, mut what: Value) {
    what["event"] = json!(event);
    println!("{what}");
    std::io::stdout().flush().expect("flush");
}

pub fn text(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, |b| json!(BASE64_STANDARD.encode(b)))
}

pub fn data(text: &Value) -> Option<Vec<u8>> {
    text.as_str().map(|t| BASE64_STANDARD.decode(t).expect("base64"))
}

fn version() -> Outcome {
    let (_, library) = rdkafka::util::get_rdkafka_version();
    tell("version", json!({ "version": format!("0.38, librdkafka {library}") }));
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn create(options: &Options) -> Outcome {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", &options["brokers"]).create()?;
    let topic = NewTopic::new(&options["topic"], options["partitions"].parse()?, TopicReplication::Fixed(1));
    for result in admin.create_topics([&topic], &AdminOptions::new()).await? {
        result.map_err(|(name, code)| format!("{name}: {code}"))?;
    }
    tell("created", json!({}));
    Ok(())
}

fn main() {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let options: Options = args
        .filter_map(|a| a.split_once('=').map(|(k, v)| (k.to_string(), v.to_string())))
        .collect();
    let outcome = match command.as_str() {
        "version" => version(),
        "create" => create(&options),
        "produce" => produce::run(&options),
        "consume" => consume::run(&options),
        _ => Err(format!("no such command: {command}").into()),
    };
    if let Err(e) = outcome {
        tell("error", json!({ "text": e.to_string() }));
        std::process::exit(1);
    }
}

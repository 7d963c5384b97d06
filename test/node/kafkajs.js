// kafkajs. Its snappy, lz4 and zstd are other packages' work.
import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import snappy from 'kafkajs-snappy'
import lz4 from 'lz4-napi'
import * as zstd from '@bokuweb/zstd-wasm'
import { batches, input, main, tell, text } from './lines.js'

const { Kafka, logLevel, CompressionTypes, CompressionCodecs } = kafkajs
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: buffer => lz4.decompressFrame(buffer)
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => { await zstd.init(); return Buffer.from(zstd.compress(encoder.buffer)) },
  decompress: async buffer => { await zstd.init(); return Buffer.from(zstd.decompress(buffer)) }
})
const codecs = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 }

const kafka = options => new Kafka({
  brokers: [options.brokers], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50, maxRetryTime: 1000, retries: 100 }
})

async function create (options) {
  const admin = kafka(options).admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic: options.topic, numPartitions: Number(options.partitions) }] })
  await admin.disconnect()
  tell('created')
}

// Headers are an object: a name that comes twice has a list.
function grouped (headers) {
  const all = {}
  for (const [name, value] of headers) (all[name] ??= []).push(value)
  return all
}

async function produce (options) {
  const producer = kafka(options).producer()
  await producer.connect()
  await batches(batch => producer.send({
    topic: options.topic,
    compression: codecs[options.codec ?? 'none'],
    messages: batch.map(r => ({ ...r, headers: grouped(r.headers) }))
  }))
}

async function consume (options) {
  const session = Number(options.session ?? 10000)
  const consumer = kafka(options).consumer({
    groupId: options.group, sessionTimeout: session, heartbeatInterval: Math.floor(session / 15), maxWaitTimeInMs: 100, rebalanceTimeout: 60000
  })
  consumer.on(consumer.events.GROUP_JOIN, e => tell('owns', { partitions: e.payload.memberAssignment[options.topic] ?? [] }))
  consumer.on(consumer.events.REBALANCING, () => tell('owns', { partitions: [] }))
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  const position = {}
  await consumer.run({
    autoCommit: options.commit === 'auto',
    autoCommitInterval: 100,
    eachMessage: async ({ partition, message }) => {
      const headers = Object.entries(message.headers ?? {}).flatMap(([name, values]) => [values].flat().map(v => [name, text(v)]))
      tell('record', { partition, offset: Number(message.offset), key: text(message.key), value: text(message.value), headers })
      position[partition] = Number(message.offset) + 1
    }
  })
  for await (const line of input()) {
    if (line === 'leave') break
    await consumer.commitOffsets(Object.entries(position).map(([p, o]) => ({ topic: options.topic, partition: Number(p), offset: String(o) })))
    tell('committed')
  }
  await consumer.disconnect()
  tell('left')
}

const version = () => tell('version', { version: createRequire(import.meta.url)('kafkajs/package.json').version })

await main({ version, create, produce, consume })

// @platformatic/kafka.
import { readFile } from 'node:fs/promises'
import { Admin, Consumer, Producer } from '@platformatic/kafka'
import { batches, input, main, tell, text } from './lines.js'

const base = options => ({ clientId: 'interop', bootstrapBrokers: [options.brokers], retries: 100, retryDelay: 100 })

async function create (options) {
  const admin = new Admin(base(options))
  await admin.createTopics({ topics: [options.topic], partitions: Number(options.partitions), replicas: 1 })
  await admin.close()
  tell('created')
}

async function produce (options) {
  const producer = new Producer({ ...base(options), autocreateTopics: false })
  await batches(batch => producer.send({
    compression: options.codec ?? 'none',
    acks: -1,
    messages: batch.map(r => ({
      topic: options.topic,
      partition: r.partition,
      key: r.key ?? undefined,
      value: r.value ?? undefined,
      headers: r.headers.length > 0 ? new Map(r.headers.map(([name, value]) => [Buffer.from(name), value])) : undefined
    }))
  }))
  await producer.close()
}

async function consume (options) {
  const session = Number(options.session ?? 10000)
  const cooperative = options.assignor === 'cooperative'
  const consumer = new Consumer({
    ...base(options),
    groupId: options.group,
    groupInstanceId: options.instance,
    sessionTimeout: session,
    heartbeatInterval: Math.floor(session / 15),
    rebalanceTimeout: Math.max(session, 10000),
    maxWaitTime: 100,
    ...(cooperative ? { protocols: [{ name: 'cooperative-sticky', version: 1 }] } : {}),
    autocommit: options.commit === 'auto' ? 100 : false
  })
  const owned = assignments => tell('owns', { partitions: (assignments ?? []).flatMap(a => (a.topic === options.topic ? a.partitions : [])) })
  consumer.on('consumer:group:join', e => owned(e.assignments))
  if (!cooperative) consumer.on('consumer:group:rebalance', () => owned([]))
  consumer.on('error', e => process.stderr.write(String(e) + '\n'))
  const stream = await consumer.consume({ topics: [options.topic], mode: 'committed', fallbackMode: 'earliest' })
  const position = {}
  stream.on('data', m => {
    const headers = [...(m.headers ?? new Map())].map(([name, value]) => [name.toString(), text(value)])
    tell('record', { partition: m.partition, offset: Number(m.offset), key: text(m.key), value: text(m.value), headers })
    position[m.partition] = m.offset
  })
  stream.on('error', e => { tell('error', { text: `${e}: ${e.errors?.at(-1)?.stack} ${e.errors?.at(-1)?.cause}` }); process.exit(1) })
  for await (const line of input()) {
    if (line === 'leave') break
    const mine = consumer.assignments?.flatMap(a => a.partitions) ?? []
    const offsets = Object.entries(position).filter(([p]) => mine.includes(Number(p)))
      .map(([p, offset]) => ({ topic: options.topic, partition: Number(p), offset: offset + 1n, leaderEpoch: 0 }))
    if (offsets.length > 0) await consumer.commit({ offsets })
    tell('committed')
  }
  await stream.close()
  await consumer.close()
  tell('left')
}

async function version () {
  const file = new URL('../package.json', import.meta.resolve('@platformatic/kafka'))
  tell('version', { version: JSON.parse(await readFile(file)).version })
}

await main({ version, create, produce, consume })

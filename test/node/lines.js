// What all clients of the interoperability tests share: see test/interop/doc.go.
import { createInterface } from 'node:readline'

// tell prints an event as one line.
export const tell = (event, what = {}) => process.stdout.write(JSON.stringify({ event, ...what }) + '\n')

export const text = bytes => (bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString('base64'))
export const data = text => (text === null ? null : Buffer.from(text, 'base64'))

export const input = () => createInterface({ input: process.stdin })

// batches calls send with what is to be sent together, and tells of it.
export async function batches (send) {
  let batch = []
  for await (const line of input()) {
    if (line) {
      const r = JSON.parse(line)
      const headers = (r.headers ?? []).map(([name, value]) => [name, data(value)])
      batch.push({ partition: r.partition, key: data(r.key), value: data(r.value), headers })
    } else if (batch.length > 0) {
      await send(batch)
      tell('acked', { count: batch.length })
      batch = []
    }
  }
}

// main calls the command that the arguments name with their options.
export async function main (commands) {
  const options = Object.fromEntries(process.argv.slice(3).map(arg => arg.split(/=(.*)/s)))
  try {
    await commands[process.argv[2]](options)
  } catch (e) {
    tell('error', { text: String(e) })
    process.exit(1)
  }
  process.exit(0)
}

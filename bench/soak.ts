import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { toEnvironment, withTempDatabase } from './database.ts'
import { FakeProvider } from './fake-provider.ts'
import { formatLoadAverage, formatTable } from './format.ts'
import { createNumber } from './latency.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { percentile } from './stats.ts'
import type { WhatsAppNumber } from './whatsapp-number.ts'
import { toPhone } from './workspaces.ts'
import { freePort } from '../test/support/free-port.ts'

type Size = { workspaces: number; messages: number; seconds: number }
type Sent = { sentMs: number; answeredMs: number }
type Part = { latencies: number[]; residentMb: number; heapMb: number }

const PARTS = 10
const CONTACTS = 2000
const ANSWER_MAX_MS = 60_000

/**
 * Sends messages at an even rate for a long time, to see if the memory of the process or the time of an answer grows, and if
 * the metrics have the numbers that the customers and the provider counted. `messages` is the number for each second.
 */
export function benchSoak(options: Partial<Size> = {}): Promise<string[]> {
  const size = { workspaces: 10, messages: 10, seconds: 1800, ...options }
  const initialLoad = formatLoadAverage()
  return withTempDatabase(async (database) => {
    const provider = new FakeProvider()
    const baseUrl = await provider.start()
    const metricsPort = await freePort()
    const parley = await startServer('./parley-server.ts', {
      ...toEnvironment(database),
      ALLOW_LOOPBACK_CHANNELS: 'true',
      METRICS_PORT: String(metricsPort),
    })
    const numbers: WhatsAppNumber[] = []
    for (let index = 0; index < size.workspaces; index += 1)
      numbers.push(await createNumber(parley.url, index, baseUrl))
    const waiting = new Map<string, Sent>()
    const send = async (index: number): Promise<Sent> => {
      const workspace = index % numbers.length
      const phone = toPhone(workspace, Math.floor(index / numbers.length) % CONTACTS)
      const sent = { sentMs: performance.now(), answeredMs: 0 }
      waiting.set(phone, sent)
      await numbers[workspace]?.sendWebhook(phone, `hi ${index}`)
      return sent
    }
    let answers = 0
    const takeAnswers = () => {
      for (const { phone, atMs } of provider.answers.splice(0)) {
        answers += 1
        const sent = waiting.get(phone)
        if (sent) sent.answeredMs = atMs
        waiting.delete(phone)
      }
    }
    const parts: Part[] = []
    let index = 0
    for (let part = 0; part < PARTS; part += 1) {
      const sent = await sendEvenly(size.messages, size.seconds / PARTS, () => send(index++), takeAnswers)
      const latencies = sent.filter(({ answeredMs }) => answeredMs > 0).map((each) => each.answeredMs - each.sentMs)
      parts.push({ latencies, ...(await readMemory(parley)) })
    }
    for (let waitedMs = 0; waiting.size > 0 && waitedMs < ANSWER_MAX_MS; waitedMs += 100) {
      await delay(100)
      takeAnswers()
    }
    const counted = await readCounters(metricsPort)
    await parley.stop()
    provider.stop()
    return [
      `${index} messages of ${size.workspaces} numbers in ${size.seconds} s, each answered in four steps`,
      ...formatParts(parts),
      `answers at the provider: ${answers}, without an answer: ${waiting.size}`,
      `metrics: ${counted.messages} messages of customers, ${counted.sends} accepted sends`,
      `${initialLoad} before, ${formatLoadAverage()} after`,
    ]
  })
}

async function sendEvenly(
  perSecond: number,
  seconds: number,
  send: () => Promise<Sent>,
  takeAnswers: () => void,
): Promise<Sent[]> {
  const sending: Promise<Sent>[] = []
  const startMs = performance.now()
  while (performance.now() - startMs < seconds * 1000) {
    sending.push(send())
    await delay(startMs + (sending.length * 1000) / perSecond - performance.now())
    takeAnswers()
  }
  return Promise.all(sending)
}

/** Garbage is collected first. */
async function readMemory(parley: ServerProcess): Promise<{ residentMb: number; heapMb: number }> {
  const heapMb = await parley.readLiveHeapMb()
  const [, kilobytes = 'NaN'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${parley.pid}/status`, 'utf8')) ?? []
  return { heapMb, residentMb: Number(kilobytes) / 1024 }
}

async function readCounters(port: number): Promise<{ messages: number; sends: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const sum = (pattern: RegExp) => [...text.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0)
  return {
    messages: sum(/^parley_webhook_messages_total\{.*outcome="stored".*\} (\d+)/gm),
    sends: sum(/^parley_sends_total\{.*outcome="(?:accepted|sent)".*\} (\d+)/gm),
  }
}

function formatParts(parts: Part[]): string[] {
  const rows = parts.map(({ latencies, residentMb, heapMb }, part) => [
    `tenth ${part + 1}`,
    String(latencies.length),
    ...[50, 95, 99].map((percent) => percentile(latencies, percent).toFixed(0)),
    residentMb.toFixed(0),
    heapMb.toFixed(1),
  ])
  return formatTable([['', 'answers', 'p50 ms', 'p95 ms', 'p99 ms', 'resident MB', 'live heap MB'], ...rows])
}

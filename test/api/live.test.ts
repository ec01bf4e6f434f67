import { expect } from 'chai'
import { addMs, DAY, systemClock } from '../../src/platform/time.ts'
import { purgeEvents } from '../../src/features/events/purge-events.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../support/app.ts'

type Told = { id: string; type: string; body: string | null; status: string | null }

/** The stream as an EventSource reads it: an id, and the data under it. */
class Stream {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #aborted: AbortController
  readonly #told: Told[] = []
  #text = ''

  constructor(response: Response, aborted: AbortController) {
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader()
    this.#aborted = aborted
  }

  /** The next thing told, however long it takes; the test's own limit ends it. */
  async next(): Promise<Told> {
    while (this.#told.length === 0) {
      const { value, done } = await this.#reader.read()
      if (done) throw new Error('the stream ended')
      this.#text += new TextDecoder().decode(value)
      const blocks = this.#text.split('\n\n')
      this.#text = blocks.pop() ?? ''
      this.#told.push(...blocks.flatMap(readBlock))
    }
    return this.#told.shift() as Told
  }

  close(): void {
    this.#aborted.abort()
  }
}

function readBlock(block: string): Told[] {
  const id = /^id: ?(.+)$/m.exec(block)?.[1]
  const data = /^data: ?(.+)$/m.exec(block)?.[1]
  if (!id || !data) return []
  const { json } = JSON.parse(data) as { json: { type: string; message?: { body: string; status: string } } }
  return [{ id, type: json.type, body: json.message?.body ?? null, status: json.message?.status ?? null }]
}

describe('following a conversation live', () => {
  let app: TestApp
  let owner: TestSession
  let conversationId: string

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await app.signUp()
    conversationId = await write('first')
  })

  after(() => app.stop())

  async function write(body: string, phone = '+4915112345000'): Promise<string> {
    const answer = await app.rest('POST', '/api/sandbox/messages', { session: owner, body: { phone, body } })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    return answer.body.conversationId
  }

  async function follow(lastEventId?: string): Promise<Stream> {
    const aborted = new AbortController()
    const input = encodeURIComponent(JSON.stringify({ json: { conversationId } }))
    const response = await fetch(`${app.url}/api/trpc/conversations.onMessage?input=${input}`, {
      signal: aborted.signal,
      headers: {
        accept: 'text/event-stream',
        'x-forwarded-for': newAddress(),
        cookie: owner.cookie,
        'x-tenant-id': owner.tenantId,
        ...(lastEventId ? { 'last-event-id': lastEventId } : {}),
      },
    })
    expect(response.status).to.equal(200)
    return new Stream(response, aborted)
  }

  it('goes on after a lost connection with nothing lost and nothing twice', async () => {
    const stream = await follow()
    await write('a')
    // The stream may have begun before the very first message was out of sight.
    let told = await stream.next()
    while (told.body !== 'a') told = await stream.next()
    stream.close()
    await write('b')
    await write('elsewhere', '+4915112345001')
    await write('c')
    const resumed = await follow(told.id)
    expect([(await resumed.next()).body, (await resumed.next()).body]).to.deep.equal(['b', 'c'])
    await write('d')
    expect((await resumed.next()).body).to.equal('d')
    resumed.close()
  })

  it('steps over nothing that is committed later than what came after it', async () => {
    const stream = await follow()
    await write('start')
    let told = await stream.next()
    while (told.body !== 'start') told = await stream.next()
    // A transaction that began earlier and is still open holds its event back, and those behind it.
    await app.system.db.transaction(async (trx) => {
      await trx.raw(
        `insert into events (tenant_id, id, type, data, created_at)
         select tenant_id, gen_random_uuid(), type, data, created_at from events
         where data ->> 'conversationId' = ? and type = 'message.received' order by created_at limit 1`,
        [conversationId],
      )
      await write('behind')
    })
    expect([(await stream.next()).body, (await stream.next()).body]).to.deep.equal(['first', 'behind'])
    stream.close()
  })

  it('says reset when what was missed is no longer kept', async () => {
    const stream = await follow()
    await write('old')
    let told = await stream.next()
    while (told.body !== 'old') told = await stream.next()
    stream.close()
    const [xid] = told.id.split('-')
    const ms = addMs(systemClock.now(), -8 * DAY)
      .getTime()
      .toString(16)
      .padStart(12, '0')
    const longAgo = `${xid}-${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`
    await purgeEvents(app.system)
    const resumed = await follow(longAgo)
    expect((await resumed.next()).type).to.equal('reset')
    resumed.close()
  })
})

import { expect } from 'chai'
import { newAddress, type TestSession } from './app.ts'

/** What a subscription tells, as an EventSource reads it: an id, and the data under it. */
export type Told<T> = { id: string; data: T }

/** A subscription without a client that reconnects: the test does that, or does not. */
export class EventStream<T> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #aborted: AbortController
  readonly #told: Told<T>[] = []
  #text = ''
  /** The id under which it was told that it has begun; empty for a stream that resumes. */
  beganAt = ''
  /** What the stream ended with, if it ended with an error. */
  failure: object | undefined

  constructor(response: Response, aborted: AbortController) {
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader()
    this.#aborted = aborted
  }

  /** The next thing told, however long it takes; the test's own limit ends it. */
  async next(): Promise<Told<T>> {
    while (this.#told.length === 0) {
      const { value, done } = await this.#reader.read()
      if (done) throw new Error('the stream ended')
      this.#text += new TextDecoder().decode(value)
      const blocks = this.#text.split('\n\n')
      this.#text = blocks.pop() ?? ''
      this.#told.push(...blocks.flatMap((block) => readBlock<T>(block)))
      this.failure ??= blocks.map(readFailure).find((failure) => failure !== undefined)
    }
    return this.#told.shift() as Told<T>
  }

  /** All that is told up to the first thing of which this is true. */
  async until(isLast: (data: T) => boolean): Promise<Told<T>[]> {
    const told: Told<T>[] = []
    do told.push(await this.next())
    while (!isLast((told.at(-1) as Told<T>).data))
    return told
  }

  close(): void {
    this.#aborted.abort()
  }
}

type Subscription = { procedure: string; input: object; lastEventId?: string | undefined }

export async function openEventStream<T>(
  url: string,
  session: TestSession,
  { procedure, input, lastEventId }: Subscription,
): Promise<EventStream<T>> {
  const aborted = new AbortController()
  const query = encodeURIComponent(JSON.stringify({ json: input }))
  const response = await fetch(`${url}/api/trpc/${procedure}?input=${query}`, {
    signal: aborted.signal,
    headers: {
      accept: 'text/event-stream',
      'x-forwarded-for': newAddress(),
      cookie: session.cookie,
      'x-tenant-id': session.tenantId,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  })
  expect(response.status).to.equal(200)
  const stream = new EventStream<T>(response, aborted)
  if (lastEventId !== undefined) return stream
  const began = await stream.next()
  expect(began.data).to.deep.equal({ type: 'ready' })
  stream.beganAt = began.id
  return stream
}

function readBlock<T>(block: string): Told<T>[] {
  const id = /^id: ?(.+)$/m.exec(block)?.[1]
  const data = /^data: ?(.+)$/m.exec(block)?.[1]
  return id && data ? [{ id, data: (JSON.parse(data) as { json: T }).json }] : []
}

function readFailure(block: string): object | undefined {
  if (!/^event: ?serialized-error$/m.test(block)) return undefined
  const data = /^data: ?(.+)$/m.exec(block)?.[1] ?? '{}'
  return (JSON.parse(data) as { json: { data: object } }).json.data
}

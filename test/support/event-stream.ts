import { expect } from 'chai'
import { newAddress, type TestSession } from './app.ts'

/** An item of a subscription, as an EventSource reads it. */
export type StreamItem<T> = { id: string; data: T }

/** A subscription that does not reconnect on its own. */
export class EventStream<T> {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #connection: AbortController
  readonly #items: StreamItem<T>[] = []
  readonly #positions: string[] = []
  #text = ''
  /** ID of the initial `ready` item; empty for a resumed stream. */
  initialId = ''
  /** The error that ended the stream, if any. */
  error: object | undefined

  constructor(response: Response, connection: AbortController) {
    this.#reader = (response.body as ReadableStream<Uint8Array>).getReader()
    this.#connection = connection
  }

  /** Waits for the next item, at most until the test times out. */
  async next(): Promise<StreamItem<T>> {
    while (this.#items.length === 0) await this.#read()
    return this.#items.shift() as StreamItem<T>
  }

  /** Waits for the next ID without an item. */
  async nextPosition(): Promise<string> {
    while (this.#positions.length === 0) await this.#read()
    return this.#positions.shift() as string
  }

  async #read(): Promise<void> {
    const { value, done } = await this.#reader.read()
    if (done) throw new Error('The stream has ended')
    this.#text += new TextDecoder().decode(value)
    const blocks = this.#text.split('\n\n')
    this.#text = blocks.pop() ?? ''
    this.#items.push(...blocks.flatMap((block) => readBlock<T>(block)))
    this.#positions.push(...blocks.flatMap((block) => /^id: ?([^\n]+)$/.exec(block)?.[1] ?? []))
    this.error ??= blocks.map(readError).find((error) => error !== undefined)
  }

  /** Items up to and including the first one that satisfies the predicate. */
  async until(isLast: (data: T) => boolean): Promise<StreamItem<T>[]> {
    const items: StreamItem<T>[] = []
    do items.push(await this.next())
    while (!isLast((items.at(-1) as StreamItem<T>).data))
    return items
  }

  close(): void {
    this.#connection.abort()
  }
}

type Subscription = {
  procedure: string
  input: object
  lastEventId?: string | undefined
  address?: string
  headers?: Record<string, string>
}

export async function openEventStream<T>(
  url: string,
  session: TestSession,
  { procedure, input, lastEventId, address = newAddress(), headers = {} }: Subscription,
): Promise<EventStream<T>> {
  const connection = new AbortController()
  const query = encodeURIComponent(JSON.stringify({ json: input }))
  const response = await fetch(`${url}/api/trpc/${procedure}?input=${query}`, {
    signal: connection.signal,
    headers: {
      accept: 'text/event-stream',
      'x-forwarded-for': address,
      cookie: session.cookie,
      'x-tenant-id': session.tenantId,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      ...headers,
    },
  })
  expect(response.status).to.equal(200)
  const stream = new EventStream<T>(response, connection)
  if (lastEventId !== undefined) return stream
  const ready = await stream.next()
  expect(ready.data).to.deep.equal({ type: 'ready' })
  stream.initialId = ready.id
  return stream
}

function readBlock<T>(block: string): StreamItem<T>[] {
  const id = /^id: ?(.+)$/m.exec(block)?.[1]
  const data = /^data: ?(.+)$/m.exec(block)?.[1]
  return id && data ? [{ id, data: (JSON.parse(data) as { json: T }).json }] : []
}

function readError(block: string): object | undefined {
  if (!/^event: ?serialized-error$/m.test(block)) return undefined
  const data = /^data: ?(.+)$/m.exec(block)?.[1] ?? '{}'
  return (JSON.parse(data) as { json: { data: object } }).json.data
}

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { deadline, withinTime } from '../../../src/platform/concurrency/deadline.ts'

/** Reports each request. Answers /answer a moment later, and /silence never. */
const SERVER = `
  const { createServer } = require('node:http')
  const { parentPort } = require('node:worker_threads')
  const server = createServer((req, res) => {
    parentPort.postMessage('received')
    if (req.url === '/answer') setTimeout(() => res.end('answered'), 50)
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`
/** More than a call takes on a busy machine. */
const LIMIT_MS = 1500

describe('deadline of a call', () => {
  let server: Worker
  let url: string

  before(async () => {
    server = new Worker(SERVER, { eval: true })
    const [port] = (await once(server, 'message')) as [number]
    url = `http://127.0.0.1:${port}`
    // The first call loads the client.
    const received = once(server, 'message')
    await fetch(`${url}/answer`)
    await received
  })

  after(() => server.terminate())

  it('lets an answer through that arrived while the process was frozen for longer', async () => {
    const { signal, release } = deadline(LIMIT_MS)
    const response = fetch(`${url}/answer`, { signal }).then((answer) => answer.text())
    await once(server, 'message')
    freeze(LIMIT_MS + 500)
    expect(await response).to.equal('answered')
    release()
  })

  it('lets a result through that arrived while the process was frozen for longer', async () => {
    const result = withinTime(
      LIMIT_MS,
      fetch(`${url}/answer`).then((answer) => answer.text()),
    )
    await once(server, 'message')
    freeze(LIMIT_MS + 500)
    expect(await result).to.equal('answered')
  })

  it('ends the wait for a result that does not arrive', async () => {
    const error = await withinTime(LIMIT_MS, new Promise(() => undefined)).catch((thrown: Error) => thrown)
    expect(error).to.have.property('message', `No result within ${LIMIT_MS} ms`)
  })

  it('ends a call that has no answer', async () => {
    const { signal } = deadline(LIMIT_MS)
    const error = await fetch(`${url}/silence`, { signal }).catch((thrown: Error) => thrown)
    expect(error).to.have.property('name', 'AbortError')
  })
})

/** Stops this thread, as a paused machine does: neither timers nor sockets are served. */
function freeze(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

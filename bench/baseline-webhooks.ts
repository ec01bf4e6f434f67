import { createHmac, randomBytes } from 'node:crypto'
import { Agent } from 'undici'
import { v7 } from 'uuid'
import { handleCommands } from './bench-process.ts'

/**
 * Baseline of the webhook bench: signs and posts events one after the other over one connection. It reads and stores nothing,
 * checks no address and has no time limits.
 */
const agent = new Agent({ connections: 1 })
const key = randomBytes(32)

type Batch = { url: string; count: number; event: object }

handleCommands({
  async post({ url, count, event }: Batch) {
    const { origin, pathname } = new URL(url)
    for (let index = 0; index < count; index += 1) {
      const id = v7()
      const timestamp = String(Math.floor(Date.now() / 1000))
      const body = JSON.stringify({ ...event, id })
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      }
      const response = await agent.request({ origin, path: pathname, method: 'POST', headers, body })
      await response.body.dump()
    }
  },
})

import { expect } from 'chai'
import { newAddress } from './app.ts'
import type { Checkout } from './checkout.ts'
import { say } from './steps.ts'
import { waitUntil } from './wait-until.ts'

export type Server = Awaited<ReturnType<Checkout['serve']>>

export function findUrl({ output }: Server): string {
  return /listening on (http:\/\/[\w.:]+)/.exec(output.stdout)?.[1] ?? ''
}

export async function isReady(server: Server): Promise<boolean> {
  return (await fetch(`${findUrl(server)}/readyz`)).status === 200
}

export async function stopServer({ child, ended }: Server): Promise<void> {
  child.kill('SIGTERM')
  expect((await ended).code).to.equal(0)
}

/** An owner of a workspace, who uses the servers of several versions. */
export class Owner {
  readonly #headers: Record<string, string>

  private constructor(headers: Record<string, string>) {
    this.#headers = headers
  }

  static async signUp(url: string, email: string): Promise<Owner> {
    const response = await fetch(`${url}/api/auth/sign-up/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Ada', email, password: 'correct horse battery' }),
    })
    expect(response.status).to.equal(200)
    const { workspaces } = (await response.json()) as { workspaces: { id: string }[] }
    const cookie = response.headers.getSetCookie().at(-1)?.split(';')[0] ?? ''
    return new Owner({ cookie, 'x-tenant-id': workspaces[0]?.id ?? '' })
  }

  async call<Body>(url: string, method: string, path: string, body?: object, signal?: AbortSignal): Promise<Body> {
    const response = await fetch(`${url}${path}`, {
      method,
      ...(signal ? { signal } : {}),
      headers: {
        ...this.#headers,
        'x-forwarded-for': newAddress(),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    expect(response.status, `${method} ${path}: ${text}`).to.be.oneOf([200, 201])
    return JSON.parse(text) as Body
  }

  /** Publishes a workflow that answers every message. */
  async publishAnswer(url: string, body: string): Promise<void> {
    const definition = {
      version: 1,
      triggers: [{ type: 'message_received', match: { mode: 'any' } }],
      steps: [say('answer', body)],
    }
    const { id } = await this.call<{ id: string }>(url, 'POST', '/api/workflows', { name: 'Answer', definition })
    await this.call(url, 'POST', `/api/workflows/${id}/publish`, {})
  }

  /** Writes as a customer; returns the message. */
  send(url: string, phone: string, signal?: AbortSignal): Promise<{ id: string; conversationId: string }> {
    return this.call(url, 'POST', '/api/sandbox/messages', { phone, body: 'Hello' }, signal)
  }

  /** Writes as a customer and waits for the answer. */
  async writeAndWait(url: string, phone: string): Promise<void> {
    const { conversationId } = await this.send(url, phone)
    await waitUntil(async () => (await this.countAnswers(url, conversationId)) === 1)
  }

  async countAnswers(url: string, conversationId: string): Promise<number> {
    const path = `/api/conversations/${conversationId}/messages`
    const { messages } = await this.call<{ messages: { direction: string }[] }>(url, 'GET', path)
    return messages.filter(({ direction }) => direction === 'outbound').length
  }
}

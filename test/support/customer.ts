import { expect } from 'chai'
import type { TestApp, TestSession } from './app.ts'

let customers = 0

/** A workspace of its own with one published workflow that answers every message, and somebody who writes to it. */
export class Customer {
  readonly app: TestApp
  readonly owner: TestSession
  readonly contactId: string

  private constructor(app: TestApp, owner: TestSession, contactId: string) {
    this.app = app
    this.owner = owner
    this.contactId = contactId
  }

  /** `prepare` furnishes the workspace before the workflow is published. */
  static async of(
    app: TestApp,
    steps: object[],
    prepare?: (customer: Customer) => Promise<unknown>,
  ): Promise<Customer> {
    const owner = await app.signUp()
    customers += 1
    const phone = `+4915300${String(customers).padStart(5, '0')}`
    const { body } = await app.rest('POST', '/api/contacts', { session: owner, body: { name: 'Ana', phone } })
    const customer = new Customer(app, owner, body.id)
    await prepare?.(customer)
    const triggers = [{ type: 'message_received', match: { mode: 'any' } }]
    const { id } = await customer.rest('POST', '/workflows', { name: 'W', definition: { version: 1, triggers, steps } })
    await customer.rest('POST', `/workflows/${id}/publish`, {})
    return customer
  }

  get scope() {
    return this.app.system.forTenant(this.owner.tenantId)
  }

  async rest(method: string, path: string, body?: object) {
    const answer = await this.app.rest(method, `/api${path}`, { session: this.owner, body })
    expect(answer.status, JSON.stringify(answer.body)).to.be.within(200, 299)
    return answer.body
  }

  async write(body = 'hello'): Promise<void> {
    await this.rest('POST', '/sandbox/messages', { contactId: this.contactId, body })
  }

  /** The newest run, with its steps. */
  async run() {
    const [run = expect.fail('nothing ran')] = (await this.rest('GET', '/runs')).items
    const { steps } = await this.rest('GET', `/runs/${run.id}/steps`)
    return { ...run, steps }
  }

  async contact() {
    return this.rest('GET', `/contacts/${this.contactId}`)
  }

  async conversation() {
    const { items } = await this.rest('GET', `/conversations?contactId=${this.contactId}`)
    return items[0]
  }

  async sent(): Promise<string[]> {
    const { id } = await this.conversation()
    const { messages } = await this.rest('GET', `/conversations/${id}/messages`)
    return messages.flatMap((message: { direction: string; body: string }) =>
      message.direction === 'outbound' ? [message.body] : [],
    )
  }
}

import { expect } from 'chai'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../factories.ts'
import type { TestApp } from './app.ts'
import { listRunSteps, listSentBodies } from './queries.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** A customer who writes to a new workspace with one published workflow, which starts on every message. */
export class Customer {
  readonly app: TestApp
  readonly owner: WorkspaceClient
  readonly contactId: string

  private constructor(app: TestApp, owner: WorkspaceClient, contactId: string) {
    this.app = app
    this.owner = owner
    this.contactId = contactId
  }

  /** Builds the workspace; `prepare` runs before the workflow is published. */
  static async of(
    app: TestApp,
    steps: object[],
    prepare?: (customer: Customer) => Promise<unknown>,
  ): Promise<Customer> {
    const owner = await buildWorkspace(app)
    const contact = await buildContact(owner)
    const customer = new Customer(app, owner, contact.id)
    await prepare?.(customer)
    await buildWorkflow(owner, { steps })
    return customer
  }

  get scope() {
    return this.app.system.forTenant(this.owner.tenantId)
  }

  async rest(method: string, path: string, body?: object) {
    return this.owner.call(method, `/api${path}`, body)
  }

  async write(body = 'hello'): Promise<void> {
    await sendAsCustomer(this.owner, { contactId: this.contactId, body })
  }

  /** The newest run, with its steps. */
  async run() {
    const [run = expect.fail('No run was started')] = (await this.rest('GET', '/runs')).items
    return { ...run, steps: await listRunSteps(this.owner, run.id) }
  }

  async contact() {
    return this.rest('GET', `/contacts/${this.contactId}`)
  }

  async conversation() {
    const { items } = await this.rest('GET', `/conversations?contactId=${this.contactId}`)
    return items[0]
  }

  /** Bodies of the messages sent to the customer, oldest first. */
  async sent(): Promise<string[]> {
    const { id } = await this.conversation()
    return listSentBodies(this.owner, id)
  }
}

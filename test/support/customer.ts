import { expect } from 'chai'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../factories.ts'
import type { ApiResponse, TestApp } from './app.ts'
import { listRunSteps, listSentBodies } from './queries.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** A contact of a new workspace with one published workflow, which starts on each message of the contact. */
export class Customer {
  readonly workspace: WorkspaceClient
  readonly contactId: string

  private constructor(workspace: WorkspaceClient, contactId: string) {
    this.workspace = workspace
    this.contactId = contactId
  }

  /** Creates the workspace; `prepare` runs before the workflow is published. */
  static async create(
    app: TestApp,
    steps: object[],
    prepare?: (customer: Customer) => Promise<unknown>,
  ): Promise<Customer> {
    const workspace = await buildWorkspace(app)
    const { id } = await buildContact(workspace)
    const customer = new Customer(workspace, id)
    await prepare?.(customer)
    await buildWorkflow(workspace, { steps })
    return customer
  }

  get scope() {
    return this.workspace.app.system.forTenant(this.workspace.tenantId)
  }

  /** Sends a request below `/api`; throws unless the status is 2xx. */
  call(method: string, path: string, body?: object): Promise<ApiResponse['body']> {
    return this.workspace.call(method, `/api${path}`, body)
  }

  async send(body = 'hello'): Promise<void> {
    await sendAsCustomer(this.workspace, { contactId: this.contactId, body })
  }

  /** Returns the newest run with its steps. */
  async run() {
    const [run = expect.fail('there is no run')] = (await this.call('GET', '/runs')).items
    return { ...run, steps: await listRunSteps(this.workspace, run.id) }
  }

  contact(): Promise<ApiResponse['body']> {
    return this.call('GET', `/contacts/${this.contactId}`)
  }

  async conversation(): Promise<ApiResponse['body']> {
    return (await this.call('GET', `/conversations?contactId=${this.contactId}`)).items[0]
  }

  /** Returns the bodies of the outbound messages, oldest first. */
  async sent(): Promise<string[]> {
    return listSentBodies(this.workspace, (await this.conversation()).id)
  }
}

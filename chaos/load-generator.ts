import { setTimeout as delay } from 'node:timers/promises'
import type { Customer, CustomerFactory } from './customer-factory.ts'
import { simulateCustomer } from './customer-simulator.ts'
import type { Failpoint } from './failpoints.ts'
import type { Random } from './random.ts'
import type { Scenario } from './scenario.ts'
import { RECOVERY_PROBE } from './scenarios.ts'
import type { WebhookSender } from './webhook-sender.ts'
import { listAcceptedSends, type Workspace } from './workspace.ts'

const START_INTERVAL_MS = 25

/** Starts simulated customers one after the other, and additional ones on request. */
export class LoadGenerator {
  readonly #sender: WebhookSender
  readonly #workspaces: Workspace[]
  readonly #customers: CustomerFactory
  readonly #random: Random
  readonly #running: Promise<void>[] = []

  constructor(options: { sender: WebhookSender; workspaces: Workspace[]; customers: CustomerFactory; random: Random }) {
    this.#sender = options.sender
    this.#workspaces = options.workspaces
    this.#customers = options.customers
    this.#random = options.random
  }

  /** Starts `count` customers, of whom at most the share `progress()` has started at any time. Resolves when all have finished. */
  async run(count: number, progress: () => number): Promise<void> {
    for (let started = 0; started < count; started += 1) {
      while (started >= progress() * count) await delay(10)
      this.#start(this.#customers.create())
      await delay(START_INTERVAL_MS)
    }
    while (this.#running.length > 0) await Promise.all(this.#running.splice(0))
  }

  /** Starts an additional customer, whose conversation passes the failpoint if there is one. */
  addCustomer(failpoint?: Failpoint): void {
    this.#start(this.#customers.create((scenario) => failpoint === undefined || reachesFailpoint(scenario, failpoint)))
  }

  /**
   * Has a new customer write in every workspace. Returns the time in ms until all have a reply, or undefined if that
   * takes longer than the limit.
   */
  async measureReply(limitMs: number): Promise<number | undefined> {
    const times = await Promise.all(this.#workspaces.map((workspace) => this.measureReplyIn(workspace, limitMs)))
    const answered = times.flatMap((ms) => ms ?? [])
    return answered.length === times.length ? Math.max(...answered) : undefined
  }

  /** Has a new customer write in a workspace and returns the time in ms until the provider got the reply. */
  async measureReplyIn(workspace: Workspace, limitMs: number): Promise<number | undefined> {
    const startMs = performance.now()
    const customer = this.#start(this.#customers.createFor(RECOVERY_PROBE), workspace)
    for (;;) {
      const [reply] = listAcceptedSends(workspace, customer)
      if (reply) return reply.atMs - startMs
      if (performance.now() - startMs > limitMs) return undefined
      await delay(20)
    }
  }

  /** Starts an additional customer of a workspace. Resolves when its messages were acknowledged. */
  async startCustomer(workspace: Workspace, scenario: Scenario): Promise<void> {
    this.#start(this.#customers.createFor(scenario), workspace)
    await this.#running.at(-1)
  }

  #start(customer: Customer, workspace = this.#random.pick(this.#workspaces)): Customer {
    workspace.customers.push(customer)
    this.#running.push(simulateCustomer(this.#sender, workspace, customer))
    return customer
  }
}

/** Every scenario is stored, advanced and replied to; only some use timers or external calls. */
function reachesFailpoint({ features }: Scenario, failpoint: Failpoint): boolean {
  if (failpoint.includes('external call')) return features.includes('external_calls')
  return !failpoint.includes('timers') || features.includes('timers')
}

import { setTimeout as delay } from 'node:timers/promises'
import { SEND_MAX_MS } from '../src/channels/channel.ts'
import { SECOND } from '../src/platform/time.ts'
import type { AcceptedSend } from '../fake-whatsapp/fake-cloud-api.ts'
import type { LoadGenerator } from './load-generator.ts'
import type { Random } from './random.ts'
import { NO_REPLY, RECOVERY_PROBE } from './scenarios.ts'
import { createChannel, createWorkspace, type Workspace } from './workspace.ts'

/** Jobs of one channel that wait for its provider are few, so several channels are needed to take all places. */
const CHANNELS = 7
const LATE_MS = SEND_MAX_MS + 5 * SECOND
const WRITE_INTERVAL_MS = SECOND
const SCENARIOS = [RECOVERY_PROBE, NO_REPLY]

/** Moment at which the provider responds: at once, later than Parley waits, or never. */
export type ResponseMode = 'at_once' | 'late' | 'never'

/** A workspace with several channels, whose provider accepts messages but responds late or never for some of the time. */
export class HangingChannels {
  /** One entry per channel, with the customers that write to it. */
  readonly workspaces: Workspace[]
  mode: ResponseMode = 'at_once'
  /** Responses by message ID: of a request that is made again, the last one. */
  readonly responses = new Map<string, ResponseMode>()
  /** Number of requests without a response, apart from those that were given up. */
  openRequests = 0

  private constructor(workspaces: Workspace[]) {
    this.workspaces = workspaces
    for (const { provider } of workspaces) provider.beforeResponse = (send) => this.#respond(send)
  }

  static async create(url: string, scope: { number: number; orderServerUrl: string }): Promise<HangingChannels> {
    const first = await createWorkspace(url, { ...scope, providerBehavior: 'no_statuses' })
    const workspaces = [first]
    while (workspaces.length < CHANNELS) {
      const channel = await createChannel(url, first.session, first.providerBehavior)
      workspaces.push({ ...first, ...channel, customers: [] })
    }
    return new HangingChannels(workspaces)
  }

  get requests(): number {
    return this.workspaces.reduce((count, { provider }) => count + provider.accepted.length, 0)
  }

  /** Has a new customer write to each channel. Resolves when the messages were acknowledged. */
  async writeToAll(load: LoadGenerator): Promise<void> {
    await Promise.all(this.workspaces.map((workspace, index) => this.#write(load, workspace, index)))
  }

  /** Has new customers write to the channels in turn until `isDone` returns true. */
  async writeUntil(load: LoadGenerator, isDone: () => boolean): Promise<void> {
    for (let turn = 0; !isDone(); turn += 1) {
      const workspace = this.workspaces[turn % CHANNELS]
      if (workspace) void this.#write(load, workspace, turn)
      await delay(WRITE_INTERVAL_MS)
    }
  }

  /** Changes how the provider responds to the next requests. */
  changeMode(random: Random): void {
    this.mode = random.pick(['at_once', 'late', 'never', 'never'])
  }

  #write(load: LoadGenerator, workspace: Workspace, turn: number): Promise<void> {
    return load.startCustomer(workspace, SCENARIOS[turn % SCENARIOS.length] ?? RECOVERY_PROBE)
  }

  async #respond({ callbackData }: AcceptedSend): Promise<void> {
    const { mode } = this
    this.responses.set(callbackData ?? '', mode)
    if (mode === 'at_once') return
    this.openRequests += 1
    const givenUp = delay(mode === 'late' ? LATE_MS : SEND_MAX_MS, undefined, { ref: false })
    await givenUp
    this.openRequests -= 1
    if (mode === 'never') await new Promise<never>(() => undefined)
  }
}

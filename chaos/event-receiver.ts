import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../src/platform/time.ts'
import { createTempDir, type TempDir } from '../test/support/temp-dir.ts'
import { post } from './api-client.ts'
import { compile } from './compile.ts'
import type { ReceiverCommand, ReceiverMode, ReceiverRecord, RecordedCall } from './event-receiver-main.ts'
import type { Random } from './random.ts'
import type { Workspace } from './workspace.ts'

/** Systems give no ports of these to the own ends of connections, so that the receiver gets its port again. */
const PORTS = { first: 20_000, count: 10_000 }

/** Endpoints of each workspace. */
const ENDPOINTS = [
  { name: 'full', types: ['message.*', 'run.*'], payload: 'full' },
  { name: 'thin', types: null, payload: 'thin' },
] as const

/** Faults of the receiver. A restart kills it and starts it again. */
const FAULTS = ['well', 'slow', 'error', 'busy', 'cut', 'hang', 'away', 'restart'] as const
type ReceiverFault = (typeof FAULTS)[number]
/** Shorter than ten attempts, so that hardly any delivery fails for good. */
const FAULT_MS = { min: SECOND / 2, max: 4 * SECOND }

/** A call that the receiver got. `status` is that of the answer; null without one. */
export type ReceivedCall = Omit<RecordedCall, 'path'> & { endpointId: string; status: number | null; isLost: boolean }

/**
 * The receiver of the events of the workspaces, in a process of its own, which is killed too. Its records are in a file, and
 * are written before it answers.
 */
export class EventReceiver {
  /** Number of faults by kind. */
  readonly faults = new Map<ReceiverFault, number>()
  readonly #folder: TempDir
  readonly #script: string
  readonly #port: number
  /** The endpoints by the paths of their URLs. */
  readonly #endpoints = new Map<string, { id: string; secret: string }>()
  #child: ChildProcess | undefined
  #fault: Promise<void> | undefined

  private constructor(folder: TempDir, script: string, port: number) {
    this.#folder = folder
    this.#script = script
    this.#port = port
    fs.writeFileSync(this.#file, '')
  }

  static async start(random: Random): Promise<EventReceiver> {
    const folder = createTempDir()
    const script = await compile(path.join(folder.path, 'code'), 'chaos/event-receiver-main.ts')
    const receiver = new EventReceiver(folder, script, PORTS.first + random.below(PORTS.count))
    await receiver.#start()
    return receiver
  }

  get #file(): string {
    return path.join(this.#folder.path, 'calls.jsonl')
  }

  /** Creates the endpoints of workspaces: one for messages and runs with their content, and one for all events. */
  async createEndpoints(url: string, workspaces: Workspace[]): Promise<void> {
    for (const { tenantId, session } of workspaces) {
      for (const { name, ...input } of ENDPOINTS) {
        const endpointPath = `/${tenantId}/${name}/events`
        const body = { url: `http://127.0.0.1:${this.#port}${endpointPath}`, ...input }
        const { id, secret } = await post<{ id: string; secret: string }>(`${url}/api/webhook-endpoints`, body, session)
        this.#endpoints.set(endpointPath, { id, secret })
        this.#send({ kind: 'add_secret', path: endpointPath, secret })
      }
    }
  }

  /** Starts a fault at random, unless one still lasts. */
  injectFault(random: Random): void {
    const fault = random.pick(FAULTS)
    const durationMs = random.between(FAULT_MS.min, FAULT_MS.max)
    if (this.#fault) return
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
    this.#fault = this.#last(fault, durationMs).then(() => void (this.#fault = undefined))
    this.#fault.catch(() => undefined)
  }

  /** Resolves when the receiver answers as it should. @throws Error if it could not be started again */
  async waitUntilWell(): Promise<void> {
    await this.#fault
  }

  /** Reads the calls of all processes of the receiver, in the order in which they came. */
  readCalls(): ReceivedCall[] {
    const calls = new Map<string, ReceivedCall>()
    for (const line of fs.readFileSync(this.#file, 'utf8').split('\n').filter(Boolean)) {
      const record = JSON.parse(line) as ReceiverRecord
      const call = calls.get(record.call)
      if (record.kind === 'received') {
        const { path: endpointPath, ...event } = record.event
        const endpointId = this.#endpoints.get(endpointPath)?.id ?? ''
        calls.set(record.call, { ...event, endpointId, status: null, isLost: false })
      } else if (call && record.kind === 'answered') call.status = record.status
      else if (call) call.isLost = true
    }
    return [...calls.values()]
  }

  async stop(): Promise<void> {
    await this.#fault?.catch(() => undefined)
    await this.#kill()
    await this.#folder.remove()
  }

  async #last(fault: ReceiverFault, durationMs: number): Promise<void> {
    if (fault === 'restart') {
      await this.#kill()
      await delay(durationMs)
      return this.#start()
    }
    this.#changeMode(fault)
    await delay(durationMs)
    this.#changeMode('well')
  }

  #changeMode(mode: ReceiverMode): void {
    this.#send({ kind: 'change_mode', mode })
  }

  async #start(): Promise<void> {
    const child = fork(this.#script, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child = child
    const secrets = [...this.#endpoints].map(([endpointPath, { secret }]): [string, string] => [endpointPath, secret])
    this.#send({ kind: 'start', port: this.#port, file: this.#file, secrets })
    const exited = once(child, 'exit').then(() => Promise.reject(new Error('The receiver of events does not start')))
    await Promise.race([once(child, 'message'), exited])
    exited.catch(() => undefined)
  }

  async #kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  #send(command: ReceiverCommand): void {
    if (this.#child?.connected) this.#child.send(command, () => undefined)
  }
}

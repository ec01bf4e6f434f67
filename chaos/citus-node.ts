import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import { findLivePostmaster, listServerProcesses } from '../src/platform/embedded-postgres/postmaster.ts'
import { childEnvironment, runProgram } from '../src/platform/embedded-postgres/run-program.ts'
import type { ChaosServer } from './database.ts'
import { killPostgres } from './kill-postgres.ts'

/** A server of a cluster of Citus on this machine, controlled by its own `pg_ctl` under the account that owns its data. */
export class CitusNode implements ChaosServer {
  readonly name: string
  readonly dataFolder: string
  readonly #programs: string
  #isKilled = false

  private constructor(name: string, { dataFolder, programs }: { dataFolder: string; programs: string }) {
    this.name = name
    this.dataFolder = dataFolder
    this.#programs = programs
  }

  /** @throws Error if the server is not on this machine */
  static async find(url: string, name: string): Promise<CitusNode> {
    const folders = await withClient(url, async (client) => {
      const { rows } = await client.query<{ dataFolder: string; programs: string }>(
        `select current_setting('data_directory') as "dataFolder", setting as programs from pg_config where name = 'BINDIR'`,
      )
      return rows[0]
    })
    if (!folders || !fs.existsSync(path.join(folders.dataFolder, 'postmaster.pid')))
      throw new Error(`The ${name} of Citus must run on this machine, and the account must be a superuser`)
    return new CitusNode(name, folders)
  }

  get isRunning(): boolean {
    return findLivePostmaster({ data: this.dataFolder }) !== undefined
  }

  kill(): void {
    this.#isKilled = true
    killPostgres(this.dataFolder)
  }

  stop(): Promise<void> {
    return this.#control('stop', '-m', 'fast')
  }

  /** Killed processes exit a moment later, and until then the server does not start. */
  async start(attempts = 5): Promise<void> {
    while (this.#isKilled && listServerProcesses({ data: this.dataFolder }).length > 0) await delay(20)
    this.#isKilled = false
    if (this.isRunning) return
    try {
      await this.#control('start', '-l', path.join(this.dataFolder, 'chaos.log'))
    } catch (error) {
      if (attempts === 1) throw error
      await delay(500)
      await this.start(attempts - 1)
    }
  }

  async #control(...args: string[]): Promise<void> {
    const { uid, gid } = fs.statSync(this.dataFolder)
    const { code } = await runProgram(
      path.join(this.#programs, 'pg_ctl'),
      ['-D', this.dataFolder, '-w', '-t', '60', ...args],
      { env: childEnvironment(), quiet: true, ...(process.getuid?.() === 0 ? { account: { uid, gid } } : {}) },
    )
    if (code !== 0) throw new Error(`pg_ctl ${args[0] ?? ''} failed on the ${this.name} of Citus`)
  }
}
